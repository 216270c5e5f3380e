"""How many units a budget should have, asked of the owners of its pods."""

from dataclasses import dataclass

from intact.budget.pub.recount import Expectation
from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.model.meta import api_group
from intact.model.pod_state import is_ending
from intact.model.workload import Workload, pods_per_group, stated_pods, wanted_ordinals
from intact.operator.pub.index import PubEntry, PubIndex
from intact.operator.watch.kinds import GroupKind, scales_in_groups
from intact.operator.watch.owners import Workloads


@dataclass(frozen=True, slots=True)
class Learned:
    """What owners were found to want, for the index to hold.

    It is as of when each owner was asked. An owner that changes after that marks its budgets, and
    the next recount learns it.
    """

    gone: tuple[str, ...] = ()
    """UIDs of owners that do not exist any more."""
    idle: tuple[str, ...] = ()
    """UIDs of owners whose scale is zero."""
    busy: tuple[str, ...] = ()
    """UIDs of owners whose scale is not zero."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an owner says about its pods."""

    gone: bool = False
    wanted: int | None = None
    """How many pods or groups; None if it does not say."""
    in_groups: bool = False
    """It says how many groups it wants."""
    unsure: bool = False
    """It may say how many groups it wants: its kind is not known."""
    group_size: int | None = None
    """How many pods it makes for a group; None if it does not say."""


class ExpectedUnits:
    def __init__(self, client: Client, index: PubIndex, workloads: Workloads) -> None:
        self._client = client
        self._index = index
        self._workloads = workloads

    async def of(self, entry: PubEntry) -> tuple[Expectation, Learned]:
        """Asks the API server only for scales that are not known yet, and for owners that are not
        in their store."""
        tally = _Tally(counts_groups=entry.group_key is not None)
        problem = ""
        for uid in self._owners(entry):
            present = entry.counts.owners.get(uid, 0)
            if not uid:
                tally.add(uid, _Answer(), present)
                continue
            try:
                answer = await self._ask(entry, uid)
            except KubeError as error:
                problem = f"Intact cannot find out how many pods the owners want: {error}"
                tally.add(uid, _Answer(), present)
            else:
                tally.add(uid, answer, present)
        expectation = Expectation(
            total=_total(entry, tally),
            at_least=_groups(entry, tally),
            pods=tally.pods,
            silent=tuple(tally.silent),
            unsure=tally.unsure,
            released=tuple(tally.released),
            scaled_in=self._scaled_in(entry),
            missing=tally.missing,
            problem=problem if entry.settings.total is None else "",
        )
        return expectation, Learned(tuple(tally.gone), tuple(tally.idle), tuple(tally.busy))

    def _scaled_in(self, entry: PubEntry) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for uid in dict.fromkeys(entry.unwanted.values()):
            known = self._workloads.by_uid(uid)
            if known and (wanted := wanted_ordinals(known[1])):
                found[uid] = (wanted.start, wanted.stop)
        return found

    def _owners(self, entry: PubEntry) -> list[str]:
        owners = self._index.owner_uids(entry)
        target = entry.budget.spec.target_ref
        if target is not None:  # it counts also while it has no pods
            kind = (api_group(target.api_version), target.kind)
            found = self._workloads.find(kind, entry.key[0], target.name)
            counts = not scales_in_groups(kind) or entry.group_key is not None
            if found is not None and counts and found.metadata.uid not in owners:
                owners.append(found.metadata.uid)
        # Those whose pods are all gone, and may come back.
        kept = entry.budget.status.ledger.kept
        return [*owners, *(uid for uid in kept if uid not in owners)]

    async def _ask(self, entry: PubEntry, uid: str) -> _Answer:
        if found := self._workloads.by_uid(uid):
            return await self._answer_of(*found)
        return await self._look_up(entry, uid)

    async def _answer_of(self, kind: GroupKind, workload: Workload) -> _Answer:
        if is_ending(workload):
            return _Answer(wanted=0)
        if not self._workloads.has_scale(kind):
            return _Answer(wanted=stated_pods(workload))
        return _Answer(
            wanted=await self._workloads.replicas(kind, workload),
            in_groups=scales_in_groups(kind),
            unsure=not self._workloads.is_built_in(kind),
            group_size=pods_per_group(workload),
        )

    async def _look_up(self, entry: PubEntry, uid: str) -> _Answer:
        """Of an owner that is not in its store: it is newer than the store, or gone."""
        owner = self._index.owner(uid)
        reflector = self._workloads.reflectors.get(owner.group_kind) if owner else None
        if owner is None or reflector is None:
            return self._as_known(uid)
        try:
            place = reflector.resource.place(entry.key[0])
            found = await self._client.get(reflector.resource, owner.name, place)
        except NotFound:
            return _Answer(gone=True)
        except Forbidden:
            if self._workloads.states_pods(owner.group_kind):
                raise
            return self._as_known(uid)  # it could only have said that it is ending
        if found.metadata.uid != uid:
            return _Answer(gone=True)
        return await self._answer_of(owner.group_kind, found)

    def _as_known(self, uid: str) -> _Answer:
        """Of an owner that Intact cannot read: the index may have heard that it is gone."""
        return _Answer(gone=self._index.is_released(uid))


class _Tally:
    """The answers of a budget's owners, summed up."""

    def __init__(self, *, counts_groups: bool) -> None:
        self.pods = 0
        self.groups = 0
        self.group_owners = 0
        self.pod_owners = 0
        self.missing = False
        self.silent: list[str] = []
        self.unsure: dict[str, int] = {}
        self.released: list[str] = []
        self.gone: list[str] = []
        self.idle: list[str] = []
        self.busy: list[str] = []
        self._counts_groups = counts_groups

    def add(self, uid: str, answer: _Answer, present: int) -> None:
        """`present` is how many pods the owner has."""
        if answer.gone:
            self.gone.append(uid)
            self.released.append(uid)
            return
        if answer.in_groups and self._counts_groups:
            self.groups += answer.wanted or 0
            self.group_owners += 1
        else:
            self.pod_owners += 1
        pods = answer.wanted
        if answer.in_groups and pods:
            pods = pods * answer.group_size if answer.group_size else None
        if pods is None:
            self.silent.append(uid)
        else:
            self.pods += pods
            self.missing = self.missing or pods > present
            if answer.unsure and not answer.in_groups and pods:
                self.unsure[uid] = pods
        if answer.wanted is not None:
            (self.busy if answer.wanted else self.idle).append(uid)
        if answer.wanted == 0:
            self.released.append(uid)


def _total(entry: PubEntry, tally: _Tally) -> int | None:
    if entry.settings.total is not None:
        return entry.settings.total
    is_exact = tally.group_owners and not tally.pod_owners and not entry.counts.single_present
    return tally.groups if is_exact else None


def _groups(entry: PubEntry, tally: _Tally) -> int:
    """The groups that owners want, and the pods that are units of their own."""
    return tally.groups + entry.counts.single_present
