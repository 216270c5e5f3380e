"""The parts of an object that can be written apart: scale and resources. Status: the contract."""

import pytest

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, Invalid
from intact.sandbox import MemoryApi, Rule
from intact.sandbox.api.objects import Json
from tests.support.objects import DEPLOYMENTS, PODS, WIDGETS, deployment, pod, widget


async def test_a_scale_shows_and_changes_the_replicas(api: MemoryApi, client: Client) -> None:
    await client.create(DEPLOYMENTS, deployment("d", replicas=2), "default")
    scale = await client.get(DEPLOYMENTS, "d", "default", subresource="scale")
    assert scale["apiVersion"] == "autoscaling/v1"
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "app=d"}
    await client.patch(DEPLOYMENTS, {"spec": {"replicas": 5}}, "d", "default", subresource="scale")
    with pytest.raises(Conflict):
        await client.update(DEPLOYMENTS, scale, "d", "default", subresource="scale")
    found = await client.get(DEPLOYMENTS, "d", "default")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)


async def test_scaling_is_asked_about_as_a_scale(api: MemoryApi, client: Client) -> None:
    asked: list[Json] = []

    async def hook(request: Json) -> Json:
        asked.append(request)
        return {"allowed": True}

    await client.create(WIDGETS, widget("w"), "default")
    api.admit("h", hook, [Rule(("widgets/scale",))])
    await client.patch(WIDGETS, {"spec": {"replicas": 3}}, "w", "default", subresource="scale")
    [request] = asked
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["oldObject"]["spec"], request["object"]["spec"]) == ({}, {"replicas": 3})
    assert (await client.get(WIDGETS, "w", "default"))["spec"] == {"size": 1, "replicas": 3}


async def test_a_negative_scale_is_invalid(client: Client) -> None:
    await client.create(WIDGETS, widget("w"), "default")
    with pytest.raises(Invalid, match="should be a non-negative integer"):
        await client.patch(WIDGETS, {"spec": {"replicas": -1}}, "w", "default", subresource="scale")


async def test_resize_changes_resources_and_nothing_else(client: Client) -> None:
    await client.create(PODS, pod("p", node="n"), "default")
    patch: Json = {
        "metadata": {"labels": {"ignored": "yes"}},
        "spec": {
            "nodeName": "ignored",
            "containers": [
                {"name": "main", "image": "ignored", "resources": {"requests": {"cpu": "2"}}}
            ],
        },
    }
    resized = await client.patch(
        PODS, patch, "p", "default", type=PatchType.STRATEGIC, subresource="resize"
    )
    assert resized["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert resized["spec"]["containers"][0]["image"] == "registry.example/main:1"
    assert resized["spec"]["nodeName"] == "n"
    assert "labels" not in resized["metadata"]
    assert resized["metadata"]["generation"] == 2


async def test_a_resize_may_not_change_the_set_of_containers(client: Client) -> None:
    await client.create(PODS, pod("p"), "default")
    patch = {"spec": {"containers": [{"name": "another"}]}}
    with pytest.raises(Invalid, match="may not be added, removed, renamed or reordered"):
        await client.patch(PODS, patch, "p", "default", subresource="resize")
