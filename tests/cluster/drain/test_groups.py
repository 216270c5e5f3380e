"""`intact drain` on a cluster with Intact: groups go together, and each breaks once."""

import re
import signal

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.intact_drain import breaks, drained, draining, most_down
from tests.support.namespace_under_test import NamespaceUnderTest
from tests.support.objects import STATEFUL_SETS, spread_stateful_set

PER_NODE = 2
SIZE = 3 * PER_NODE
NODES = ("node-0", "node-1")


async def shards(ns: NamespaceUnderTest, count: int, at_once: int = 1) -> dict[str, int]:
    """Create so many groups over three nodes, and a budget; what each group needs."""
    names = [f"shard-{number}" for number in range(count)]
    for name in names:
        labels = {"app": "llm", "test": ns.name}
        await ns.create(STATEFUL_SETS, spread_stateful_set(name, SIZE, "shard", labels))
    await ns.running(SIZE * count)
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": at_once,
        "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": SIZE},
    }
    await ns.budget(spec, "llm", current_available=count, unavailable_allowed=at_once)
    return dict.fromkeys(names, SIZE)


@pytest.mark.parametrize("at_once", [1, 2])
async def test_every_group_breaks_once(ns: NamespaceUnderTest, at_once: int) -> None:
    need = await shards(ns, 4, at_once)
    async with ns.watched() as watched:
        code, said = await drained(ns, *NODES)
        assert code == 0, said
        for node in NODES:
            assert await ns.on_node(node) == []
        await ns.counted("llm", current_available=4)
    assert breaks(watched, "shard", need) == dict.fromkeys(need, 1)
    assert most_down(watched, "shard", need) == at_once
    # Nothing is evicted before both nodes are cordoned, and each pod is evicted once.
    lines = said.splitlines()
    assert lines[:2] == ["node/node-0 cordoned", "node/node-1 cordoned"]
    evicting = [line for line in lines if line.startswith("evicting pod ")]
    assert len(evicting) == len(set(evicting)) == 4 * 2 * PER_NODE
    assert re.fullmatch(rf"evicting pod {ns.name}/shard-\d-\d \(group shard-\d\)", evicting[0])
    assert f"waiting for pub/llm in {ns.name}: {4 - at_once} of 4 groups are available" in said
    assert sum(re.fullmatch(r"pod/shard-\d-\d evicted", line) is not None for line in lines) == 16
    assert {"node/node-0 drained", "node/node-1 drained"} <= set(lines)


async def test_ctrl_c_says_what_is_left_and_the_next_run_goes_on(ns: NamespaceUnderTest) -> None:
    need = await shards(ns, 4)
    async with ns.watched() as watched:
        async with draining(ns, *NODES) as drain:
            await drain.says("waiting for pub/llm")
            drain.signal(signal.SIGINT)
            assert await drain.ended() == 3, drain.said
        assert re.search(
            r"^interrupted: \d+ pods left on node-0, node-1$", drain.said, re.MULTILINE
        )
        assert re.search(
            rf"^  {ns.name}/shard-\d-\d \(group shard-\d\) on node-\d: .*the budget llm requires 3",
            drain.said,
            re.MULTILINE,
        )
        assert drain.lines[-2:] == [
            "The nodes stay cordoned. To go on, run the same command again; to go back:",
            "  kubectl uncordon node-0 node-1",
        ]
        assert await ns.on_node("node-0") != []
        code, said = await drained(ns, *NODES)
        assert (code, await ns.on_node("node-0"), await ns.on_node("node-1")) == (0, [], []), said
        await ns.counted("llm", current_available=4)
    assert said.splitlines()[:2] == ["node/node-0 already cordoned", "node/node-1 already cordoned"]
    assert breaks(watched, "shard", need) == dict.fromkeys(need, 1)
    assert most_down(watched, "shard", need) == 1


@pytest.mark.parametrize("victim", ["drain", "leader", "gate"])
async def test_a_drain_whose_helpers_are_killed_ends_and_breaks_nothing_twice(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, victim: str
) -> None:
    need = await shards(ns, 4)
    async with ns.watched() as watched:
        async with draining(ns, *NODES) as drain:
            await drain.says("waiting for pub/llm")
            if victim == "drain":
                drain.signal(signal.SIGKILL)
                await drain.ended()
            else:
                is_leader = victim == "leader"
                chosen = intact_cluster.leader() if is_leader else intact_cluster.follower()
                chosen.kill()
                assert await drain.ended() == 0, drain.said
        code, said = await drained(ns, *NODES)
        assert (code, await ns.on_node("node-0"), await ns.on_node("node-1")) == (0, [], []), said
        await ns.counted("llm", current_available=4)
    assert breaks(watched, "shard", need) == dict.fromkeys(need, 1)
    assert most_down(watched, "shard", need) == 1
