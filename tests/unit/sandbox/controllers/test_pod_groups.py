"""PodGroups stay while a pod that has not finished names them."""

import asyncio

from intact.sandbox.api.pod_groups import POD_GROUPS as KIND
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.pod_groups import POD_GROUPS, group_of
from tests.support.objects import PODS, Json, pod
from tests.unit.kube.simulated import simulated


def member(name: str, group: str = "red") -> Json:
    body = pod(name, namespace="default")
    body["spec"]["schedulingGroup"] = {"podGroupName": group}
    return body


def test_the_group_of_a_pod() -> None:
    assert group_of(member("a")) == ("default", "red")
    assert group_of(pod("a", namespace="default")) is None


@simulated
async def test_a_finished_pod_does_not_hold_its_group() -> None:
    sandbox = Sandbox()
    client = sandbox.client()
    async with sandbox.running():
        body = {"metadata": {"name": "red"}, "spec": {"schedulingPolicy": {"basic": {}}}}
        await client.create(POD_GROUPS, body, "default")
        await client.create(PODS, member("a"), "default")
        await client.create(PODS, member("b", "blue"), "default")
        await client.delete(POD_GROUPS, "red", "default")
        await asyncio.sleep(5)
        assert sandbox.api.peek(KIND.full_name, "default", "red") is not None
        status = {"status": {"phase": "Succeeded"}}
        await client.patch(PODS, status, "a", "default", subresource="status")
        await asyncio.sleep(5)
        assert sandbox.api.peek(KIND.full_name, "default", "red") is None
