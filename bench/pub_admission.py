"""Deletes under a PodUnavailableBudget, compared with the same deletes without a webhook.

Two operators of Intact, one real API server. See docs/benchmarks.md.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bench import bars, table
from bench.bars import Bar
from bench.child import BenchError
from bench.output import conclude, progress
from bench.pub_setup import all_of, fill, gate_options, pod_name, protect, until_all, works
from bench.table import Row, count, milliseconds, ratio, seconds
from bench.usage import usage
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.errors import DevclusterError
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.resources import PODS, PUBS
from intact.kube.transport import Request, Transport

RATE_BAR = 0.5
P99_BAR = 0.25
WRITES_BAR = 0.2
_BUDGET = "set-0"
_WRITERS = ("intact_gate_commits_total", "intact_recount_writes_total")


@dataclass(slots=True)
class Deletes:
    """The deletes of all rounds, with or without a budget."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass(slots=True)
class Writes:
    stored: int = 0
    """Versions of the budget from the first delete until the counts have settled, from a watch."""
    commits: float = 0
    recounts: float = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deletes", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    if min(arguments.deletes, arguments.at_once, arguments.rounds) < 1:
        parser.error("at least one delete, one at once and one round are needed")
    bench = Bench(arguments.deletes, arguments.at_once, arguments.rounds)
    try:
        # No controller, scheduler or kubelet: only the load changes the cluster.
        with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
            asyncio.run(bench.run(cluster))
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    return bench.report()


class Bench:
    def __init__(self, deletes: int, at_once: int, rounds: int) -> None:
        self._deletes = deletes
        self._at_once = at_once
        self._rounds = rounds
        self._gated = Deletes()
        self._free = Deletes()
        self._writes = Writes()
        self._cpu = 0.0
        """Seconds, of both replicas, until the counts have settled."""

    async def run(self, cluster: Cluster) -> None:
        ports = Ports()
        bind = f"127.0.0.1:{ports.reserve()}"
        transport = HttpTransport(from_kubeconfig([cluster.kubeconfig]))
        with ExitStack() as stack:
            stack.callback(ports.release)
            operators = [
                stack.enter_context(
                    OperatorProcess(
                        cluster.kubeconfig,
                        cluster.logs / f"intact-{number}.log",
                        *gate_options(bind),
                    )
                )
                for number in range(2)
            ]
            for operator in operators:
                operator.wait_ready()
            async with Client(transport) as client:
                await self._warm_up(client, transport)
                for number in range(self._rounds):
                    progress(f"round {number + 1} of {self._rounds}")
                    await self._round(client, transport, operators, number)

    async def _warm_up(self, client: Client, transport: Transport) -> None:
        """Open the connections of API server, operators and load before the measurement."""
        await fill(client, "warm", 1, 2 * self._at_once)
        await protect(client, "warm", 0, "50%")
        await until_all(client, "warm", works)
        await _delete(transport, "warm", range(self._at_once), self._at_once, Deletes())

    async def _round(
        self,
        client: Client,
        transport: Transport,
        operators: Sequence[OperatorProcess],
        number: int,
    ) -> None:
        free, gated = f"free-{number}", f"gated-{number}"
        for namespace in (free, gated):
            await fill(client, namespace, 1, 2 * self._deletes)
        await protect(client, gated, 0, "50%")
        await until_all(
            client,
            gated,
            lambda pub: works(pub) and pub.status.unavailable_allowed == self._deletes,
        )
        # They take turns to go first: the second one also pays for the garbage that the first one
        # left in the API server.
        contestants = [
            self._without(transport, free),
            self._with(client, transport, operators, gated),
        ]
        for contestant in contestants if number % 2 else reversed(contestants):
            await contestant

    async def _without(self, transport: Transport, namespace: str) -> None:
        await _delete(transport, namespace, range(self._deletes), self._at_once, self._free)

    async def _with(
        self,
        client: Client,
        transport: Transport,
        operators: Sequence[OperatorProcess],
        namespace: str,
    ) -> None:
        before = [_written(operators, name) for name in _WRITERS]
        used = _cpu(operators)
        wanted = range(self._deletes)
        async with _versions(client, namespace) as versions:
            await _delete(transport, namespace, wanted, self._at_once, self._gated)
            await until_all(
                client,
                namespace,
                lambda pub: (
                    pub.status.current_available == self._deletes and not pub.status.ledger.pods
                ),
            )
        self._cpu += _cpu(operators) - used
        self._writes.stored += len(versions)
        commits, recounts = (
            _written(operators, name) - was for name, was in zip(_WRITERS, before, strict=True)
        )
        self._writes.commits += commits
        self._writes.recounts += recounts
        await self._check(client, transport, namespace)

    async def _check(self, client: Client, transport: Transport, namespace: str) -> None:
        """Check that exactly the budget is spent: all admitted pods are terminating, and every
        further delete is denied."""
        pods = (await client.list(PODS, namespace)).items
        going = sum(pod.metadata.deletion_timestamp is not None for pod in pods)
        if going != self._deletes:
            raise BenchError(f"{going} pods are terminating, but {self._deletes} were admitted")
        beyond = Deletes()
        more = range(self._deletes, self._deletes + self._at_once)
        await _delete(transport, namespace, more, self._at_once, beyond)
        if set(beyond.codes) != {429}:
            raise BenchError(f"deletes beyond the budget got {sorted(set(beyond.codes))}, not 429")

    def report(self) -> int:
        gated, free = self._gated, self._free
        for name, deletes in (("with a budget", gated), ("without a budget", free)):
            if set(deletes.codes) != {200}:
                print(f"FAIL: deletes {name} got {sorted(set(deletes.codes))}, not 200")
                return 1
        print(
            f"\n{self._deletes} deletes, {self._at_once} at once, of {2 * self._deletes} pods "
            f"under one budget of 50%; {self._rounds} rounds\n"
        )
        rows = [
            Row("deletes a second", gated.rate, free.rate, count),
            Row("median", gated.percentile(0.5), free.percentile(0.5), whole_milliseconds),
            Row("p99", gated.percentile(0.99), free.percentile(0.99), whole_milliseconds),
            Row("longest", max(gated.latencies), max(free.latencies), whole_milliseconds),
        ]
        print(table.render(rows, "Intact", "no webhook"))
        writes = self._writes
        share = writes.stored / len(gated.codes)
        print(
            f"\nstatus writes: {writes.stored} for {len(gated.codes)} admissions "
            f"({writes.commits:.0f} by the gates, {writes.recounts:.0f} by the recount)\n"
            f"CPU of both replicas: {milliseconds(self._cpu / len(gated.codes))} an admission\n"
        )
        verdicts = [
            Bar("rate, compared with no webhook", gated.rate / free.rate, RATE_BAR, ratio, True),
            Bar("p99", gated.percentile(0.99), P99_BAR, seconds),
            Bar("status writes per admission", share, WRITES_BAR, ratio),
        ]
        print(bars.render(verdicts))
        return conclude(passed=all(bar.passed for bar in verdicts))


