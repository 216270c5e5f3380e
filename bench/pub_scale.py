"""What a pod event costs `intact run`, with few and with many pods and budgets in one namespace.

Nothing else changes the cluster. See docs/benchmarks.md.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import bars, table
from bench.bars import Bar
from bench.child import BenchError
from bench.output import conclude, progress
from bench.pub_setup import fill, gate_options, protect, until_all, works
from bench.readiness import ReadinessChanges
from bench.result import Result
from bench.table import Row, count, megabytes, seconds
from bench.usage import usage
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.errors import DevclusterError
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.model.pub import PodUnavailableBudget
from intact.operator.install.install import install

GROWTH_BAR = 1.3
PODS_EACH = 100
_NAMESPACE = "team"
_LISTS = 'intact_reflector_lists_total{resource="pods"}'
_WRITES = "intact_recount_writes_total"


@dataclass(frozen=True, slots=True)
class FromStart(Result):
    first_status: float
    """Seconds from the start of the process until every budget has its correct status."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=int, nargs=2, default=[20, 200])
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--controllers", default="pub")
    arguments = parser.parse_args()
    if min(arguments.budgets) < 1 or arguments.events < 1:
        parser.error("at least one budget and one event are needed")
    results = []
    try:
        for budgets in arguments.budgets:
            # No controller, scheduler or kubelet: only the load changes the cluster.
            with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
                results.append(
                    asyncio.run(measure(cluster, budgets, arguments.events, arguments.controllers))
                )
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    small, large = results
    names = [f"{n * PODS_EACH:,} pods / {n} budgets" for n in arguments.budgets]
    print(f"\n{arguments.events:,} changes of readiness, {PODS_EACH} pods a budget\n")
    rows = [
        Row("CPU per pod event", large.cpu_per_event, small.cpu_per_event, microseconds),
        Row("status writes", large.writes, small.writes, count),
        Row("behind the last change", large.behind, small.behind, seconds, compared=False),
        Row("first correct status", large.first_status, small.first_status, seconds),
        Row("CPU until then", large.begun.cpu, small.begun.cpu, seconds),
        Row("memory then", large.begun.rss, small.begun.rss, megabytes),
        Row("memory after the changes", large.ended.rss, small.ended.rss, megabytes),
        Row("memory, peak", large.ended.peak, small.ended.peak, megabytes),
    ]
    print(table.render(rows, names[1], names[0]))
    growth = large.cpu_per_event / small.cpu_per_event
    bar = Bar("CPU per pod event, growth", growth, GROWTH_BAR, lambda value: f"{value:.2f}")
    print(f"\n{bars.render([bar])}")
    return conclude(passed=bar.passed)


async def measure(cluster: Cluster, budgets: int, events: int, controllers: str) -> FromStart:
    changes = ReadinessChanges(_NAMESPACE, budgets, PODS_EACH)
    ports = Ports()
    try:
        async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
            progress(f"creating {changes.pods:,} pods and {budgets} budgets")
            await install(client)
            await fill(client, _NAMESPACE, budgets, PODS_EACH)
            for number in range(budgets):
                await protect(client, _NAMESPACE, number, "10%")
            options = gate_options(f"127.0.0.1:{ports.reserve()}", controllers)
            log = cluster.logs / "intact.log"
            with OperatorProcess(cluster.kubeconfig, log, *options) as operator:
                return await _run(client, operator, changes, events)
    finally:
        ports.release()


async def _run(
    client: Client, operator: OperatorProcess, changes: ReadinessChanges, events: int
) -> FromStart:
    started = time.monotonic()
    progress("waiting for the first correct status of all budgets")
    await until_all(client, _NAMESPACE, _has(changes.unready_after(0)), within=300)
    first_status = time.monotonic() - started
    operator.wait_ready()
    before, begun = operator.metrics(), usage(operator.process.pid)
    progress(f"{events:,} changes")
    await changes.send(client, 0, events)
    sent = time.monotonic()
    await until_all(client, _NAMESPACE, _has(changes.unready_after(events)))
    behind = time.monotonic() - sent
    ended, after = usage(operator.process.pid), operator.metrics()
    if after[_LISTS] != before[_LISTS]:
        # An operator that lost its watch and listed again has not seen every change.
        raise BenchError("Intact listed the pods again during the changes")
    writes = after[_WRITES] - before[_WRITES]
    return FromStart(begun, ended, events, writes, behind, first_status)


def _has(unready: list[int]) -> Callable[[PodUnavailableBudget], bool]:
    """Whether a budget works and shows the right numbers, with so many unavailable pods each."""

    def correct(budget: PodUnavailableBudget) -> bool:
        status = budget.status
        available = PODS_EACH - unready[int(budget.metadata.name.rpartition("-")[2])]
        desired = PODS_EACH - PODS_EACH // 10
        return (
            works(budget)
            and status.total_replicas == PODS_EACH
            and status.current_available == available
            and status.desired_available == desired
            and status.unavailable_allowed == max(0, available - desired)
        )

    return correct


def microseconds(value: float) -> str:
    return f"{value * 1e6:.0f} us"


if __name__ == "__main__":
    sys.exit(main())
