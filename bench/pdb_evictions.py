"""Evictions under a PodDisruptionBudget in groups, compared with one that counts pods.

Two operators of Intact, one real API server and the stock controller manager. See
docs/benchmarks.md.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from bench import bars, table
from bench.bars import Bar
from bench.child import BenchError
from bench.output import conclude, progress
from bench.pods import pod, status
from bench.pub_setup import all_of
from bench.table import Row, count, milliseconds, ratio, seconds
from bench.usage import usage
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.errors import DevclusterError
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.errors import AlreadyExists, NotFound
from intact.kube.http import HttpTransport
from intact.kube.resources import PDBS, PODS, untyped
from intact.kube.transport import Request, Transport
from intact.model.pdb import PodDisruptionBudget

RATE_BAR = 1.0
P99_BAR = 0.5
SIZE = 4
_BUDGET = "llm"
_CONTROLLERS = "--controllers=*,-pod-garbage-collector-controller,-node-lifecycle-controller"
_GROUP = "shard"
_NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
_ACCOUNTS = untyped("", "v1", "serviceaccounts", "ServiceAccount")
_ALL_PODS = untyped("", "v1", "pods", "Pod")
_ALL_PDBS = untyped(PDBS.group, PDBS.version, PDBS.plural, PDBS.kind)
_WRITES = "intact_group_recount_writes_total"


@dataclass(slots=True)
class Evictions:
    """The evictions of all rounds, under one kind of budget."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100, help=f"of {SIZE} pods each")
    parser.add_argument("--stay", type=int, default=50, help="groups that the budget keeps")
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if min(arguments.groups, arguments.at_once, arguments.rounds) < 1:
        parser.error("at least one group, one eviction at once and one round are needed")
    bench = Bench(arguments.groups, arguments.stay, arguments.at_once, arguments.rounds)
    try:
        # Without a kubelet evicted pods stay, terminating, and none comes back. Two controllers
        # would clear away pods whose nodes do not exist.
        flags = {CONTROLLER_MANAGER: [_CONTROLLERS]}
        with Cluster(without=[SCHEDULER, KWOK], flags=flags) as cluster:
            asyncio.run(bench.run(cluster))
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    return bench.report()


class Bench:
    def __init__(self, groups: int, stay: int, at_once: int, rounds: int) -> None:
        self._groups = groups
        self._stay = stay
        self._at_once = at_once
        self._rounds = rounds
        self._ours = Evictions()
        self._plain = Evictions()
        self._cpu = 0.0
        self._recounts = 0.0

    @property
    def _may_go(self) -> int:
        """Pods."""
        return (self._groups - self._stay) * SIZE

    async def run(self, cluster: Cluster) -> None:
        ports = Ports()
        bind = f"127.0.0.1:{ports.reserve()}"
        options = ("--install", "--controllers=pdb", f"--webhook-bind={bind}")
        transport = HttpTransport(from_kubeconfig([cluster.kubeconfig]))
        with ExitStack() as stack:
            stack.callback(ports.release)
            operators = [
                stack.enter_context(
                    OperatorProcess(
                        cluster.kubeconfig, cluster.logs / f"intact-{number}.log", *options
                    )
                )
                for number in range(2)
            ]
            for operator in operators:
                operator.wait_ready()
            async with Client(transport) as client:
                # Opens the connections of API server, operators and load.
                await self._in_groups(client, transport, operators, "warm", 10, Evictions())
                self._cpu = self._recounts = 0.0
                for number in range(self._rounds):
                    progress(f"round {number + 1} of {self._rounds}")
                    await self._round(client, transport, operators, number)

    async def _round(
        self,
        client: Client,
        transport: Transport,
        operators: Sequence[OperatorProcess],
        number: int,
    ) -> None:
        # They take turns to go first: the second one also pays for the garbage that the first one
        # left in the API server.
        contestants = [
            self._in_pods(client, transport, f"pods-{number}"),
            self._in_groups(
                client, transport, operators, f"groups-{number}", self._groups, self._ours
            ),
        ]
        for contestant in contestants if number % 2 else reversed(contestants):
            await contestant

    async def _in_pods(self, client: Client, transport: Transport, namespace: str) -> None:
        await _fill(client, namespace, self._groups)
        await _protect(client, namespace, self._stay * SIZE)
        await _until(client, namespace, lambda pdb: pdb.status.disruptions_allowed == self._may_go)
        await self._evict(transport, namespace, self._groups, self._plain)
        await self._check(client, namespace, self._groups * SIZE - self._may_go)

    async def _in_groups(
        self,
        client: Client,
        transport: Transport,
        operators: Sequence[OperatorProcess],
        namespace: str,
        groups: int,
        into: Evictions,
    ) -> None:
        stay = min(groups, self._stay)
        may_go = (groups - stay) * SIZE
        await _fill(client, namespace, groups)
        await _protect(client, namespace, stay, in_groups=True)
        await _until(
            client,
            namespace,
            lambda pdb: (
                "intact.dev/ledger" in pdb.metadata.annotations
                and pdb.status.disruptions_allowed == may_go
            ),
        )
        before = _cpu(operators), _recounts(operators)
        await self._evict(transport, namespace, groups, into)
        await _until(client, namespace, lambda pdb: not pdb.status.disrupted_pods)
        self._cpu += _cpu(operators) - before[0]
        self._recounts += _recounts(operators) - before[1]
        left = await self._check(client, namespace, groups * SIZE - may_go)
        whole = [group for group, number in left.items() if number == SIZE]
        if len(whole) < stay:
            raise BenchError(f"{len(whole)} groups are whole, but the budget keeps {stay}")

    async def _evict(
        self, transport: Transport, namespace: str, groups: int, into: Evictions
    ) -> None:
        async def one(number: int) -> None:
            name = _pod_name(number)
            body = f'{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{name}"}}}}'
            path = PODS.path(namespace, name, "eviction")
            begun = time.perf_counter()
            answer = await transport.send(Request("POST", path, {}, body.encode()))
            into.latencies.append(time.perf_counter() - begun)
            into.codes[answer.status] += 1

        numbers = list(range(groups * SIZE))
        random.Random(7).shuffle(numbers)
        begun = time.perf_counter()
        await all_of(numbers, one, self._at_once)
        into.seconds += time.perf_counter() - begun

    async def _check(self, client: Client, namespace: str, fewest: int) -> Counter[str]:
        """The pods that are left, by group."""
        pods = (await client.list(PODS, namespace)).items
        left = [each for each in pods if each.metadata.deletion_timestamp is None]
        if len(left) < fewest:
            raise BenchError(f"{len(left)} pods are left, but the budget keeps {fewest}")
        return Counter(each.metadata.labels[_GROUP] for each in left)

    def report(self) -> int:
        ours, plain = self._ours, self._plain
        print(
            f"\n{self._groups * SIZE} evictions, {self._at_once} at once, of {self._groups} groups "
            f"of {SIZE}; {self._may_go} pods may go; {self._rounds} rounds\n"
        )
        rows = [
            Row("evictions answered a second", ours.rate, plain.rate, count),
            Row("median", ours.percentile(0.5), plain.percentile(0.5), seconds),
            Row("p99", ours.percentile(0.99), plain.percentile(0.99), seconds),
            Row("longest", max(ours.latencies), max(plain.latencies), seconds),
            Row("answers 201", ours.codes[201], plain.codes[201], count),
            Row("answers 429", ours.codes[429], plain.codes[429], count),
            Row("answers 409", ours.codes[409], plain.codes[409], count, compared=False),
        ]
        print(table.render(rows, "in groups", "in pods"))
        asked = len(ours.latencies)
        print(
            f"\nCPU of both replicas: {milliseconds(self._cpu / asked)} an eviction; "
            f"recounts written: {self._recounts:.0f} for {asked} evictions\n"
        )
        others = sum(ours.codes.values()) - ours.codes[201] - ours.codes[429]
        slowness = ours.percentile(0.99) / plain.percentile(0.99)
        verdicts = [
            Bar("rate, compared with pods", ours.rate / plain.rate, RATE_BAR, ratio, True),
            Bar("p99, compared with pods", slowness, P99_BAR, ratio),
            Bar("answers other than 201 and 429", others, 0, count),
        ]
        print(bars.render(verdicts))
        return conclude(passed=all(bar.passed for bar in verdicts))


