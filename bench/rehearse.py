"""What a rehearsal costs: the drain of half the nodes of a cluster of groups.

One process for each size, no cluster. See docs/benchmarks.md.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from bench.bars import Bar, render
from bench.child import BenchError
from bench.usage import usage
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.stage import Options, Stage
from tests.support.small_clusters import SmallCluster, asking

NODES, GROUPS, BUDGETS, GROUP_SIZE = 100, 400, 20, 5
MOST_CPU, MOST_MEGABYTES, LEAST_RATIO, MOST_GROWTH = 60.0, 600.0, 20.0, 1.3
FACTORS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    peak: float
    simulated: float
    evicted: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factors", type=int, nargs="+", default=list(FACTORS))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(_measure(arguments.one)))
        return 0
    try:
        costs = {factor: _in_child(factor) for factor in arguments.factors}
    except BenchError as error:
        print(f"FAIL: {error}")
        return 1
    for factor, cost in costs.items():
        print(
            f"{factor * NODES:4} nodes, {factor * GROUPS * GROUP_SIZE:5} pods: {cost.cpu:6.1f} s "
            f"CPU, {cost.peak / 1e6:4.0f} MB, {cost.simulated:6.0f} s simulated, "
            f"{cost.evicted} pods went"
        )
    bars = _bars(costs)
    print(render(bars))
    return 0 if all(bar.passed for bar in bars) else 1


def _bars(costs: dict[int, Cost]) -> list[Bar]:
    least = min(costs)
    first = costs[least]
    ratio = first.simulated / first.cpu
    bars = [
        Bar("CPU time", first.cpu, MOST_CPU * least, lambda value: f"{value:.1f} s"),
        Bar("memory", first.peak / 1e6, MOST_MEGABYTES * least, lambda value: f"{value:.0f} MB"),
        Bar("simulated time to CPU time", ratio, LEAST_RATIO, lambda value: f"{value:.0f}", True),
    ]
    for factor, cost in costs.items():
        if factor != least:
            growth = cost.cpu / first.cpu / (factor / least)
            name = f"CPU time at {factor // least} times the size, to linear"
            bars.append(Bar(name, growth, MOST_GROWTH, lambda value: f"{value:.2f}"))
    return bars


def _in_child(factor: int) -> Cost:
    command = [sys.executable, "-m", "bench.rehearse", "--one", str(factor)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise BenchError(f"the rehearsal ended with {done.returncode}")
    return Cost(**json.loads(done.stdout))


def _measure(factor: int) -> dict[str, Any]:
    made = cluster(factor)
    copies = range(factor)
    nodes = [node_of(number, copy) for number in range(NODES // 2) for copy in copies]
    snapshot = made.snapshot()
    begun = usage(os.getpid())

    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        done = await drains.run(nodes, factor)
        return Outcome(done, drains.reports(nodes))

    report = rehearse(snapshot, "drain", work, Options(), intact=True)
    ended = usage(os.getpid())
    if not report.goes_through:
        raise BenchError(f"the drain does not go through: {report.never[:3]}")
    return {
        "cpu": ended.cpu - begun.cpu,
        "peak": ended.peak,
        "simulated": report.recovered,
        "evicted": len(report.pods),
    }


def node_of(number: int, copy: int) -> str:
    return f"node-{copy * NODES + number}"


def cluster(factor: int) -> SmallCluster:
    """As many copies of one cluster, side by side.

    Groups of five pods; every second budget is a PodDisruptionBudget over PodGroups, every other
    a PodUnavailableBudget over a label. Each lets one of its twenty groups go; a pod takes a minute
    to start."""
    made = SmallCluster(nodes=factor * NODES, cpu="64")
    for copy in range(factor):
        for budget in range(BUDGETS):
            _put_budget(made, f"llm-{copy}-{budget}", budget, copy)
    return made


def _put_budget(made: SmallCluster, app: str, budget: int, copy: int) -> None:
    for number in range(GROUPS // BUDGETS):
        first = (budget * GROUPS // BUDGETS + number) * GROUP_SIZE
        on = [node_of((first + pod) % NODES, copy) for pod in range(GROUP_SIZE)]
        if budget % 2:
            made.stateful_set(
                f"{app}-{number}", on, {"app": app}, took=60, spec={"containers": asking("1")}
            )
        else:
            made.pod_group(f"{app}-{number}", on, workload=app, took=60)
    if budget % 2:
        made.pub(app, {"app": app}, "set", GROUP_SIZE, maxUnavailable=1)
    else:
        made.pdb(app, {"app": app}, scope="Workload", maxUnavailable=1)


if __name__ == "__main__":
    sys.exit(main())
