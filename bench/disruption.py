"""What a change of readiness costs the disruption controllers of Intact and of Kubernetes.

Both see the same pods and the same changes, one controller after the other. Nothing else changes
the cluster. See docs/benchmarks.md.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from bench import bars, table
from bench.bars import Bar
from bench.child import BenchError
from bench.output import conclude, progress
from bench.pub_setup import all_of, fill
from bench.readiness import ReadinessChanges
from bench.result import Result
from bench.table import Row, count, megabytes, milliseconds, ratio, seconds
from bench.usage import Usage, usage
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.errors import DevclusterError
from devcluster.operator_process import OperatorProcess
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS
from intact.kube.store import Store
from intact.model.pdb import PodDisruptionBudget

CPU_BAR = 0.0005
"""Seconds for each change, at every size."""
RATIO_BAR = 0.1
"""Of the peer's CPU time, at the largest size."""
BEHIND_BAR = 2.0
MEMORY_BAR = 1.0
PODS_EACH = 20
MIN_AVAILABLE = "50%"
FLAGS = {CONTROLLER_MANAGER: ["--controllers=disruption-controller"]}
_NAMESPACE = "team"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--events", type=int, default=2000)
    arguments = parser.parse_args()
    if min(arguments.budgets) < 1 or arguments.events < 1:
        parser.error("at least one budget and one event are needed")
    pods = min(arguments.budgets) * PODS_EACH
    if arguments.events > pods:
        # A second change of a pod may overtake the first: the right end would be unknown.
        parser.error(f"--events is {arguments.events}; with {pods} pods it may be at most {pods}")
    results: list[tuple[int, Result, Result]] = []
    try:
        for budgets in arguments.budgets:
            without = [CONTROLLER_MANAGER, SCHEDULER, KWOK]
            with Cluster(flags=FLAGS, without=without) as cluster:
                ours, theirs = asyncio.run(measure(cluster, budgets, arguments.events))
            results.append((budgets, ours, theirs))
            _show(budgets, arguments.events, ours, theirs)
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    checks = _bars(results)
    print(f"\n{bars.render(checks)}")
    return conclude(passed=all(check.passed for check in checks))


def _show(budgets: int, events: int, ours: Result, theirs: Result) -> None:
    pods = budgets * PODS_EACH
    print(f"\n{events:,} changes of readiness, {pods:,} pods / {budgets:,} budgets\n")
    rows = [
        Row("CPU per change", ours.cpu_per_event, theirs.cpu_per_event, milliseconds),
        Row("behind the last change", ours.behind, theirs.behind, seconds, compared=False),
        Row("status writes", ours.writes, theirs.writes, count),
        Row("memory after the changes", ours.ended.rss, theirs.ended.rss, megabytes),
        Row("memory, peak", ours.ended.peak, theirs.ended.peak, megabytes),
    ]
    print(table.render(rows, "Intact", "Kubernetes"), flush=True)


def _bars(results: list[tuple[int, Result, Result]]) -> list[Bar]:
    checks = []
    for budgets, ours, theirs in results:
        size = f"{budgets * PODS_EACH:,} pods"
        checks += [
            Bar(f"{size}: CPU per change", ours.cpu_per_event, CPU_BAR, milliseconds),
            Bar(f"{size}: behind the last change", ours.behind, BEHIND_BAR, seconds),
            Bar(
                f"{size}: memory, of the peer's",
                ours.ended.rss / theirs.ended.rss,
                MEMORY_BAR,
                ratio,
            ),
        ]
    budgets, ours, theirs = max(results, key=lambda one: one[0])
    share = ours.cpu_per_event / theirs.cpu_per_event
    name = f"{budgets * PODS_EACH:,} pods: CPU per change, of the peer's"
    return [*checks, Bar(name, share, RATIO_BAR, ratio)]


