"""A drain of half the nodes: `intact drain` of all of them, compared with `kubectl drain` of each.

Two operators of Intact and a real Kubernetes, the same for both. See docs/benchmarks.md.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import bars, table
from bench.bars import Bar
from bench.child import BenchError
from bench.output import conclude, progress
from bench.pub_setup import until_all, works
from bench.table import Row, count, ratio, seconds
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client, PatchType
from intact.kube.config import from_kubeconfig
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.http import HttpTransport
from intact.kube.resources import PODS, PUBS, untyped
from intact.model.pod import Pod
from intact.model.pod_state import is_ready, is_terminating
from intact.model.pub import PodUnavailableBudget

TIME_BAR = 0.6
SIZE = 4
NODES = 12
DRAINED = 6
_GROUP = "shard"
_SERVES = "bench.intact.dev/serves"
"""The readiness gate of every pod: kwok counts in whole seconds, and this bench exactly."""
_WITHIN = 900.0
_NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
_NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
_SETS = untyped("apps", "v1", "statefulsets", "StatefulSet")


@dataclass(slots=True)
class Course:
    """What happened to the groups during one drain."""

    seconds: float = 0.0
    pods: int = 0
    """That stood on the drained nodes."""
    breaks: Counter[str] = field(default_factory=Counter)
    most_down: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=24, help=f"of {SIZE} pods each")
    parser.add_argument("--down", type=int, default=2, help="groups that may be down at once")
    parser.add_argument("--readiness", type=int, default=5, help="seconds until a pod is ready")
    arguments = parser.parse_args()
    if min(arguments.groups, arguments.down, arguments.readiness) < 1:
        parser.error("at least one group, one that may be down and one second are needed")
    bench = Bench(arguments.groups, arguments.down, arguments.readiness)
    try:
        with Cluster(nodes=NODES) as cluster:
            asyncio.run(bench.run(cluster))
    except (BenchError, DevclusterError, KubeError) as error:
        print(f"FAIL: {error}")
        return 1
    return bench.report()


class Bench:
    def __init__(self, groups: int, down: int, readiness: int) -> None:
        self._groups = groups
        self._down = down
        self._readiness = readiness
        self._ours = Course()
        self._theirs = Course()
        self._nodes = [f"node-{number}" for number in range(DRAINED)]

    async def run(self, cluster: Cluster) -> None:
        ports = Ports()
        bind = f"127.0.0.1:{ports.reserve()}"
        with ExitStack() as stack:
            stack.callback(ports.release)
            operators = [
                stack.enter_context(
                    OperatorProcess(
                        cluster.kubeconfig,
                        cluster.logs / f"intact-{number}.log",
                        "--install",
                        f"--webhook-bind={bind}",
                    )
                )
                for number in range(2)
            ]
            for operator in operators:
                operator.wait_ready()
            async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
                progress("kubectl drain")
                selector = "--pod-selector=app=llm"
                kubectl = [str(cluster.kubectl), "drain", selector]
                await self._drain(
                    client, cluster, "kubectl", [[*kubectl, node] for node in self._nodes]
                )
                progress("intact drain")
                intact = str(Path(sys.executable).with_name("intact"))
                await self._drain(
                    client, cluster, "intact", [[intact, "drain", selector, *self._nodes]]
                )

    async def _drain(
        self, client: Client, cluster: Cluster, who: str, commands: Sequence[Sequence[str]]
    ) -> None:
        """By these commands, all at once."""
        course = self._ours if who == "intact" else self._theirs
        await client.create(_NAMESPACES, {"metadata": {"name": who}})
        for number in range(self._groups):
            await client.create(_SETS, _group(number), who)
        await client.create(PUBS, _budget(self._down), who)
        async with _made_ready(client, who, self._readiness):
            await self._drained(client, cluster, who, commands, course)
        await client.delete(_NAMESPACES, who)

    async def _drained(
        self,
        client: Client,
        cluster: Cluster,
        who: str,
        commands: Sequence[Sequence[str]],
        course: Course,
    ) -> None:
        await self._until_whole(client, who)
        async with _followed(client, who, course):
            await self._check_places(client, who, course)
            begun = time.perf_counter()
            await asyncio.gather(*(_run(cluster, command) for command in commands))
            course.seconds = time.perf_counter() - begun
            await self._until_whole(client, who)
        left = [each for each in (await client.list(PODS, who)).items if self._is_drained(each)]
        if left:
            raise BenchError(f"{who} drain left {len(left)} pods on the nodes")
        for node in self._nodes:
            await client.patch(_NODES, {"spec": {"unschedulable": None}}, node)

    async def _until_whole(self, client: Client, namespace: str) -> None:
        def is_whole(budget: PodUnavailableBudget) -> bool:
            return works(budget) and budget.status.current_available == self._groups

        await until_all(client, namespace, is_whole, _WITHIN)

    async def _check_places(self, client: Client, namespace: str, course: Course) -> None:
        """Every group must have a pod on a node that is drained."""
        pods = (await client.list(PODS, namespace)).items
        found = [each for each in pods if self._is_drained(each)]
        groups = {each.metadata.labels[_GROUP] for each in found}
        if len(groups) < self._groups:
            raise BenchError(f"only {len(groups)} groups have pods on the nodes to drain")
        course.pods = len(found)

    def _is_drained(self, pod: Pod) -> bool:
        return pod.spec.node_name in self._nodes

    def report(self) -> int:
        ours, theirs = self._ours, self._theirs
        print(
            f"\n{self._groups} groups of {SIZE} on {NODES} nodes; {DRAINED} nodes are drained; "
            f"{self._down} groups may be down; pods are ready after {self._readiness} s\n"
        )
        rows = [
            Row("time", ours.seconds, theirs.seconds, seconds, TIME_BAR),
            Row("pods on the nodes", ours.pods, theirs.pods, count, compared=False),
            Row("groups broke, times", ours.breaks.total(), theirs.breaks.total(), count),
            Row("most often the same", _most(ours), _most(theirs), count),
            Row("most groups down", ours.most_down, theirs.most_down, count),
        ]
        print(table.render(rows, "intact drain", "kubectl drain"))
        least = ours.breaks.total() * self._readiness / self._down
        print(
            f"\nlower bound of the time (breaks x readiness / {self._down}): {least:.1f} s; "
            f"intact drain takes {ours.seconds / least:.2f} times as long\n"
        )
        verdicts = [
            Bar("time, compared with kubectl", ours.seconds / theirs.seconds, TIME_BAR, ratio),
            Bar("most often that a group broke", _most(ours), 1, count),
            Bar("most groups down", ours.most_down, self._down, count),
        ]
        print(bars.render(verdicts))
        return conclude(passed=all(bar.passed for bar in verdicts))


def _most(course: Course) -> int:
    return max(course.breaks.values(), default=0)


def _group(number: int) -> dict[str, Any]:
    """A StatefulSet whose pods start on four nodes, two of which are drained, and may go to any."""
    name = f"llm-{number}"
    labels = {"app": "llm", _GROUP: name}
    nodes = [f"node-{(number + 3 * step) % NODES}" for step in range(SIZE)]
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
    preferred = {"weight": 100, "preference": {"matchExpressions": [wanted]}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": labels},
    }
    container = {"name": "server", "image": "example.com/server:1"}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": SIZE,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "readinessGates": [{"conditionType": _SERVES}],
                    "topologySpreadConstraints": [spread],
                    "affinity": {
                        "nodeAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [preferred]
                        }
                    },
                },
            },
        },
    }


def _budget(down: int) -> dict[str, Any]:
    return {
        "apiVersion": PUBS.api_version,
        "kind": PUBS.kind,
        "metadata": {"name": "llm"},
        "spec": {
            "selector": {"matchLabels": {"app": "llm"}},
            "maxUnavailable": down,
            "podGroupPolicy": {"groupLabelKey": _GROUP, "minReadyReplicas": SIZE},
        },
    }


@asynccontextmanager
async def _made_ready(client: Client, namespace: str, after: float) -> AsyncGenerator[None, None]:
    """Opens the gate of each pod so many seconds after it was seen to run."""
    body = {"status": {"conditions": [{"type": _SERVES, "status": "True"}]}}
    opening: dict[str, asyncio.Task[None]] = {}

    async def open_gate(name: str) -> None:
        await asyncio.sleep(after)
        with suppress(NotFound, Conflict):
            await client.patch(
                PODS, body, name, namespace, subresource="status", type=PatchType.STRATEGIC
            )

    async def follow() -> None:
        async with client.watch(PODS, namespace, resource_version="0") as events:
            async for event in events:
                pod = event.object
                if pod is not None and pod.status.phase == "Running" and event.type != "DELETED":
                    uid = pod.metadata.uid
                    if uid not in opening:
                        opening[uid] = asyncio.create_task(open_gate(pod.metadata.name))

    following = asyncio.create_task(follow())
    try:
        yield
        if following.done():
            following.result()
    finally:
        for task in (following, *opening.values()):
            task.cancel()
        await asyncio.gather(following, *opening.values(), return_exceptions=True)


@asynccontextmanager
async def _followed(client: Client, namespace: str, into: Course) -> AsyncGenerator[None, None]:
    """Every event of the pods in the block counts."""
    page = await client.list(PODS, namespace)
    pods = {each.metadata.name: each for each in page.items}
    groups = {each.metadata.labels[_GROUP] for each in page.items}
    down: set[str] = set()

    async def follow() -> None:
        nonlocal down
        version = page.resource_version
        while True:
            async with client.watch(PODS, namespace, resource_version=version) as events:
                async for event in events:
                    version = event.resource_version
                    if event.object is None:
                        continue
                    name = event.object.metadata.name
                    if event.type == "DELETED":
                        pods.pop(name, None)
                    else:
                        pods[name] = event.object
                    serving = Counter(
                        each.metadata.labels[_GROUP]
                        for each in pods.values()
                        if is_ready(each) and not is_terminating(each)
                    )
                    now = {group for group in groups if serving[group] < SIZE}
                    into.breaks.update(now - down)
                    into.most_down = max(into.most_down, len(now))
                    down = now

    following = asyncio.create_task(follow())
    try:
        yield
        if following.done():
            following.result()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _run(cluster: Cluster, command: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *command,
        f"--kubeconfig={cluster.kubeconfig}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), _WITHIN)
    if process.returncode:
        raise BenchError(f"{command[0]} ended with {process.returncode}: {said.decode()[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
