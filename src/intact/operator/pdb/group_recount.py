"""PodDisruptionBudgets that count groups: their counts, kept, and their recount by the leader.

One write for each change that is seen, of status and annotations together, and none where nothing
has changed. A budget that no longer counts groups is given back: what is ours in it is taken away,
and whoever counts pods counts it again.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_recount import (
    Recounted,
    is_current,
    look_again,
    next_check,
    read_ledger,
    recount,
)
from intact.budget.pdb.group_settings import LEDGER, REPLICAS, is_of, read_settings, rules_of
from intact.budget.pdb.group_sources import Family, Source, template_of
from intact.budget.pdb.pods import DELETION_TIMEOUT
from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound, TooManyRequests
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS
from intact.kube.store import Key, key_of
from intact.model.group_ledger import GroupLedger
from intact.model.meta import OwnerReference, api_group
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.times import parse_time
from intact.operator.pdb.events import PdbEvents
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.index import Entry, PdbIndex
from intact.operator.pdb.status import replicas_text, status_patch
from intact.operator.watch.freshness import Behind, versions_now
from intact.operator.watch.owners import Workloads
from intact.operator.webhook import probe

log = logging.getLogger(__name__)

MANAGER = "intact-groups"
"""The field manager of these writes: by it the gate tells them from all others."""
_PROBE_AGAIN = 60.0
_SOON = 0.2
_LATER = 5.0
_MOMENT = timedelta(seconds=10)
_ATTEMPTS = 5
_MARGIN = 0.01


class GroupRecount:
    def __init__(
        self,
        client: Client,
        sources: GroupSources,
        workloads: Workloads,
        pods: Reflector[Pod],
        events: PdbEvents,
        queue: Queue[Key],
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        for_all: bool = False,
    ) -> None:
        """`for_all` says that all other budgets are counted here as well, and that what they get
        (the annotation, the event for having no pods) nobody else gives these."""
        self.writes = 0
        self.conflicts = 0
        self.misconfigured = 0
        """How often a budget was found to be misconfigured."""
        self._client = client
        self._sources = sources
        self._workloads = workloads
        self._pods = pods
        self._events = events
        self._queue = queue
        self._now = now
        self._leads = leads
        self._for_all = for_all
        self._index: PdbIndex | None = None
        self._gated_until: datetime | None = None
        self._ungated_since: datetime | None = None
        self._complained = False
        sources.on_change = self._source_changed

    def attach(self, index: PdbIndex) -> None:
        """The index asks for tallies as soon as it is made."""
        self._index = index

    def make_tally(self, budget: PodDisruptionBudget) -> GroupCounts:
        definitions = self._sources.of(budget.metadata.namespace)
        return GroupCounts(read_settings(budget), definitions)

    def entries(self) -> list[tuple[Entry, GroupCounts]]:
        """All budgets that count groups."""
        assert self._index is not None
        return [
            (entry, entry.tally)
            for entry in self._index.entries.values()
            if isinstance(entry.tally, GroupCounts)
        ]

    def _source_changed(self, source: Source, old: Any, new: Any) -> None:
        if self._index is None or _same(old, new):
            return
        meta = (new or old).metadata
        for entry, counts in self.entries():
            if entry.key[0] != meta.namespace:
                continue
            changed = counts.redefine(source, meta.name)
            if changed or _concerns(counts, source, new or old):
                self._index.mark(entry.key)

    async def reconcile(self, entry: Entry) -> None:
        for _ in range(_ATTEMPTS):
            if not self._leads():
                return
            try:
                if await self._is_gated(entry):
                    await self._recount(entry)
                else:
                    self._queue.add_after(entry.key, self._ask_again())
            except Conflict:
                self.conflicts += 1
                await self._refresh(entry)
            except NotFound:
                return
            else:
                return
        self._queue.retry(entry.key)

    async def _is_gated(self, entry: Entry) -> bool:
        """Whether the API server asks the gate when a status is written. Until it does, the numbers
        of whoever counts pods stay: ours would let go any pods, and not those of one group."""
        now = self._now()
        if self._gated_until is not None and now < self._gated_until:
            return True
        namespace, name = entry.key
        try:
            await self._client.patch(
                PDBS,
                {"status": {}},
                name,
                namespace,
                subresource="status",
                dry_run=True,
                field_manager=probe.NAME,
            )
        except TooManyRequests as answer:
            if not answer.has_cause(probe.CAUSE):
                raise
            self._gated_until = now + timedelta(seconds=_PROBE_AGAIN)
            self._complained = False
            return True
        if self._gated_until is not None or self._ungated_since is None:
            self._ungated_since = now
        self._gated_until = None
        return False

    def _ask_again(self) -> float:
        """Seconds. A registration takes a moment; one that does not come is somebody's mistake."""
        assert self._ungated_since is not None
        if self._now() < self._ungated_since + _MOMENT:
            return _SOON
        if not self._complained:
            log.warning(
                "PodDisruptionBudgets in groups are not held: the API server does not ask the gate"
            )
        self._complained = True
        return _LATER

    async def _recount(self, entry: Entry) -> None:
        counts = entry.tally
        assert isinstance(counts, GroupCounts)
        versions = await self._read_overdue(entry, counts)
        # From here to the write nothing is awaited: one moment of the store is counted.
        budget, now, before = entry.budget, self._now(), ledger_of(entry.budget)
        if not is_current(before, self._pods.version):
            raise Behind(f"pods are known up to {self._pods.version}, which is not enough yet")
        namespace = entry.key[0]
        standing = look_again(
            budget.status.disrupted_pods,
            before,
            lambda name: self._pods.store.get(namespace, name),
            counts.evicted,
            now,
            lambda pod: versions.get(pod.metadata.uid) == pod.metadata.resource_version,
        )
        definitions = self._sources.of(namespace)
        found = recount(budget, before, counts, definitions, standing, now, self._wants)
        if moment := next_check(found.status, found.ledger, now):
            self._queue.add_after(entry.key, (moment - now).total_seconds() + _MARGIN)
        self._forget_evicted(counts, found, now)
        if self._for_all:
            self._events.counted(budget, pods=counts.pods, unmanaged=0)
        if _differs(budget, before, found):
            await self._write(budget, found)
            self._note(budget, found)
        for pod in standing.overdue:
            self._events.not_deleted(budget, pod)

    async def _read_overdue(self, entry: Entry, counts: GroupCounts) -> dict[str, str]:
        """The versions, as of now, of pods that seem not to have gone in time: the store may be
        behind by more than that."""
        namespace, budget = entry.key[0], entry.budget
        waiting: list[Pod] = []

        def ask(pod: Pod) -> bool:
            waiting.append(pod)
            return False

        look_again(
            budget.status.disrupted_pods,
            ledger_of(budget),
            lambda name: self._pods.store.get(namespace, name),
            counts.evicted,
            self._now(),
            ask,
        )
        return await versions_now(self._client, waiting)

    def _forget_evicted(self, counts: GroupCounts, found: Recounted, now: datetime) -> None:
        """What was seen to go is kept in mind for as long as its entry may yet be seen."""
        standing = found.status.disrupted_pods
        over = [
            name
            for name, seen in counts.evicted.items()
            if name not in standing and parse_time(seen.at) + DELETION_TIMEOUT < now
        ]
        counts.forget_evicted(over)

    def _wants(self, controller: OwnerReference) -> bool:
        """Whether the controller of a group is there, and wants pods."""
        found = self._workloads.by_uid(controller.uid)
        if found is None:
            kind = (api_group(controller.api_version), controller.kind)
            return kind not in self._workloads.reflectors
        workload = found[1]
        return workload.metadata.deletion_timestamp is None and workload.spec.replicas != 0

    def _note(self, budget: PodDisruptionBudget, found: Recounted) -> None:
        before, after = _misconfigured(budget.status), _misconfigured(found.status)
        if after not in (before, ""):
            self.misconfigured += 1

    async def _write(self, budget: PodDisruptionBudget, found: Recounted) -> None:
        if not self._leads():
            return
        body = status_patch(budget, found.status, annotations_of(found.ledger))
        await self._patch(budget, body)

    async def give_back(self, budget: PodDisruptionBudget) -> None:
        """It does not count groups any more: nothing of ours stays in it."""
        for _ in range(_ATTEMPTS):
            if not self._leads() or not is_left_over(budget):
                return
            status = msgspec.structs.replace(
                budget.status,
                conditions=[
                    each for each in budget.status.conditions if each.type != BUDGET_CONFIGURED
                ],
            )
            gone: dict[str, str | None] = {LEDGER: None}
            if not self._for_all:
                gone[REPLICAS] = None
            try:
                await self._patch(budget, status_patch(budget, status, gone))
            except NotFound:
                return
            except Conflict:
                budget = await self._client.get(PDBS, *reversed(key_of(budget)))
            else:
                return
        self._queue.retry(key_of(budget))

    async def _patch(self, budget: PodDisruptionBudget, body: object) -> None:
        namespace, name = key_of(budget)
        stored = await self._client.patch(
            PDBS, body, name, namespace, subresource="status", field_manager=MANAGER
        )
        self.writes += 1
        assert self._index is not None
        self._index.update(stored)

    async def _refresh(self, entry: Entry) -> None:
        """Somebody else has written: the API server, most of the time."""
        namespace, name = entry.key
        found = await self._client.get(PDBS, name, namespace)
        assert self._index is not None
        if rules_of(found) == rules_of(entry.budget):
            self._index.update(found)