async def measure(cluster: Cluster, budgets: int, events: int) -> tuple[Result, Result]:
    """Ours and the peer's."""
    changes = ReadinessChanges(_NAMESPACE, budgets, PODS_EACH)
    async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
        progress(f"creating {changes.pods:,} pods and {budgets:,} budgets")
        await fill(client, _NAMESPACE, budgets, PODS_EACH)
        await all_of(range(budgets), lambda number: _protect(client, number))
        progress("kube-controller-manager")
        cluster.start(CONTROLLER_MANAGER)
        pid = cluster.pid(CONTROLLER_MANAGER)
        theirs = await _run(client, changes, events, 0, lambda: usage(pid))
        cluster.stop(CONTROLLER_MANAGER)
        progress("Intact")
        log = cluster.logs / "intact.log"
        with OperatorProcess(cluster.kubeconfig, log, "--controllers=disruption") as operator:
            operator.wait_ready()
            pid = operator.process.pid
            ours = await _run(client, changes, events, events, lambda: usage(pid))
            # An operator that lost its watch and listed again has not seen every change.
            if operator.metrics()['intact_reflector_lists_total{resource="pods"}'] != 1:
                raise BenchError("Intact listed the pods again during the changes")
        return ours, theirs


async def _protect(client: Client, number: int) -> None:
    name = f"set-{number}"
    spec = {"selector": {"matchLabels": {"app": name}}, "minAvailable": MIN_AVAILABLE}
    body = {"apiVersion": PDBS.api_version, "kind": PDBS.kind, "metadata": {"name": name}}
    await client.create(PDBS, body | {"spec": spec}, _NAMESPACE)


async def _run(
    client: Client, changes: ReadinessChanges, events: int, first: int, used: Callable[[], Usage]
) -> Result:
    """`first` is the number of the first change: the run before ended there."""
    async with _shown(client) as shown:
        await shown.until(changes.unready_after(first), within=300)
        # Status writes for what was there before are not counted.
        await _quiet(used)
        writes, begun = shown.writes, used()
        await changes.send(client, first, events)
        sent = time.monotonic()
        at = await shown.until(changes.unready_after(first + events), within=300)
        await _quiet(used)
        return Result(begun, used(), events, shown.writes - writes, max(0.0, at - sent))


class _Shown:
    """What the budgets show, from a watch."""

    def __init__(self, client: Client) -> None:
        self.writes = 0
        self.reflector = Reflector(client, PDBS, Store[PodDisruptionBudget]())
        self.reflector.store.subscribe(self._changed)
        self._healthy: dict[str, int] = {}
        self._wanted: dict[str, int] = {}
        self._wrong: set[str] = set()
        self._right = asyncio.Event()

    def _changed(self, _old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> None:
        if new is None:
            return
        self.writes += 1
        name, status = new.metadata.name, new.status
        counted = status.observed_generation == new.metadata.generation
        self._healthy[name] = status.current_healthy if counted else -1
        self._compare(name)

    def _compare(self, name: str) -> None:
        if self._healthy.get(name) == self._wanted.get(name):
            self._wrong.discard(name)
        else:
            self._wrong.add(name)
        if not self._wrong:
            self._right.set()

    async def until(self, unready: list[int], within: float) -> float:
        """When each budget shows exactly so many of its pods as unhealthy."""
        self._wanted = {f"set-{place}": PODS_EACH - number for place, number in enumerate(unready)}
        self._right.clear()
        self._wrong = set(self._wanted)
        for name in self._wanted:
            self._compare(name)
        try:
            async with asyncio.timeout(within):
                await self._right.wait()
        except TimeoutError:
            raise BenchError(
                f"{len(self._wrong)} budgets do not show the right number of healthy pods"
            ) from None
        return time.monotonic()


@asynccontextmanager
async def _shown(client: Client) -> AsyncGenerator[_Shown, None]:
    shown = _Shown(client)
    task = asyncio.create_task(shown.reflector.run())
    try:
        await shown.reflector.wait_synced()
        yield shown
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _quiet(used: Callable[[], Usage]) -> None:
    """Wait until a process is idle: less than 0.05 s of CPU time within a second."""
    before = used().cpu
    async with asyncio.timeout(300):
        while True:
            await asyncio.sleep(1)
            now = used().cpu
            if now - before < 0.05:
                return
            before = now


if __name__ == "__main__":
    sys.exit(main())
