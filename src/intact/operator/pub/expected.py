"""How many units a budget should have, asked of the owners of its pods."""

from intact.budget.pub.recount import Expectation
from intact.budget.pub.settings import total_override
from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.model.meta import api_group
from intact.model.pod_state import is_terminating
from intact.model.workload import Workload
from intact.operator.pub.index import Entry, PubIndex
from intact.operator.watch.kinds import GroupKind, scales_in_groups
from intact.operator.watch.owners import Workloads


class Expectations:
    def __init__(self, client: Client, index: PubIndex, workloads: Workloads) -> None:
        self._client = client
        self._index = index
        self._workloads = workloads

    async def of(self, entry: Entry) -> Expectation:
        """Asks the API only for scales that are not known yet, and for owners that are missing."""
        tally = _Tally()
        problem = ""
        for uid in self._owners(entry):
            present = entry.counts.owners.get(uid, 0)
            if not uid:
                tally.pods += present
                continue
            try:
                await self._add(entry, uid, present, tally)
            except KubeError as error:
                problem = f"cannot find out how many pods are wanted: {error}"
        return Expectation(
            total=self._total(entry, tally),
            at_least=_groups(entry, tally),
            released=tuple(tally.released),
            missing=tally.missing,
            problem=problem if total_override(entry.budget) is None else "",
        )

    def _owners(self, entry: Entry) -> list[str]:
        owners = self._index.owner_uids(entry)
        target = entry.budget.spec.target_ref
        if target is not None:  # it counts also while it has no pods
            kind = (api_group(target.api_version), target.kind)
            found = self._workloads.find(kind, entry.key[0], target.name)
            counts = not scales_in_groups(kind) or entry.group_key is not None
            if found is not None and counts and found.metadata.uid not in owners:
                owners.append(found.metadata.uid)
        return owners

    async def _add(self, entry: Entry, uid: str, present: int, tally: "_Tally") -> None:
        found = self._workloads.by_uid(uid) or await self._look_up(entry, uid)
        if found is None:
            if self._index.is_released(uid):
                tally.released.append(uid)
            else:
                tally.pods += present  # of a kind that says nothing about its pods
            return
        kind, workload = found
        if not self._workloads.has_scale(kind):
            tally.pods += present
            if is_terminating(workload):
                tally.released.append(uid)
            return
        wanted = await self._workloads.replicas(kind, workload)
        self._index.set_idle(uid, not wanted)
        if not wanted:
            tally.released.append(uid)
        if scales_in_groups(kind):
            if entry.group_key is None:
                tally.pods += present if wanted else 0  # it does not say how many pods a group has
                return
            tally.groups += wanted
            tally.group_owners += 1
        else:
            tally.pods += wanted
            tally.pod_owners += 1
            tally.missing = tally.missing or wanted > present

    async def _look_up(self, entry: Entry, uid: str) -> tuple[GroupKind, Workload] | None:
        """An owner that is not in its store: newer than the store, or gone."""
        owner = self._index.owner(uid)
        reflector = self._workloads.reflectors.get(owner.group_kind) if owner else None
        if owner is None or reflector is None:
            return None
        try:
            found = await self._client.get(reflector.resource, owner.name, entry.key[0])
        except NotFound:
            found = None
        except Forbidden:
            if self._workloads.has_scale(owner.group_kind):
                raise
            return None  # it could only have said that it is going
        if found is None or found.metadata.uid != uid:
            self._index.release(uid)
            return None
        return owner.group_kind, found

    def _total(self, entry: Entry, tally: "_Tally") -> int | None:
        override = total_override(entry.budget)
        if override is not None:
            return override
        if entry.group_key is None:
            return tally.pods
        if tally.group_owners and not tally.pod_owners:
            return _groups(entry, tally)
        return None


def _groups(entry: Entry, tally: "_Tally") -> int:
    """Those that owners want, with the pods that are units of their own."""
    return tally.groups + entry.counts.single_present


class _Tally:
    def __init__(self) -> None:
        self.pods = 0
        self.groups = 0
        self.pod_owners = 0
        self.group_owners = 0
        self.missing = False
        self.released: list[str] = []
