"""The leader's work on budgets: count again, write the counters, clear the ledger.

One status write for each change that is seen, and none where nothing has changed. Pod events are
gathered for a moment before a budget is counted: a drain brings many at once. What waits at the
gate meanwhile goes into the same write.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from intact.budget.pub import conditions
from intact.budget.pub.recount import Expectation, is_current, next_expiry, recount, unseen
from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound
from intact.kube.events import EventRecorder, reference_to
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS
from intact.kube.store import Key
from intact.model.conditions import merge
from intact.model.meta import Condition
from intact.model.pod import Pod
from intact.model.pub import UNREADABLE, PodUnavailableBudget, PubStatus
from intact.operator.pub.commits import Commits
from intact.operator.pub.expected import Expectations
from intact.operator.pub.index import Entry, PubIndex
from intact.operator.pub.status import read_again
from intact.operator.watch.freshness import Behind, versions_now

log = logging.getLogger(__name__)

GATHER = 0.2
"""Seconds for which events are gathered."""
_WRITES = 4
"""Recounts that are stored at once. More of them only queue at a busy API server, with counts that
grow old meanwhile."""
_LOOK_AGAIN = 1.0
"""Seconds after which a store that was behind is looked at again."""
_ASK_AGAIN = 15.0
"""Seconds after which an owner is asked again how many pods it wants."""


class Recounter:
    def __init__(
        self,
        client: Client,
        index: PubIndex,
        commits: Commits,
        expectations: Expectations,
        pods: Reflector[Pod],
        events: EventRecorder,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        is_gated: Callable[[str], bool],
        queue: Queue[Key],
    ) -> None:
        self.writes = 0
        self.conflicts = 0
        self._client = client
        self._index = index
        self._commits = commits
        self._expectations = expectations
        self._pods = pods
        self._events = events
        self._now = now
        self._leads = leads
        self._is_gated = is_gated
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

    async def _count(self, entry: Entry) -> None:
        expectation = await self._expectations.of(entry)
        versions = await self._read_overdue(entry)
        async with self._writes, entry.writing:
            await entry.turn.come()
            try:
                await self._write(entry, expectation, versions)
            except Conflict:
                # Another replica's gate, mostly. It goes first: who waits for it waits for a unit
                # that is there, and who waits for this recount, for one that is not.
                self.conflicts += 1
                await read_again(self._client, entry)
                self.mark(entry.key)

    async def _write(
        self, entry: Entry, expectation: Expectation, versions: Mapping[str, str]
    ) -> None:
        # Up to the write nothing is awaited: one moment of the store is counted.
        budget, now, seen = entry.budget, self._now(), self._pods.version
        if not is_current(budget, seen):
            raise Behind(f"pods are known up to {seen}, which is not enough for this budget yet")
        namespace = budget.metadata.namespace
        records, overdue = unseen(
            budget.status.ledger.pods,
            lambda name: self._pods.store.get(namespace, name),
            seen,
            now,
            lambda pod: versions.get(pod.metadata.uid) == pod.metadata.resource_version,
        )
        entry.counts.set_ledger(records)
        status = recount(budget, entry.counts, expectation, records, seen)
        wanted = self._conditions(entry, expectation.problem)
        if not self._is_gated(namespace):
            # Whoever waits for this generation waits for pods to be held, too.
            status = msgspec.structs.replace(
                status, observed_generation=budget.status.observed_generation
            )
        status = msgspec.structs.replace(
            status,
            conditions=merge(
                budget.status.conditions, wanted, budget.metadata.generation, now, conditions.OURS
            ),
        )
        if expiry := next_expiry(records.values(), now):
            self._queue.add_after(entry.key, (expiry - now).total_seconds())
        if len(versions) > len(overdue):
            self._queue.add_after(entry.key, _LOOK_AGAIN)
        if expectation.problem:
            self._queue.add_after(entry.key, _ASK_AGAIN)
        if _differs(budget.status, status) and self._leads():
            await self._commits.store_with(entry, budget, status)
            self.writes += 1
        for name in overdue:
            self._report_not_deleted(budget, name)

    async def _read_overdue(self, entry: Entry) -> dict[str, str]:
        """The versions, as of now, of pods that seem not to have gone in time. The store may be
        behind by more than a record's lifetime: a watch can stand still for that long."""
        namespace = entry.key[0]
        waiting: list[Pod] = []

        def ask(pod: Pod) -> bool:
            waiting.append(pod)
            return False

        unseen(
            entry.budget.status.ledger.pods,
            lambda name: self._pods.store.get(namespace, name),
            self._pods.version,
            self._now(),
            ask,
        )
        return await versions_now(self._client, waiting)

    def _conditions(self, entry: Entry, problem: str) -> list[Condition]:
        namespace = entry.key[0]
        found = [conditions.working(self._is_gated(namespace), problem)]
        key, counts = entry.group_key, entry.counts
        if key is not None and entry.unlabelled:
            names = sorted(entry.unlabelled.values())
            found.append(conditions.group_labels_missing(names, key))
        if counts.need is not None and counts.groups and counts.largest_group < counts.need:
            found.append(conditions.min_ready_unreachable(counts.need, counts.largest_group))
        if problem:
            found.append(conditions.total_unknown(problem))
        return found

    def _report_not_deleted(self, budget: PodUnavailableBudget, name: str) -> None:
        meta = budget.metadata
        pod = self._pods.store.get(meta.namespace, name)
        if pod is not None:
            reference = reference_to(PODS, pod.metadata)
            text = f"budget {meta.name} allowed it to go, and it did not: the unit is given back"
            self._events.record(reference, "Warning", "NotDeleted", text)


def _differs(old: PubStatus, new: PubStatus) -> bool:
    """Whether a write is worth it: not for having looked again."""
    looked = msgspec.structs.replace(new.ledger, seen=old.ledger.seen)
    if old.ledger != looked or old.ledger is UNREADABLE:
        return True
    return old != msgspec.structs.replace(new, ledger_text=old.ledger_text)
