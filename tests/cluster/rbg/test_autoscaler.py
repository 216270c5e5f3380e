"""A HorizontalPodAutoscaler of a role, through the scaling adapter of the role."""

import pytest

from intact.kube.resources import untyped
from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import (
    GROUPS,
    change,
    group_until,
    role_pods,
    settled,
)

AUTOSCALERS = untyped("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")


@pytest.fixture
def intact_cluster(cluster_with_account: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_account


async def seen_by_autoscaler(ns: NamespaceUnderTest, replicas: int) -> dict[str, str]:
    """Wait until the autoscaler has seen so many replicas; its conditions."""

    async def look() -> Json:
        found: Json = await ns.client.get(AUTOSCALERS, "llm-prefill", ns.name)
        status: Json = found["status"]
        return status

    found = await eventually(
        look,
        lambda one: one.get("currentReplicas") == replicas,
        f"it to see {replicas} replicas",
    )
    return {one["type"]: one["status"] for one in found["conditions"]}


async def ready(ns: NamespaceUnderTest, replicas: int) -> RoleBasedGroup:
    return await group_until(
        ns,
        "llm",
        lambda one: settled(one) and one.status.role_statuses[0].desired == replicas,
        f"{replicas} of the role to be ready",
    )


@pytest.mark.parametrize("own", [2, None], ids=["number in the group", "number in the adapter"])
async def test_the_bounds_of_an_autoscaler_scale_a_role(
    ns: NamespaceUnderTest, own: int | None
) -> None:
    """There are no metrics here; the autoscaler applies its bounds all the same."""
    await ns.create(GROUPS, group("llm", role("prefill", own), role("decode", 1)))
    await ready(ns, own or 1)
    before = {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")}
    code, said = await ns.kubectl(
        "autoscale", "rbgsa/llm-prefill", "--min=4", "--max=6", "--cpu=50%"
    )
    assert code == 0, said

    found = await ready(ns, 4)
    assert [one.replicas for one in found.spec.roles] == [own and 4, 1]
    assert before < {one["metadata"]["uid"] for one in await role_pods(ns, "prefill")}
    conditions = await seen_by_autoscaler(ns, 4)
    assert (conditions["AbleToScale"], conditions["ScalingActive"]) == ("True", "False")

    bounds = {"spec": {"minReplicas": 1, "maxReplicas": 3}}
    await ns.client.patch(AUTOSCALERS, bounds, "llm-prefill", ns.name)
    await ready(ns, 3)
    assert (await seen_by_autoscaler(ns, 3))["AbleToScale"] == "True"


async def test_the_group_sets_the_replicas_within_the_bounds_of_the_autoscaler(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, group("llm", role("prefill", 2)))
    await ready(ns, 2)
    code, said = await ns.kubectl(
        "autoscale", "rbgsa/llm-prefill", "--min=1", "--max=6", "--cpu=50%"
    )
    assert code == 0, said
    await seen_by_autoscaler(ns, 2)
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 5}])
    await ready(ns, 5)
    assert (await seen_by_autoscaler(ns, 5))["AbleToScale"] == "True"
