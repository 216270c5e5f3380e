"""The disruption controller of Kubernetes, for budgets that count pods.

The index keeps the counts. A recount looks up how many pods their controllers want, looks again at
the pods whose eviction was allowed, and writes the status if it says anything new. A budget that
cannot be counted fails safe: nothing may be evicted.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from intact.budget.pdb.annotations import replicas_text
from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED, groups_not_held
from intact.budget.pdb.group_settings import REPLICAS
from intact.budget.pdb.pod_counts import PodCounts
from intact.budget.pdb.pods import count, fail_safe, is_up_to_date, look_again, needs_controllers
from intact.budget.pdb.replica_fields import as_pods
from intact.budget.selectors import check_selector
from intact.kube.errors import KubeError
from intact.kube.queue import Queue
from intact.kube.store import Key, Store
from intact.model.conditions import merge
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.operator.pdb.events import DisruptionEvents
from intact.operator.pdb.expected_pods import NotCounted, expected_pods
from intact.operator.pdb.index import PdbEntry, PdbIndex
from intact.operator.pdb.kep_fields import KepFields
from intact.operator.pdb.status_writer import StatusWriter
from intact.operator.watch.owners import Workloads

_COUNT_AGAIN = 15.0
"""Seconds after which a budget that could not be counted is counted again."""
_MARGIN = 0.01
"""Seconds by which a timer is set late, so that its moment has surely come."""


class NotSelected(Exception):
    """The selector is invalid. The API server refuses such a budget today; an old one may exist."""


class Disruption:
    def __init__(
        self,
        index: PdbIndex,
        workloads: Workloads,
        pods: Store[Pod],
        writer: StatusWriter,
        events: DisruptionEvents,
        queue: Queue[Key],
        fields: KepFields,
        *,
        now: Callable[[], datetime],
        groups: bool,
        only_status: bool = False,
    ) -> None:
        """`groups` says whether budgets that ask for groups are counted by another part of this
        process. If not, they count pods, and a condition says so. With `only_status` it writes what
        kube-controller-manager writes, and no more."""
        self._index = index
        self._workloads = workloads
        self._pods = pods
        self._writer = writer
        self._events = events
        self._queue = queue
        self._fields = fields
        self._now = now
        self._groups = groups
        self._only_status = only_status

    async def reconcile(self, key: Key) -> None:
        async def attempt() -> None:
            entry = self._index.entries.get(key)
            if entry is not None and isinstance(entry.tally, PodCounts):
                await self._recount(entry, entry.tally)

        await self._writer.retry_conflicts(key, attempt)

    async def _recount(self, entry: PdbEntry, counts: PodCounts) -> None:
        try:
            has_fields = await self._fields.known(entry.key)
        except KubeError:
            has_fields = False
        try:
            expected = await self._expected(entry, counts)
            # From here to the write nothing is awaited: one moment of the store is counted.
            status = self._count(entry, counts, expected)
        except (NotSelected, NotCounted, ValueError, KubeError) as problem:
            if isinstance(problem, NotSelected):
                self._events.not_selected(entry.budget, str(problem))
            else:
                self._events.not_counted(entry.budget, str(problem))
            self._queue.add_after(entry.key, _COUNT_AGAIN)
            status = fail_safe(entry.budget, str(problem), self._now())
        await self._write(entry.budget, status, has_fields=has_fields)

    async def _expected(self, entry: PdbEntry, counts: PodCounts) -> int:
        spec = entry.budget.spec
        if spec.selector is not None and (problems := check_selector(spec.selector)):
            path, text = problems[0]
            raise NotSelected(f"spec.selector.{path}: {text}")
        if needs_controllers(spec):
            return await expected_pods(counts, entry.key[0], self._workloads, self._pods)
        return counts.pods if spec.min_available is not None else 0

    def _count(self, entry: PdbEntry, counts: PodCounts, expected: int) -> PdbStatus:
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
            self._queue.add_after(entry.key, wait + _MARGIN)
        return status

    def _evicted(self, entry: PdbEntry, name: str) -> Pod | None:
        """The pod that an entry of disruptedPods means: a re-created pod is another one."""
        pod = self._pods.get(entry.key[0], name)
        known = entry.evicted.get(name)
        if pod is None or known is None or pod.metadata.uid not in entry.members:
            return None
        if known.uid:
            return pod if pod.metadata.uid == known.uid else None
        # The pod was not seen when its eviction was: the clocks of the API servers must tell.
        return pod if pod.metadata.creation_timestamp <= known.at else None

    async def _write(
        self, budget: PodDisruptionBudget, status: PdbStatus, *, has_fields: bool
    ) -> None:
        replicas: str | None = None
        if has_fields:
            status = as_pods(status)
        else:
            replicas = replicas_text(
                allowed=status.disruptions_allowed,
                healthy=status.current_healthy,
                desired=status.desired_healthy,
                expected=status.expected_pods,
            )
        if self._only_status:
            if not is_up_to_date(budget.status, status):
                await self._writer.write(budget, status, {})
            return
        status = self._tell_scope(budget, status)
        if (
            not is_up_to_date(budget.status, status)
            or _configured(budget.status) != _configured(status)
            or budget.metadata.annotations.get(REPLICAS) != replicas
        ):
            await self._writer.write(budget, status, {REPLICAS: replicas})

    def _tell_scope(self, budget: PodDisruptionBudget, status: PdbStatus) -> PdbStatus:
        if self._groups:
            return status
        problem = groups_not_held(budget)
        self._events.configured(budget, problem)
        conditions = merge(
            status.conditions,
            [problem] if problem else [],
            status.observed_generation,
            self._now(),
            ours=(BUDGET_CONFIGURED,),
        )
        return replace(status, conditions=conditions)


def _configured(status: PdbStatus) -> list[tuple[str, str]]:
    return [
        (each.reason, each.message) for each in status.conditions if each.type == BUDGET_CONFIGURED
    ]
