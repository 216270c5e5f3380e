"""At the end of a `terminationGracePeriod` Karpenter deletes what is left on a node. A
PodUnavailableBudget holds its pods until then, or for ever. A PodDisruptionBudget holds no
deletion."""

import itertools
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pytest

from intact.budget.pub.node_deadline import KARPENTER_DEADLINE
from intact.kube.resources import PUBS
from intact.model.times import parse_time
from tests.support.group_budgets import NAME, Budget, groups_pdb, groups_pub
from tests.support.namespace_under_test import NamespaceUnderTest, State, eventually, groups_down
from tests.support.node_pool import LABELS, SIZE, NodePool, create_groups, group_set
from tests.support.objects import PODS, STATEFUL_SETS, Json

log = logging.getLogger(__name__)

PERIOD = "20s"
PODS_ON_NODE = ("a-0", "b-0", "c-0")


async def one_node(ns: NamespaceUnderTest, pool: NodePool, **annotations: str) -> str:
    """Three pods on a node with a `terminationGracePeriod`; none of them may go. The node."""
    await pool.create(terminationGracePeriod=PERIOD)
    for name in "abc":
        await ns.create(STATEFUL_SETS, group_set(name, name, ns.name, replicas=1))
    await ns.running(3)
    [node] = await pool.nodes()
    none = {"selector": {"matchLabels": LABELS}, "maxUnavailable": 0}
    await ns.budget(none, NAME, annotations=annotations, total_replicas=3)
    return node


async def deadline(pool: NodePool, node: str) -> datetime:
    """When Karpenter wants the node to be empty, once it has said so."""

    async def look() -> str:
        claim = (await pool.claims())[node]
        return str(claim["metadata"]["annotations"].get(KARPENTER_DEADLINE, ""))

    return parse_time(await eventually(look, bool, "a deadline"))


def is_going(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def asked(pod: Json) -> datetime:
    """When the deletion was asked for that a pod terminates by."""
    grace = timedelta(seconds=pod["metadata"]["deletionGracePeriodSeconds"])
    return parse_time(pod["metadata"]["deletionTimestamp"]) - grace


async def test_a_node_is_held_until_its_deadline(ns: NamespaceUnderTest, pool: NodePool) -> None:
    node = await one_node(ns, pool)
    async with ns.watched() as watched:
        await pool.delete_claim(node)
        at = await deadline(pool, node)
        [held] = await pool.events(node, "DisruptionDenied")
        await pool.until("the node to go", lambda now: node not in now)
    going: dict[str, Json] = {}
    for pod in (one for state in watched.states for one in state.values()):
        if is_going(pod):
            going.setdefault(pod["metadata"]["name"], pod)
    assert set(going) == set(PODS_ON_NODE)
    assert min(map(asked, going.values())) >= at
    # Not GRACE: Karpenter had asked for so much before the deadline, in vain.
    assert {pod["metadata"]["deletionGracePeriodSeconds"] for pod in going.values()} == {1}
    assert f"node {node} must be empty by" in held["message"]
    for name in PODS_ON_NODE:
        await ns.events("Pod", name, "DisruptionDenied")
        await ns.events("Pod", name, "NodeDeadlinePassed")
    await ns.events("PodUnavailableBudget", NAME, "NodeDeadlinePassed")
    await pool.events(node, "NodeDeadlinePassed")


async def test_a_budget_holds_its_pods_past_the_deadline(
    ns: NamespaceUnderTest, pool: NodePool
) -> None:
    node = await one_node(ns, pool, **{"intact.dev/node-deadlines": "Ignore"})
    before = await uids(ns)
    await pool.delete_claim(node)
    at = await deadline(pool, node)

    async def look() -> list[Json]:
        return await pool.events(node, "DisruptionDenied")

    def is_past(found: list[Json]) -> bool:
        return any(parse_time(one["lastTimestamp"]) > at for one in found)

    found = await eventually(look, is_past, "an event after the deadline", within=180)
    assert any("which this budget ignores" in one["message"] for one in found)
    assert await uids(ns) == before
    assert node in await pool.nodes()
    respect = {"metadata": {"annotations": {"intact.dev/node-deadlines": "Respect"}}}
    await ns.client.patch(PUBS, respect, NAME, ns.name)
    await pool.until("the node to go", lambda now: node not in now)


async def uids(ns: NamespaceUnderTest) -> set[str]:
    """Of the pods that are not terminating."""
    found = (await ns.client.list(PODS, ns.name)).items
    return {one["metadata"]["uid"] for one in found if not is_going(one)}


@pytest.mark.parametrize("budget", [groups_pdb, groups_pub])
async def test_nodes_with_one_deadline(
    ns: NamespaceUnderTest, pool: NodePool, budget: Budget
) -> None:
    """It comes before the groups can go one by one. Karpenter deletes pods so long before it as
    they may take to end."""
    await pool.create(terminationGracePeriod=PERIOD)
    need = await create_groups(ns, "abcdef")
    await ns.running(6 * SIZE)
    await budget(ns, 6)
    first = await pool.nodes()
    async with ns.watched() as watched:
        for node in first:
            await pool.delete_claim(node)
        at = min([await deadline(pool, node) for node in first])
        await pool.until("all first nodes to go", lambda now: not set(first) & set(now))
    before = list(itertools.takewhile(lambda state: not over(state, at), watched.states))
    early, late = worst(before, need), worst(watched.states, need)
    what = "terminationGracePeriod %s, %s: %d of 6 groups down before the deadline, %d at last"
    log.info(what, PERIOD, budget.__name__, early, late)
    assert late > 1
    assert (early > 1) == (budget is groups_pdb)


def over(state: State, at: datetime) -> bool:
    """Whether a pod goes whose deletion was asked for at the deadline, or after it."""
    return any(is_going(pod) and asked(pod) >= at for pod in state.values())


def worst(states: Sequence[State], need: Mapping[str, int]) -> int:
    return max(len(groups_down(state, "group", need)) for state in states)
