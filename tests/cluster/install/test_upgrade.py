"""An upgrade from the last release, and the way back, each under a running drain: replica by
replica, as a Deployment does it. Nothing is overspent, and nothing stays stuck."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster.operator_process import OperatorProcess
from devcluster.waiting import wait_for
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.earlier_release import earlier_source
from tests.support.namespace_under_test import (
    UNREADY,
    WITHIN,
    NamespaceUnderTest,
    State,
    Watched,
    groups_down,
    is_available,
)
from tests.support.objects import STATEFUL_SETS, spread_stateful_set
from tests.support.pdb_groups import Groups

SHARDS = [f"shard-{number}" for number in range(4)]
SIZE = 6
"""Two on each node."""
NEED = dict.fromkeys(SHARDS, SIZE)


class ClusterToUpgrade(ClusterWithIntact):
    def __init__(self, source: Path) -> None:
        super().__init__()
        self._earlier = source
        self.source: Path | None = source
        """Of the replicas that are started from now on; None for the present ones."""

    def start(self, log: Path) -> OperatorProcess:
        options = ("--install", f"--webhook-bind={self.bind}")
        return OperatorProcess(self.cluster.kubeconfig, log, *options, source=self.source)

    def choose(self, *, earlier: bool) -> None:
        self.source = self._earlier if earlier else None

    def begin(self, *, earlier: bool) -> None:
        """All replicas are of one version."""
        self.choose(earlier=earlier)
        self.stop()
        self.restore()

    async def add_one(self) -> None:
        """The next replica is ready before the oldest ends, as `maxUnavailable: 0` has it."""
        self._started += 1
        fresh = self.start(self.cluster.logs / f"intact-{self._started}.log")
        await asyncio.to_thread(
            wait_for, fresh.is_ready, "the next replica to be ready", timeout=120
        )
        self.operators.append(fresh)

    async def end_oldest(self) -> None:
        oldest = self.operators.pop(0)
        oldest.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(oldest.process.wait, 60) == 0


@pytest.fixture(scope="module")
def intact_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterWithIntact]:
    found = ClusterToUpgrade(earlier_source(tmp_path_factory.mktemp("earlier")))
    found.open()
    try:
        yield found
    finally:
        found.close(failed=request.session.testsfailed > 0)


async def make_shards(ns: NamespaceUnderTest, labels: dict[str, str]) -> None:
    """New pods are ready once the test lets them."""
    for name in SHARDS:
        body = spread_stateful_set(name, SIZE, "shard", labels | {"test": ns.name})
        body["spec"]["template"]["metadata"]["annotations"] = {UNREADY: "true"}
        await ns.create(STATEFUL_SETS, body)
    async with ns.watched() as watched:
        await let_ready(ns, watched, set(SHARDS), all_serve)


async def let_ready(
    ns: NamespaceUnderTest, watched: Watched, groups: set[str], until: Callable[[State], bool]
) -> None:
    """Let the pods of these groups be ready until the condition holds."""
    async with asyncio.timeout(2 * WITHIN):
        while not until(watched.states[-1]):
            for one in watched.states[-1].values():
                meta = one["metadata"]
                held = UNREADY in meta.get("annotations", {})
                if held and meta.get("labels", {}).get("shard") in groups:
                    assert (await ns.annotate(meta["name"], {UNREADY: None})).code == 200
            await asyncio.sleep(0.1)


def all_serve(state: State) -> bool:
    return sum(map(is_available, state.values())) == SIZE * len(SHARDS)


async def drained_meanwhile(
    cluster: ClusterToUpgrade, ns: NamespaceUnderTest, *, earlier: bool
) -> Watched:
    """Drain a node while both replicas are replaced, one after the other. The drain takes one group
    beside each new replica, and waits before the next, however long a replica takes to start."""
    names = await ns.on_node("node-0")
    cluster.choose(earlier=earlier)
    async with ns.watched() as watched, ns.drain("node-0") as drain:

        def taken_groups(state: State) -> set[str]:
            uids, first = watched.taken(state), watched.states[0]
            return {first[uid]["metadata"]["labels"]["shard"] for uid in uids}

        await watched.until(lambda state: len(taken_groups(state)) == 1)
        for count in (2, 3):
            await cluster.add_one()
            broken = taken_groups(watched.states[-1])
            assert len(broken) == count - 1
            await let_ready(ns, watched, broken, lambda state: taken_groups(state) != broken)  # noqa: B023
            # The earlier release closes idle connections just as a request may come.
            await drain.between_rounds(watched, names)
            assert await ns.on_node("node-0") != []
            await cluster.end_oldest()

        def drained_and_whole(state: State) -> bool:
            return len(watched.taken(state)) == len(names) and all_serve(state)

        await let_ready(ns, watched, set(SHARDS), drained_and_whole)
        assert await drain.ended() == 0, drain.said
    assert await ns.on_node("node-0") == []
    return watched


def check(watched: Watched) -> None:
    down = [groups_down(state, "shard", NEED) for state in watched.states]
    assert set().union(*down) == set(NEED)
    assert max(map(len, down)) == 1


@pytest.mark.parametrize("earlier", [False, True], ids=["forward", "back"])
async def test_a_group_budget_holds(
    intact_cluster: ClusterToUpgrade, ns: NamespaceUnderTest, earlier: bool
) -> None:
    intact_cluster.begin(earlier=not earlier)
    await make_shards(ns, {"app": "llm"})
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": SIZE},
    }
    await ns.budget(spec, current_available=4, unavailable_allowed=1)
    check(await drained_meanwhile(intact_cluster, ns, earlier=earlier))
    await ns.counted(current_available=4, unavailable_allowed=1)
    assert (await ns.delete("shard-0-0")).code == 200
    assert (await ns.delete("shard-1-0")).code == 429


@pytest.mark.parametrize("earlier", [False, True], ids=["forward", "back"])
async def test_a_pdb_in_groups_holds(
    intact_cluster: ClusterToUpgrade, ns: NamespaceUnderTest, groups: Groups, earlier: bool
) -> None:
    intact_cluster.begin(earlier=not earlier)
    await make_shards(ns, groups.labels)
    by_label = {"intact.dev/group-label-key": "shard", "intact.dev/min-ready-replicas": str(SIZE)}
    await groups.budget(annotations=by_label, maxUnavailable=1)
    await groups.counted(allowed=1, healthy=4)
    check(await drained_meanwhile(intact_cluster, ns, earlier=earlier))
    await groups.counted(allowed=1, healthy=4)
    assert (await ns.evict("shard-0-0")).code == 201
    assert (await ns.evict("shard-1-0")).code == 429
