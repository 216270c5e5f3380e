"""Each controller by itself, with exactly the rights that its manifests give it: they are enough.

`test_account.py` has all controllers together, where one may use the rights of another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from intact.budget.pub.node_deadline import DRAIN_DEADLINE
from tests.support.cluster_with_account import ClusterWithAccount
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import NODES, PDBS, Json
from tests.support.pub_cases import target
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_waiting import GROUPS, change, completed, group_settled, group_until


async def pub(ns: NamespaceUnderTest) -> None:
    """Counts by the scale of an owner, holds, and lets go at the deadline of a node."""
    code, said = await ns.kubectl("create", "deployment", "web", "--image=x", "--replicas=3")
    assert code == 0, said
    pods = await ns.until("three pods", lambda found: len(found) == 3)
    await ns.budget(target(), total_replicas=3, unavailable_allowed=1)
    one, two, three = pods
    assert (await ns.delete(one)).code == 200
    assert (await ns.evict(two)).code == 429
    node = pods[three]["spec"]["nodeName"]
    owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "c", "uid": "c"}
    past = {"annotations": {DRAIN_DEADLINE: "2026-01-31T12:00:00Z"}, "ownerReferences": [owner]}
    await ns.client.patch(NODES, {"metadata": past}, node)
    assert (
        await eventually(lambda: ns.evict(three), lambda found: found.code == 201, "the deadline")
    ).code == 201


async def pdb(ns: NamespaceUnderTest) -> None:
    """Counts groups, denies a second one, and gives the budget back to the stock controller."""
    for shard in ("a", "b"):
        await ns.pods(f"{shard}-0", f"{shard}-1", labels={"shard": shard})
    await ns.create(PDBS, _budget_of_shards())

    async def allowed() -> int:
        found = await ns.client.get(PDBS, "shards", ns.name)
        return int(found["status"].get("disruptionsAllowed", -1))

    await eventually(allowed, lambda found: found == 2, "both pods of one group to be free")
    assert (await ns.evict("a-0")).code == 201
    denied = await ns.evict("b-0")
    assert denied.code == 429, denied
    code, said = await ns.kubectl("label", "pdb", "shards", "intact.dev/budget-scope-")
    assert code == 0, said

    async def status() -> Json:
        found: Json = (await ns.client.get(PDBS, "shards", ns.name))["status"]
        return found

    def in_pods(found: Json) -> bool:
        reasons = {each["reason"] for each in found["conditions"]}
        return "SufficientPods" in reasons and found["disruptionsAllowed"] == 2

    await eventually(status, in_pods, "the count in pods: three, of which one must stay")


def _budget_of_shards() -> Json:
    return {
        "metadata": {
            "name": "shards",
            "labels": {"intact.dev/budget-scope": "Workload"},
            "annotations": {
                "intact.dev/group-label-key": "shard",
                "intact.dev/min-ready-replicas": "2",
            },
        },
        "spec": {
            "minAvailable": 1,
            "selector": {"matchExpressions": [{"key": "shard", "operator": "Exists"}]},
        },
    }


async def disruption(ns: NamespaceUnderTest) -> None:
    """Counts what kube-controller-manager counts elsewhere."""
    code, said = await ns.kubectl("create", "deployment", "web", "--image=x", "--replicas=3")
    assert code == 0, said
    one, two, _ = await ns.until("three pods", lambda found: len(found) == 3)
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await ns.create(PDBS, {"metadata": {"name": "web"}, "spec": spec})

    async def counts() -> tuple[int, int]:
        status = (await ns.client.get(PDBS, "web", ns.name))["status"]
        return status.get("expectedPods", 0), status.get("disruptionsAllowed", 0)

    await eventually(counts, lambda found: found == (3, 1), "the count")
    assert [(await ns.evict(one)).code, (await ns.evict(two)).code] == [201, 429]


async def rbg(ns: NamespaceUnderTest) -> None:
    """Makes workloads, and rolls them out together."""
    rules = rolling("prefill", "router", maxSkew="50%", maxUnavailableRatio="50%")
    roles = (role("prefill", 2), role("router", 2, **kind("Deployment")))
    await ns.create(GROUPS, group("llm", *roles, coordination=[rules]))
    await group_settled(ns)
    new = template("engine:2")
    await change(
        ns,
        [{"op": "replace", "path": f"/spec/roles/{at}/template", "value": new} for at in range(2)],
    )
    await group_until(ns, "llm", completed, "the rollout to be completed")


SCENES: dict[str, Callable[[NamespaceUnderTest], Awaitable[None]]] = {
    "pub": pub,
    "pdb": pdb,
    "disruption": disruption,
    "rbg": rbg,
}


@pytest.fixture(params=SCENES)
def intact_cluster(request: pytest.FixtureRequest) -> Iterator[ClusterWithAccount]:
    failed = request.session.testsfailed
    made = ClusterWithAccount(request.param)
    made.open()
    try:
        yield made
    finally:
        made.close(failed=request.session.testsfailed > failed)


async def test_its_rights_are_enough(
    intact_cluster: ClusterWithAccount, ns: NamespaceUnderTest, request: pytest.FixtureRequest
) -> None:
    await SCENES[request.node.callspec.params["intact_cluster"]](ns)
    await asyncio.sleep(1)  # what it still writes
    assert intact_cluster.forbidden() == []
