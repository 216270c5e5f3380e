"""Karpenter replaces all nodes under groups: a budget in groups costs fewer outages than one in
pods, and no two groups are down at once."""

import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import pytest

from tests.support.group_budgets import Budget, groups_pdb, groups_pub, pods_pdb
from tests.support.namespace_under_test import NamespaceUnderTest, Watched, groups_down
from tests.support.node_pool import SIZE, NodePool, create_groups
from tests.support.objects import Json

log = logging.getLogger(__name__)

GROUPS = "abcdef"
LIFETIME = "75s"
"""Of nodes that expire: long enough to create the groups and their budget."""


@dataclass(frozen=True)
class Seen:
    """What the replacement of all nodes did to the groups."""

    worst: int
    """Groups that were down at one moment, at most."""
    outages: int
    """How often a group went down, in all."""
    seconds: float
    """From the first pod that went until all were ready again."""

    def __str__(self) -> str:
        return f"{self.worst} down at worst, {self.outages} outages, {self.seconds:.0f} s"


def told(watched: Watched, need: Mapping[str, int]) -> Seen:
    down = [groups_down(state, "group", need) for state in watched.states]
    assert not down[0]
    assert not down[-1]
    outages = sum(len(now - before) for before, now in itertools.pairwise(down))
    times = [time for time, groups in zip(watched.times, down, strict=True) if groups]
    return Seen(max(map(len, down)), outages, times[-1] - times[0])


async def replaced(
    ns: NamespaceUnderTest, pool: NodePool, budget: Budget, begin: Callable[[], Awaitable[None]]
) -> Seen:
    """Six groups on four nodes, until all of these nodes are gone and all pods are ready again."""
    need = await create_groups(ns, GROUPS)
    await ns.running(len(GROUPS) * SIZE)
    first = set(await pool.nodes())
    assert len(first) == SIZE
    await budget(ns, len(GROUPS))
    assert not await pool.going(), "the nodes went before all was ready"
    async with ns.watched() as watched:
        await begin()
        await pool.until("all first nodes to go", lambda now: not first & set(now))
        await ns.running(len(GROUPS) * SIZE)
    await pool.remove()
    return told(watched, need)


async def drift(
    ns: NamespaceUnderTest, pool: NodePool, budget: Budget, nodes: str = "100%"
) -> Seen:
    """`nodes` of the pool may be replaced at once."""
    await pool.create(budgets=[{"nodes": nodes}])
    return await replaced(ns, pool, budget, pool.drift)


async def expiry(ns: NamespaceUnderTest, pool: NodePool, budget: Budget) -> Seen:
    # Budgets of a NodePool do not hold expiry. They hold that the nodes drift, as they do since
    # their own successors do not expire.
    await pool.create(budgets=[{"nodes": "0"}], expireAfter=LIFETIME)
    later: Json = {"template": {"spec": {"expireAfter": "Never"}}}
    return await replaced(ns, pool, budget, lambda: pool.change(later))


Way = Callable[[NamespaceUnderTest, NodePool, Budget], Awaitable[Seen]]


@pytest.mark.parametrize("way", [drift, expiry])
async def test_groups_go_one_at_a_time(ns: NamespaceUnderTest, pool: NodePool, way: Way) -> None:
    seen = {}
    for budget in (pods_pdb, groups_pdb, groups_pub):
        seen[budget] = await way(ns, pool, budget)
        log.info("%s, %s: %s", way.__name__, budget.__name__, seen[budget])
    assert seen[pods_pdb].worst > 1
    for budget in (groups_pdb, groups_pub):
        assert seen[budget].worst == 1
        assert seen[budget].outages < seen[pods_pdb].outages


async def test_node_by_node_every_group_breaks_at_every_node(
    ns: NamespaceUnderTest, pool: NodePool
) -> None:
    """What a NodePool budget of one node costs."""
    seen = await drift(ns, pool, groups_pub, nodes="1")
    log.info("drift node by node, groups_pub: %s", seen)
    assert seen.worst == 1
    assert seen.outages > len(GROUPS)
