"""With one group broken, Karpenter begins to replace all nodes and can finish none. A budget of the
NodePool keeps it to one node."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.cluster_with_karpenter import ClusterWithKarpenter
from tests.support.group_budgets import Budget, groups_pdb, groups_pub
from tests.support.namespace_under_test import EVENTS, UNREADY, NamespaceUnderTest, eventually
from tests.support.node_pool import SIZE, NodePool, create_groups, group_set
from tests.support.objects import PODS, STATEFUL_SETS, Json

PAGE = Path(__file__).parents[2] / "docs/beside-others.md"
CONSUMING = "nodes_consuming_budgets"
WHOLE = "abcde"
PODS_OF_WHOLE = {f"{group}-{number}" for group in WHOLE for number in range(SIZE)}


def recommended() -> list[Json]:
    """The budgets of a NodePool that the page shows."""
    [block] = re.findall(r"^```yaml\n(.*?)\n```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return list(yaml.safe_load(block)["spec"]["disruption"]["budgets"])


async def one_broken(ns: NamespaceUnderTest, budget: Budget) -> None:
    """Five groups, and one that never gets its fourth pod ready, on four nodes."""
    await create_groups(ns, WHOLE)
    broken = group_set("f-bad", "f", ns.name, replicas=1, annotations={UNREADY: "true"})
    await ns.create(STATEFUL_SETS, broken)
    await ns.create(STATEFUL_SETS, group_set("f", "f", ns.name, replicas=SIZE - 1))
    await ns.running(6 * SIZE - 1)
    await ns.until("its pod to run", lambda pods: "nodeName" in pods["f-bad-0"]["spec"])
    await budget(ns, 6)


async def mend(ns: NamespaceUnderTest) -> None:
    annotations = {"metadata": {"annotations": {UNREADY: None}}}
    await ns.client.patch(STATEFUL_SETS, {"spec": {"template": annotations}}, "f-bad", ns.name)


async def uids(ns: NamespaceUnderTest) -> dict[str, str]:
    """Of the pods of whole groups."""
    found = {one["metadata"]["name"]: one for one in (await ns.client.list(PODS, ns.name)).items}
    return {name: found[name]["metadata"]["uid"] for name in PODS_OF_WHOLE}


async def refused(ns: NamespaceUnderTest) -> set[str]:
    """The pods that Intact has told of."""
    page = await ns.client.list(EVENTS, ns.name, fields="reason=DisruptionDenied")
    return {one["involvedObject"]["name"] for one in page.items}


@pytest.mark.parametrize("budget", [groups_pdb, groups_pub])
async def test_all_nodes_are_begun_and_none_can_be_finished(
    ns: NamespaceUnderTest, pool: NodePool, budget: Budget
) -> None:
    await pool.create(budgets=[{"nodes": "100%"}])
    await one_broken(ns, budget)
    first, before = set(await pool.nodes()), await uids(ns)
    await pool.drift()
    await eventually(pool.going, lambda now: now == first, "all nodes to be drained", within=180)
    what = "every pod of whole groups to be refused"
    await eventually(lambda: refused(ns), lambda found: found >= PODS_OF_WHOLE, what, within=180)
    assert await uids(ns) == before
    for node in first:
        await pool.events(node, "DisruptionDenied")
    nodes = set(await pool.nodes())
    assert first < nodes
    assert len(nodes) == 2 * SIZE
    await mend(ns)
    await pool.until("all first nodes to go", lambda now: not first & set(now))


async def test_a_node_pool_budget_keeps_it_to_one_node(
    ns: NamespaceUnderTest, pool: NodePool, intact_cluster: ClusterWithKarpenter
) -> None:
    await pool.create(budgets=recommended())
    await one_broken(ns, groups_pdb)
    first = set(await pool.nodes())
    labels = f'nodepool="{pool.name}",reason="Drifted"'

    async def counted() -> float | None:
        """Nodes that use up the budget, as Karpenter saw when it last looked for drifted ones."""
        return intact_cluster.karpenter_metric(f"karpenter_nodepools_{CONSUMING}{{{labels}}}")

    assert await counted() is None
    await pool.drift()
    [node] = await eventually(pool.going, bool, "a node to be drained", within=180)
    await eventually(counted, lambda now: now == 1, "Karpenter to look again", within=180)
    assert await pool.going() == {node}
    assert len(await pool.nodes()) == SIZE + 1
    await mend(ns)
    await pool.until("all first nodes to go", lambda now: not first & set(now))