async def _delete(
    transport: Transport, namespace: str, numbers: Iterable[int], at_once: int, into: Deletes
) -> None:
    async def one(number: int) -> None:
        request = Request("DELETE", PODS.path(namespace, pod_name(number)))
        begun = time.perf_counter()
        answer = await transport.send(request)
        into.latencies.append(time.perf_counter() - begun)
        into.codes.append(answer.status)

    begun = time.perf_counter()
    await all_of(numbers, one, at_once)
    into.seconds += time.perf_counter() - begun


@asynccontextmanager
async def _versions(client: Client, namespace: str) -> AsyncGenerator[set[str], None]:
    """All versions of the budget that are stored during the block."""
    found = await client.get(PUBS, _BUDGET, namespace)
    seen: set[str] = set()

    async def follow() -> None:
        version = found.metadata.resource_version
        async with client.watch(PUBS, namespace, resource_version=version) as events:
            async for event in events:
                if event.object is not None:
                    seen.add(event.resource_version)

    following = asyncio.create_task(follow())
    try:
        yield seen
        last = (await client.get(PUBS, _BUDGET, namespace)).metadata.resource_version
        async with asyncio.timeout(30):
            while last not in seen:
                await asyncio.sleep(0.01)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _written(operators: Sequence[OperatorProcess], name: str) -> float:
    return sum(operator.metrics()[name] for operator in operators)


def _cpu(operators: Sequence[OperatorProcess]) -> float:
    return sum(usage(operator.process.pid).cpu for operator in operators)


def whole_milliseconds(value: float) -> str:
    return f"{value * 1000:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