def _pod_name(number: int) -> str:
    return f"llm-{number // SIZE}-{number % SIZE}"


async def _fill(client: Client, namespace: str, groups: int) -> None:
    """Ready pods without an owner: nothing brings them back."""
    await client.create(_NAMESPACES, {"metadata": {"name": namespace}})
    with suppress(AlreadyExists):  # the controller manager makes it as well
        await client.create(_ACCOUNTS, {"metadata": {"name": "default"}}, namespace)

    async def one(number: int) -> None:
        body, name = pod(number), _pod_name(number)
        labels = {"app": "llm", _GROUP: f"llm-{number // SIZE}"}
        body["metadata"] |= {"name": name, "namespace": namespace, "labels": labels}
        del body["metadata"]["ownerReferences"]
        await client.create(_ALL_PODS, body, namespace, field_manager="kube-controller-manager")
        patch = {"status": status(number)}
        await client.patch(
            _ALL_PODS, patch, name, namespace, subresource="status", field_manager="kubelet"
        )

    await all_of(range(groups * SIZE), one)


async def _protect(
    client: Client, namespace: str, min_available: int, *, in_groups: bool = False
) -> None:
    meta: dict[str, object] = {"name": _BUDGET}
    if in_groups:
        meta["labels"] = {"intact.dev/budget-scope": "Workload"}
        meta["annotations"] = {
            "intact.dev/group-label-key": _GROUP,
            "intact.dev/min-ready-replicas": str(SIZE),
        }
    spec = {"minAvailable": min_available, "selector": {"matchLabels": {"app": "llm"}}}
    await client.create(_ALL_PDBS, {"metadata": meta, "spec": spec}, namespace)


async def _until(
    client: Client,
    namespace: str,
    condition: Callable[[PodDisruptionBudget], bool],
    within: float = 120,
) -> None:
    found: PodDisruptionBudget | None = None
    try:
        async with asyncio.timeout(within):
            while True:
                with suppress(NotFound):
                    found = await client.get(PDBS, _BUDGET, namespace)
                    if condition(found):
                        return
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise BenchError(f"the budget is wrong after {within:.0f} s: {found}") from None


def _cpu(operators: Sequence[OperatorProcess]) -> float:
    return sum(usage(operator.process.pid).cpu for operator in operators)


def _recounts(operators: Sequence[OperatorProcess]) -> float:
    return sum(operator.metrics()[_WRITES] for operator in operators)


if __name__ == "__main__":
    sys.exit(main())