def ledger_of(budget: PodDisruptionBudget) -> GroupLedger:
    """The ledger that is stored for this very budget, whatever its rules were; else none."""
    found = read_ledger(budget.metadata.annotations.get(LEDGER, ""))
    return found if found is not None and is_of(budget, found) else GroupLedger()


def is_left_over(budget: PodDisruptionBudget) -> bool:
    """Whether something in it is from when it counted groups."""
    return LEDGER in budget.metadata.annotations or any(
        each.type == BUDGET_CONFIGURED for each in budget.status.conditions
    )


def annotations_of(ledger: GroupLedger) -> dict[str, str | None]:
    return {
        REPLICAS: _replicas(ledger),
        LEDGER: msgspec.json.encode(ledger).decode(),
    }


def _replicas(ledger: GroupLedger) -> str:
    return replicas_text(
        allowed=ledger.allowed,
        healthy=ledger.available,
        desired=ledger.desired,
        expected=ledger.expected,
    )


def _differs(budget: PodDisruptionBudget, before: GroupLedger, found: Recounted) -> bool:
    """Whether a write is worth it: not for having looked again."""
    looked = msgspec.structs.replace(found.ledger, seen=before.seen)
    replicas = _replicas(found.ledger)
    return (
        budget.status != found.status
        or before != looked
        or budget.metadata.annotations.get(REPLICAS) != replicas
    )


def _misconfigured(status: PdbStatus) -> str:
    """The reason, if it is more than a warning."""
    for each in status.conditions:
        if each.type == BUDGET_CONFIGURED and each.status == "False":
            return each.reason
    return ""


def _same(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return False
    going = [is_terminating(each) for each in (old, new)]
    return bool(old.spec == new.spec and going[0] == going[1])


def _concerns(counts: GroupCounts, source: Source, found: Any) -> bool:
    """Whether the number of groups may hang on it."""
    name = found.metadata.name
    families = {Family(source, name), Family(Source.LABEL, name)}
    if source is Source.POD_GROUP:
        families.add(Family(source, *template_of(found)))
    vanished = {family for family, _ in counts.vanished.values()}
    if source is Source.POD_GROUP:
        return any(family in counts.families or family in vanished for family in families)
    return any(family.name == name for family in (*counts.families, *vanished))
