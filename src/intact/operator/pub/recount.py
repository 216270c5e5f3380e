"""The leader's work on budgets: count again, write the counters, clear the ledger.

The recount writes a status once for each change that it sees, and not at all where nothing has
changed. It gathers pod events for a moment before it counts a budget: a drain brings many at once.
Admissions that wait at the gate meanwhile go into the same write.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from intact.budget.keys import PUB, without_effect
from intact.budget.pub import conditions
from intact.budget.pub.conditions import Absence
from intact.budget.pub.kept_pods import next_forgotten
from intact.budget.pub.ledger import RECORD_LIFETIME, Operation, stays_after
from intact.budget.pub.ledger_repair import repair
from intact.budget.pub.never_allows import never_allows
from intact.budget.pub.recount import (
    Expectation,
    Recount,
    is_current,
    next_expiry,
    overdue,
    recount,
    unseen,
    untouched,
)
from intact.budget.pub.settings import rules_of
from intact.budget.pub.unreadable import problem_of
from intact.kube.client import Client
from intact.kube.errors import Conflict, Invalid, NotFound
from intact.kube.events import EventRecorder, reference_to
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS, PUBS
from intact.kube.store import Key, key_of
from intact.model.conditions import merge
from intact.model.listing import listed
from intact.model.meta import Condition
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget, PubStatus
from intact.model.versions import Present
from intact.operator.pub.commits import Commits
from intact.operator.pub.expected import ExpectedUnits, Learned
from intact.operator.pub.index import PubEntry, PubIndex
from intact.operator.pub.status import read_again
from intact.operator.pub.targets import Targets
from intact.operator.watch.freshness import Behind, pods_beyond, versions_now

log = logging.getLogger(__name__)

GATHER = 0.2
"""Seconds for which events are gathered."""
_WRITES = 4
"""Recounts that are stored at once. More of them only queue at a busy API server, and their counts
grow old meanwhile."""
_LOOK_AGAIN = 1.0
"""Seconds after which a budget is counted again if the store was behind."""
_ASK_AGAIN = 15.0
"""Seconds after which an owner is asked again how many pods it wants."""


@dataclass(frozen=True, slots=True)
class _Beyond:
    budget: PodUnavailableBudget
    """The reading whose ledger was compared."""
    pods: Present | None
    """None if the API server has reached all that it states."""


class Recounter:
    def __init__(
        self,
        client: Client,
        index: PubIndex,
        commits: Commits,
        expected: ExpectedUnits,
        targets: Targets,
        pods: Reflector[Pod],
        events: EventRecorder,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        is_gated: Callable[[str], bool],
        is_selected: Callable[[str], bool] = lambda _: True,
        is_doubtful: Callable[[], bool],
        queue: Queue[Key],
    ) -> None:
        """`is_doubtful` says whether the stores may show what never was."""
        self.writes = 0
        self.conflicts = 0
        self._unreadable: dict[Key, str] = {}
        """The budgets that were reported, and why."""
        self._client = client
        self._index = index
        self._commits = commits
        self._expected = expected
        self._targets = targets
        self._pods = pods
        self._events = events
        self._now = now
        self._leads = leads
        self._is_gated = is_gated
        self._is_selected = is_selected
        self._is_doubtful = is_doubtful
        self._queue = queue
        self._writes = asyncio.Semaphore(_WRITES)

    def mark(self, key: Key) -> None:
        """Something about the budget has changed: count it again soon."""
        self._queue.add_after(key, GATHER)

    async def reconcile(self, key: Key) -> None:
        entry = self._index.entries.get(key)
        if entry is None or not self._leads():
            return
        try:
            await self._count(entry)
        except NotFound:
            return

    async def _count(self, entry: PubEntry) -> None:
        rules = rules_of(entry.settings)
        expectation, learned = await self._expected.of(entry)
        self._take_in(learned)
        asked_at = self._now()
        versions = await self._read_overdue(entry, asked_at)
        beyond = await self._read_beyond(entry)
        absence = await self._targets.absence(entry)
        async with self._writes, entry.writing:
            await entry.turn.come()
            if rules_of(entry.settings) != rules:  # the expectation is of other settings
                self.mark(entry.key)
                return
            try:
                await self._write(entry, expectation, asked_at, versions, beyond, absence)
            except Conflict:
                # Mostly the gate of another process, which goes first: its requests wait for a
                # unit that is there, those that wait for this recount for a unit that is not.
                self.conflicts += 1
                await read_again(self._client, entry)
                self.mark(entry.key)

    def _take_in(self, learned: Learned) -> None:
        """The index counts pods of owners that want none as unavailable, in every budget. It must
        know of them before the budget is counted."""
        for uid in learned.gone:
            self._index.release(uid)
        for uid in learned.idle:
            self._index.set_idle(uid, True)
        for uid in learned.busy:
            self._index.set_idle(uid, False)

    async def _write(
        self,
        entry: PubEntry,
        expectation: Expectation,
        asked_at: datetime,
        versions: Mapping[str, str],
        beyond: _Beyond | None,
        absence: Absence | None,
    ) -> None:
        """`versions` are those of the pods that were overdue at `asked_at`."""
        # Nothing is awaited up to the write: the counts are of one moment of the store.
        if self._is_doubtful() or self._commits.is_doubtful:
            self._queue.add_after(entry.key, _LOOK_AGAIN)
            return
        budget, now, seen = entry.budget, self._now(), self._pods.version
        present = beyond.pods if beyond is not None and beyond.budget is budget else None
        repaired = repair(budget.status.ledger, now, present)
        sound = msgspec.structs.replace(budget, status=budget.status.with_ledger(repaired.ledger))
        if not is_current(sound, seen):
            raise Behind(
                f"the pods are known up to version {seen}; an earlier recount, or a record of the "
                f"gate, of budget {budget.metadata.name} is newer"
            )
        namespace = budget.metadata.namespace
        find = self._finder(namespace)
        records, stayed = unseen(repaired.ledger.pods, find, seen, now, versions)
        entry.counts.set_ledger(records)
        turns = stays_after(repaired.ledger.stayed, stayed, self._is_here, now)
        still = untouched(records, find)
        counted = recount(sound, entry.counts, expectation, records, seen, now, turns, still)
        status = counted.status
        if entry.counts.pods:
            absence = None  # they have come meanwhile
        wanted = self._conditions(entry, counted, expectation.problem, absence)
        if self._is_selected(namespace) and not self._is_gated(namespace):
            # A user who waits for this generation waits for the gate to hold pods, too.
            status = msgspec.structs.replace(
                status, observed_generation=budget.status.observed_generation
            )
        status = msgspec.structs.replace(
            status,
            conditions=merge(
                budget.status.conditions, wanted, budget.metadata.generation, now, conditions.OURS
            ),
        )
        # What has expired since then was not asked for: its time is still to come.
        if expiry := next_expiry(records.values(), asked_at):
            self._queue.add_after(entry.key, max(0.0, (expiry - now).total_seconds()))
        if forgotten := next_forgotten(status.ledger.kept.values()):
            self._queue.add_after(entry.key, (forgotten - now).total_seconds())
        if len(versions) > len(stayed):
            self._queue.add_after(entry.key, _LOOK_AGAIN)
        if expectation.problem or (absence is not None and absence.status == "False"):
            self._queue.add_after(entry.key, _ASK_AGAIN)
        damaged = repaired.problems or budget.damages
        self._report_unreadable(budget)
        if (damaged or _differs(budget.status, status)) and self._leads():
            await self._store(entry, budget, status)
            self._report_unreachable(budget, status)
            self._report_repaired(budget, [*repaired.problems, *budget.damages])
        for record in stayed.values():
            if record.operation != Operation.UPDATE:
                self._report_not_deleted(budget, record.name)

    async def _store(
        self, entry: PubEntry, budget: PodUnavailableBudget, status: PubStatus
    ) -> None:
        try:
            await self._commits.store_with(entry, budget, status)
        except Invalid:
            # Beside a spec of wrong types the CRD refuses every status. The event has to do.
            if not problem_of(budget):
                raise
        else:
            self.writes += 1

    async def _read_overdue(self, entry: PubEntry, now: datetime) -> dict[str, str]:
        """The versions that overdue pods have at the API server. The store may be behind by more
        than a record's lifetime: a watch can stand still for that long."""
        find = self._finder(entry.key[0])
        late = overdue(repair(entry.budget.status.ledger, now).ledger.pods, find, now)
        return await versions_now(self._client, late) if late else {}

    async def _read_beyond(self, entry: PubEntry) -> _Beyond | None:
        """If the ledger is ahead of the store: what the API server says to that."""
        budget = entry.budget
        if is_current(budget, self._pods.version):
            return None
        pods = await pods_beyond(
            self._client, entry.key[0], lambda version: is_current(budget, version)
        )
        return _Beyond(budget, pods)

    def _is_here(self, uid: str) -> bool:
        return bool(self._pods.store.count("uid", uid))

    def _finder(self, namespace: str) -> Callable[[str], Pod | None]:
        return lambda name: self._pods.store.get(namespace, name)

    def _conditions(
        self, entry: PubEntry, counted: Recount, problem: str, absence: Absence | None
    ) -> list[Condition]:
        if not self._is_selected(entry.key[0]):
            return [conditions.not_selected(entry.key[0])]
        gated, budget = self._is_gated(entry.key[0]), entry.budget
        if unreadable := problem_of(budget):
            return [conditions.unreadable(unreadable)]
        key, counts = entry.group_key, entry.counts
        one_by_one = bool(counts.groups) and not counted.status.ledger.reached
        found = [
            conditions.working(
                gated,
                problem,
                absence,
                one_by_one=one_by_one,
                enforcement=entry.settings.enforcement,
            )
        ]
        if key is not None and entry.unlabelled:
            names = sorted(entry.unlabelled.values())
            found.append(conditions.group_labels_missing(names, key))
        # A group that is still growing, or has just lost a pod, may reach its need.
        if counts.need is not None and counted.settled:
            if one_by_one:
                found.append(
                    conditions.min_ready_unreachable(counts.largest_need, counts.largest_group)
                )
            elif small := counts.small_groups():
                found.append(conditions.some_groups_too_small(counts.largest_need, sorted(small)))
        if problem:
            found.append(conditions.total_unknown(problem))
        if entry.overlapping:
            found.append(conditions.overlapping(entry.overlapping))
        total = counted.status.total_replicas
        if why := never_allows(budget.spec, None if problem or one_by_one else total):
            found.append(conditions.never_allows(why))
        if unknown := without_effect(PUB, budget.metadata.labels, budget.metadata.annotations):
            found.append(conditions.keys_without_effect(unknown))
        return found

    def _report_unreachable(self, budget: PodUnavailableBudget, status: PubStatus) -> None:
        """Once for each change: the condition stays."""
        kind = conditions.MIN_READY_UNREACHABLE
        before = [one.message for one in budget.status.conditions if one.type == kind]
        for one in status.conditions:
            if one.type == kind and one.message not in before:
                reference = reference_to(PUBS, budget.metadata)
                self._events.record(reference, "Warning", kind, f"{one.message}.")

    def _report_repaired(self, budget: PodUnavailableBudget, problems: Sequence[str]) -> None:
        if problems:
            text = f"The ledger of this budget was repaired: {listed(problems, separator='; ')}"
            log.warning("budget %s/%s: %s", *key_of(budget), text)
            reference = reference_to(PUBS, budget.metadata)
            self._events.record(reference, "Warning", "LedgerRepaired", text)

    def _report_unreadable(self, budget: PodUnavailableBudget) -> None:
        """Once for each problem."""
        key, problem = key_of(budget), problem_of(budget)
        if not problem:
            self._unreadable.pop(key, None)
        elif self._unreadable.get(key) != problem:
            self._unreadable[key] = problem
            said = conditions.unreadable(problem)
            log.warning("budget %s/%s: %s", *key, said.message)
            reference = reference_to(PUBS, budget.metadata)
            self._events.record(reference, "Warning", said.reason, said.message)

    def _report_not_deleted(self, budget: PodUnavailableBudget, name: str) -> None:
        meta = budget.metadata
        pod = self._pods.store.get(meta.namespace, name)
        if pod is not None:
            reference = reference_to(PODS, pod.metadata)
            text = (
                f"The budget {meta.name} allowed this pod to go, but the pod is still here after "
                f"{RECORD_LIFETIME.total_seconds():g} s; the budget counts it again."
            )
            self._events.record(reference, "Warning", "NotDeleted", text)


def _differs(old: PubStatus, new: PubStatus) -> bool:
    """Whether a write is worth it: not only to say that the pods were looked at again."""
    looked = msgspec.structs.replace(new.ledger, seen=old.ledger.seen)
    return old != new.with_ledger(looked)
