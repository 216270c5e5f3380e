"""What a pod event costs `intact run`, with few and with many pods and budgets in one namespace.

Nothing else changes anything in the cluster. See docs/benchmarks.md.
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
from bench.pods import readiness
from bench.pub_setup import all_of, fill, pod_name, protect, until_all, works
from bench.replica import Replica, with_gate
from bench.result import Result
from bench.table import Row, count, megabytes, seconds
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.errors import DevclusterError
from devcluster.ports import Ports
from intact.kube.client import Client, PatchType
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.resources import untyped
from intact.model.pub import PodUnavailableBudget
from intact.operator.install.install import install

GROWTH_BAR = 1.3
PODS_EACH = 100
_NAMESPACE = "team"
_ALL_PODS = untyped("", "v1", "pods", "Pod")
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
    arguments = parser.parse_args()
    if min(arguments.budgets) < 1 or arguments.events < 1:
        parser.error("at least one budget and one event are needed")
    results = []
    try:
        for budgets in arguments.budgets:
            # Only the load changes anything: no controller, scheduler or kubelet disturbs it.
            with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
                results.append(asyncio.run(measure(cluster, budgets, arguments.events)))
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
    print("\nPASS" if bar.passed else "\nFAIL")
    return 0 if bar.passed else 1


async def measure(cluster: Cluster, budgets: int, events: int) -> FromStart:
    pods = budgets * PODS_EACH
    ports = Ports()
    try:
        async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
            _progress(f"creating {pods:,} pods and {budgets} budgets")
            await install(client)
            await fill(client, _NAMESPACE, budgets, PODS_EACH)
            for number in range(budgets):
                await protect(client, _NAMESPACE, number, "10%")
            with Replica(cluster, "intact", *with_gate(f"127.0.0.1:{ports.reserve()}")) as replica:
                return await _run(client, replica, pods, events)
    finally:
        ports.release()


async def _run(client: Client, replica: Replica, pods: int, events: int) -> FromStart:
    started = time.monotonic()
    _progress("waiting for the first correct status of all budgets")
    await until_all(client, _NAMESPACE, _has([0] * (pods // PODS_EACH)), within=300)
    first_status = time.monotonic() - started
    replica.wait_ready()
    before, begun = replica.metrics(), replica.usage()
    _progress(f"{events:,} changes")
    turns, rest = divmod(events, pods)

    async def one(number: int) -> None:
        turn, place = divmod(number, pods)
        await client.patch(
            _ALL_PODS,
            {"status": readiness(turn)},
            pod_name(_spread(place, pods)),
            _NAMESPACE,
            type=PatchType.STRATEGIC,
            subresource="status",
            field_manager="kubelet",
        )

    await all_of(range(events), one)
    sent = time.monotonic()
    # All pods have had so many turns, and the first of this order one more.
    unready = [0] * (pods // PODS_EACH)
    for place in range(pods):
        if (turns + (place < rest)) % 2:
            unready[_spread(place, pods) // PODS_EACH] += 1
    await until_all(client, _NAMESPACE, _has(unready))
    behind = time.monotonic() - sent
    ended, after = replica.usage(), replica.metrics()
    if after[_LISTS] != before[_LISTS]:
        # Whoever lost its watch and listed again has not seen every change.
        raise BenchError("the pods were listed again in the middle of the changes")
    writes = after[_WRITES] - before[_WRITES]
    return FromStart(begun, ended, events, writes, behind, first_status)


def _spread(place: int, pods: int) -> int:
    """One budget after the other gets a change: what is near in time is far apart in pods."""
    budget, number = place % (pods // PODS_EACH), place // (pods // PODS_EACH)
    return budget * PODS_EACH + number


def _has(unready: list[int]) -> Callable[[PodUnavailableBudget], bool]:
    """Whether a budget works and shows exactly so many of its pods as unavailable."""

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


def _progress(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
