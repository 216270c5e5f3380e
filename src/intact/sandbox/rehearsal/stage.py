"""A copy of a cluster that runs: loaded, counted and at rest before the work begins."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from intact.budget.pdb.pods import DISRUPTION_ALLOWED, SYNC_FAILED
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import (
    condition,
    is_finished,
    is_ready,
    is_terminating,
    is_unschedulable,
)
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from intact.sandbox.kubelet.times import Times as KubeletTimes
from intact.sandbox.loop import wall_clock
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.observe import Observer
from intact.sandbox.rehearsal.owners import Owners
from intact.sandbox.rehearsal.report import NodeReport
from intact.sandbox.rehearsal.steps import Steps
from intact.sandbox.rehearsal.times import Times
from intact.sandbox.rehearsal.units import PDBS, PUBS
from intact.sandbox.snapshot.document import Snapshot

_SETTLE_WITHIN = 120.0
_REST = 5.0
"""Seconds without a change of a pod after which the cluster is at rest."""
STILL = 150.0
"""Seconds in which only refusals are repeated, after which nothing is expected to change any more.
The operator and the API server forget what they wait for after two minutes at most."""
_SEED = 8_512_703
"""Of the UIDs of new objects: a snapshot of a sandbox has those of another seed."""
HORIZON = 24 * 3600.0
_GANG_CONDITIONS = ("PodGroupScheduled", "PodGroupInitiallyScheduled")
"""Of Kubernetes 1.36, and of 1.37."""


@dataclass(frozen=True, slots=True)
class Options:
    force: bool = False
    delete_emptydir_data: bool = False
    ready_after: Mapping[str, float] = field(default_factory=dict)
    gone_after: Mapping[str, float] = field(default_factory=dict)
    horizon: float = HORIZON


class Stage:
    def __init__(self, sandbox: Sandbox, times: Times, *, intact: bool, options: Options) -> None:
        self.sandbox = sandbox
        self.api = sandbox.api
        self.client = sandbox.client()
        self.times = times
        self.intact = intact
        self.options = options
        self.owners = Owners(sandbox.api)
        self.steps = Steps()
        self.notes: list[str] = []
        self.nodes: Callable[[], Sequence[NodeReport]] = list
        """How it stands with the nodes that the work is about."""
        self.observer = Observer(sandbox.api, self._loop_time, pubs=intact)
        self.waiting_before: frozenset[str] = frozenset()
        """UIDs of the pods that found no node before the work began."""
        self.knows_daemon_sets = True
        self._unready_before: frozenset[str] = frozenset()
        self._begun = 0.0

    def _loop_time(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> float:
        """Seconds since the work began."""
        return self.since_begun(self._loop_time())

    def since_begun(self, moment: float) -> float:
        return moment - self._begun

    async def settle(self) -> None:
        """Until every budget is counted and no pod changes."""
        end = self._loop_time() + _SETTLE_WITHIN
        while self._loop_time() < end:
            await asyncio.sleep(1)
            quiet = self._loop_time() - self.observer.last_change >= _REST
            if quiet and self._is_counted():
                break
        else:
            self.notes.append(
                "The cluster is not at rest: pods start, end or wait for a budget's first count. "
                "The rehearsal begins in the middle of that."
            )
        pods = list(self.api.objects("pods"))
        self.waiting_before = frozenset(
            each["metadata"]["uid"] for each in pods if not each["spec"].get("nodeName")
        )
        self._unready_before = frozenset(
            each["metadata"]["uid"] for each in pods if not is_ready(each)
        )
        self._begun = self.observer.last_change = self._loop_time()
        self.observer.begin()

    def _is_counted(self) -> bool:
        kinds = {kind.full_name for kind in self.api.kinds()}
        for full_name in (PDBS, PUBS) if self.intact else (PDBS,):
            for each in self.api.objects(full_name) if full_name in kinds else ():
                seen = (each.get("status") or {}).get("observedGeneration", 0)
                if seen < each["metadata"].get("generation", 0) and not cannot_be_counted(each):
                    return False
        return True

    def is_still(self) -> bool:
        """Whether nothing can change any more: all that happens is that refusals are repeated."""
        quiet = self._loop_time() - self.observer.last_change
        if quiet <= STILL:
            return False
        return quiet > STILL + max(map(self._pending, self.api.objects("pods")), default=0.0)

    def _pending(self, pod: Json) -> float:
        """How long a pod may take until it changes by itself."""
        if is_terminating(pod):
            return float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        if not pod["spec"].get("nodeName") or is_ready(pod):
            return 0.0
        return self.times.ready_after(pod)

    async def recover(self) -> None:
        """Until what can become ready is ready, or the rehearsal is to end. The longer that takes,
        the less often it looks."""
        begun = self.now()
        await asyncio.sleep(_REST / 5)  # the scheduler looks at nodes that have just come back
        while (
            self.now() < self.options.horizon
            and not self.is_still()
            and any(map(self._is_on_its_way, self.api.objects("pods")))
        ):
            await asyncio.sleep(max(_REST / 5, (self.now() - begun) / 100))

    def _is_on_its_way(self, pod: Json) -> bool:
        if is_terminating(pod):
            return True
        if pod["metadata"]["uid"] in self._unready_before or is_ready(pod) or is_finished(pod):
            return False
        return not is_unschedulable(pod)

    async def wait_still(self) -> None:
        while not self.is_still():
            await asyncio.sleep(_REST)


def cannot_be_counted(budget: Json) -> str:
    """Why; empty if it can be."""
    found = condition(budget, DISRUPTION_ALLOWED) or {}
    return (found.get("message") or SYNC_FAILED) if found.get("reason") == SYNC_FAILED else ""


def schedules_gangs(snapshot: Snapshot) -> bool:
    """Whether the scheduler of the cluster does: then it has said so of a PodGroup."""
    return any(
        condition["type"] in _GANG_CONDITIONS
        for group in snapshot.of("podgroups.scheduling.k8s.io")
        for condition in (group.get("status") or {}).get("conditions") or ()
    )


@asynccontextmanager
async def staged(
    snapshot: Snapshot, options: Options, *, intact: bool
) -> AsyncGenerator[Stage, None]:
    gangs = schedules_gangs(snapshot)
    sandbox = Sandbox(clock=wall_clock(snapshot.time), seed=_SEED, gangs=gangs)
    load(snapshot, sandbox.api)
    times = Times(sandbox.api, snapshot.time, options.ready_after, options.gone_after)
    sandbox.kubelets.times = KubeletTimes(by_pod=times.of_pod)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(sandbox.running())
        if intact:
            await stack.enter_async_context(Intact(sandbox).running())
        stage = Stage(sandbox, times, intact=intact, options=options)
        stage.knows_daemon_sets = all(
            each.resource != "daemonsets.apps" for each in snapshot.unreadable
        )
        stage.notes += [
            f"No workload with pods is named {each}, for which a time is given."
            for each in times.unknown()
        ]
        await stage.settle()
        yield stage
