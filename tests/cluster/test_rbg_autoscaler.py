"""The autoscaler of Kubernetes on a role, through the role's scaling adapter."""

import pytest

from intact.kube.resources import untyped
from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_account import account_house
from tests.support.namespace_under_test import NamespaceUnderTest, eventually, open_space
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

house = pytest.fixture(account_house)
space = pytest.fixture(open_space)


async def seen_by_autoscaler(space: NamespaceUnderTest, replicas: int) -> dict[str, str]:
    """Wait until it has seen so many. Its conditions."""

    async def look() -> Json:
        found: Json = await space.client.get(AUTOSCALERS, "llm-prefill", space.namespace)
        status: Json = found["status"]
        return status

    found = await eventually(
        look, lambda one: one.get("currentReplicas") == replicas, f"it to see {replicas}"
    )
    return {one["type"]: one["status"] for one in found["conditions"]}


async def ready(space: NamespaceUnderTest, replicas: int) -> RoleBasedGroup:
    return await group_until(
        space,
        "llm",
        lambda one: settled(one) and one.status.role_statuses[0].desired == replicas,
        f"{replicas} of the role to be ready",
    )


@pytest.mark.parametrize("own", [2, None], ids=["number in the group", "number in the adapter"])
async def test_an_autoscaler_drives_a_role(space: NamespaceUnderTest, own: int | None) -> None:
    """There are no metrics here. Its bounds hold all the same."""
    await space.create(GROUPS, group("llm", role("prefill", own), role("decode", 1)))
    await ready(space, own or 1)
    before = {one["metadata"]["uid"] for one in await role_pods(space, "prefill")}
    code, said = await space.kubectl(
        "autoscale", "rbgsa/llm-prefill", "--min=4", "--max=6", "--cpu=50%"
    )
    assert code == 0, said

    found = await ready(space, 4)
    assert [one.replicas for one in found.spec.roles] == [own and 4, 1]
    assert before < {one["metadata"]["uid"] for one in await role_pods(space, "prefill")}
    conditions = await seen_by_autoscaler(space, 4)
    assert (conditions["AbleToScale"], conditions["ScalingActive"]) == ("True", "False")

    bounds = {"spec": {"minReplicas": 1, "maxReplicas": 3}}
    await space.client.patch(AUTOSCALERS, bounds, "llm-prefill", space.namespace)
    await ready(space, 3)
    assert (await seen_by_autoscaler(space, 3))["AbleToScale"] == "True"


async def test_within_its_bounds_the_group_has_its_say(space: NamespaceUnderTest) -> None:
    await space.create(GROUPS, group("llm", role("prefill", 2)))
    await ready(space, 2)
    code, said = await space.kubectl(
        "autoscale", "rbgsa/llm-prefill", "--min=1", "--max=6", "--cpu=50%"
    )
    assert code == 0, said
    await seen_by_autoscaler(space, 2)
    await change(space, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 5}])
    await ready(space, 5)
    assert (await seen_by_autoscaler(space, 5))["AbleToScale"] == "True"
