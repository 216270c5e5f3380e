"""How long people wait for `intact`: its start, and an answer of `intact why` in a large namespace.

Every command is a process of its own, as a plugin of kubectl is. kubectl does comparable work in
the same run, in turn. See docs/benchmarks.md.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.bars import Bar, render
from bench.child import BenchError
from bench.output import progress
from bench.pub_setup import fill, gate_options, pod_name, protect, until_all, works
from devcluster import Cluster, DevclusterError
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.operator.install.install import install

MOST_START, MOST_ANSWER = 0.25, 1.5
SETS, NAMESPACE = 20, "team"


class Took(NamedTuple):
    wall: float
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    try:
        with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
            took = asyncio.run(measure(cluster, arguments.pods // SETS, arguments.rounds))
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    print(f"\n{arguments.pods:,} pods in the namespace; the fastest of {arguments.rounds}\n")
    for name, one in took.items():
        print(f"{name:<26}  {one.wall:.2f} s, {one.cpu:.2f} s CPU")
    start, answer = took["intact version"].wall, took["intact why pod/..."].wall
    bars = [
        Bar("start (intact version)", start, MOST_START, _seconds),
        Bar("answer (intact why pod/...)", answer, MOST_ANSWER, _seconds),
    ]
    print(render(bars))
    return 0 if all(bar.passed for bar in bars) else 1


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


async def measure(cluster: Cluster, pods_each: int, rounds: int) -> dict[str, Took]:
    """The fastest run of each command: other work on the machine only slows it down."""
    ports = Ports()
    try:
        async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
            progress(f"creating {SETS * pods_each:,} pods and {SETS} budgets")
            await install(client)
            await fill(client, NAMESPACE, SETS, pods_each)
            for number in range(SETS):
                await protect(client, NAMESPACE, number, 1)
            options = gate_options(f"127.0.0.1:{ports.reserve()}")
            with OperatorProcess(cluster.kubeconfig, cluster.logs / "intact.log", *options):
                await until_all(client, NAMESPACE, works, within=300)
                progress("asking")
                return await asyncio.to_thread(_timed, cluster, rounds)
    finally:
        ports.release()


def _timed(cluster: Cluster, rounds: int) -> dict[str, Took]:
    intact = str(Path(sys.executable).with_name("intact"))
    where = [f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}"]
    kubectl = str(cluster.kubectl)
    commands = {
        "intact version": [intact, "version"],
        "kubectl version --client": [kubectl, "version", "--client"],
        "intact why pod/...": [intact, "why", f"pod/{pod_name(0)}", *where],
        "intact get pods": [intact, "get", "pods", *where],
        "kubectl get pods -o json": [kubectl, "get", "pods", "-o", "json", *where],
    }
    found: dict[str, list[Took]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(_once(command))
    return {name: min(times) for name, times in found.items()}


def _once(command: Sequence[str]) -> Took:
    # The API server is on loopback, where no proxy leads.
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    begun, before = time.perf_counter(), _cpu()
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    took = Took(time.perf_counter() - begun, _cpu() - before)
    if ran.returncode:
        raise BenchError(f"{' '.join(command[:3])} ended with {ran.returncode}: {ran.stderr}")
    return took


def _cpu() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
