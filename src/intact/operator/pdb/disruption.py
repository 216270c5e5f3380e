"""The disruption controller of Kubernetes, for budgets that count pods.

The counts are kept by the index; a recount looks up what the controllers of the pods want, looks
again at the pods whose eviction was allowed, and writes the status if it says anything new. What
cannot be counted fails safe: nothing may be evicted.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from intact.budget.pdb.pod_counts import PodCounts
from intact.budget.pdb.pods import count, fail_safe, is_up_to_date, look_again, needs_controllers
from intact.budget.selectors import check_selector
from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.queue import Queue
from intact.kube.resources import PDBS
from intact.kube.store import Key, Store, key_of
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.operator.pdb.events import PdbEvents
from intact.operator.pdb.expected_pods import NotCounted, expected_pods
from intact.operator.pdb.index import REPLICAS_ANNOTATION, Entry, PdbIndex
from intact.operator.pdb.status import replicas_text, status_patch
from intact.operator.watch.owners import Workloads

log = logging.getLogger(__name__)

_ATTEMPTS = 5
_ASK_AGAIN = 15.0
"""Seconds after which what could not be counted is tried again."""
_CHECK_MARGIN = 0.01


class NotSelected(Exception):
    """The selector means nothing. The API server refuses such; one may be left from long ago."""


class Disruption:
    def __init__(
        self,
        client: Client,
        index: PdbIndex,
        workloads: Workloads,
        pods: Store[Pod],
        events: PdbEvents,
        queue: Queue[Key],
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
    ) -> None:
        self.writes = 0
        self.conflicts = 0
        self._client = client
        self._index = index
        self._workloads = workloads
        self._pods = pods
        self._events = events
        self._queue = queue
        self._now = now
        self._leads = leads

    async def reconcile(self, key: Key) -> None:
        for _ in range(_ATTEMPTS):
            entry = self._index.entries.get(key)
            if entry is None or not isinstance(entry.tally, PodCounts) or not self._leads():
                return
            try:
                await self._recount(entry, entry.tally)
            except Conflict:
                self.conflicts += 1
                await self._refresh(entry.budget)
            except NotFound:
                return
            else:
                return
        self._queue.retry(key)

    async def _recount(self, entry: Entry, counts: PodCounts) -> None:
        try:
            expected = await self._expected(entry, counts)
            # From here to the write nothing is awaited: one moment of the store is counted.
            status = self._count(entry, counts, expected)
        except (NotSelected, NotCounted, ValueError, KubeError) as problem:
            if isinstance(problem, NotSelected):
                self._events.not_selected(entry.budget, str(problem))
            else:
                self._events.not_counted(entry.budget, str(problem))
            self._queue.add_after(entry.key, _ASK_AGAIN)
            status = fail_safe(entry.budget, str(problem), self._now())
        await self._write(entry.budget, status)

    async def _expected(self, entry: Entry, counts: PodCounts) -> int:
        spec = entry.budget.spec
        if spec.selector is not None and (problems := check_selector(spec.selector)):
            path, text = problems[0]
            raise NotSelected(f"spec.selector.{path}: {text}")
        if needs_controllers(spec):
            return await expected_pods(counts, entry.key[0], self._workloads, self._pods)
        return counts.pods if spec.min_available is not None else 0

    def _count(self, entry: Entry, counts: PodCounts, expected: int) -> PdbStatus:
        budget, now = entry.budget, self._now()
        disrupted = look_again(
            budget.status.disrupted_pods, lambda name: self._evicted(entry, name), now
        )
        going = sum(counts.is_healthy(pod.metadata.uid) for pod in disrupted.pods)
        status = count(
            budget,
            healthy=counts.healthy - going,
            expected=expected,
            disrupted=disrupted.kept,
            now=now,
        )
        self._events.counted(
            budget,
            pods=counts.pods,
            unmanaged=counts.unmanaged if needs_controllers(budget.spec) else 0,
        )
        for pod in disrupted.overdue:
            self._events.not_deleted(budget, pod)
        if disrupted.next_check is not None:
            wait = (disrupted.next_check - now).total_seconds()
            self._queue.add_after(entry.key, wait + _CHECK_MARGIN)
        return status

    def _evicted(self, entry: Entry, name: str) -> Pod | None:
        """The pod that an entry of disruptedPods means: a re-created one is another."""
        pod = self._pods.get(entry.key[0], name)
        known = entry.evicted.get(name)
        if pod is None or known is None or pod.metadata.uid not in entry.members:
            return None
        if known.uid:
            return pod if pod.metadata.uid == known.uid else None
        # Not seen when it began: by the clocks of the API servers, then.
        return pod if pod.metadata.creation_timestamp <= known.at else None

    async def _write(self, budget: PodDisruptionBudget, status: PdbStatus) -> None:
        replicas = replicas_text(
            allowed=status.disruptions_allowed,
            healthy=status.current_healthy,
            desired=status.desired_healthy,
            expected=status.expected_pods,
        )
        if not self._leads() or (
            is_up_to_date(budget.status, status)
            and budget.metadata.annotations.get(REPLICAS_ANNOTATION) == replicas
        ):
            return
        body = status_patch(budget, status, {REPLICAS_ANNOTATION: replicas})
        namespace, name = key_of(budget)
        stored = await self._client.patch(PDBS, body, name, namespace, subresource="status")
        self.writes += 1
        self._index.update(stored)

    async def _refresh(self, budget: PodDisruptionBudget) -> None:
        """Somebody else has written: the API server, most of the time."""
        found = await self._client.get(PDBS, budget.metadata.name, budget.metadata.namespace)
        self._index.update(found)
