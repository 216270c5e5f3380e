"""A scheduler gives a pod its node. What the real server does, tests/contract holds."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Conflict, Invalid, MethodNotAllowed, NotFound
from intact.sandbox import MemoryApi, Rule
from tests.support.objects import PODS, Json, pod

NS = "default"


async def bind(client: Client, node: str = "n", **metadata: str) -> Json:
    body = {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}
    return await client.create_subresource(PODS, "p", NS, "binding", body)


async def test_a_pod_gets_its_node_and_is_scheduled(client: Client) -> None:
    await client.create(PODS, pod("p"), NS)
    assert (await bind(client))["status"] == "Success"
    found = await client.get(PODS, "p", NS)
    assert (found["spec"]["nodeName"], found["metadata"]["generation"]) == ("n", 1)
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_a_second_binding_is_a_conflict(client: Client) -> None:
    await client.create(PODS, pod("p"), NS)
    await bind(client)
    with pytest.raises(Conflict, match='pods/binding "p": pod p is already assigned to node "n"'):
        await bind(client, "m")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"spec": {"schedulingGates": [{"name": "a/b"}]}}, "has non-empty .spec.schedulingGates"),
        ({"metadata": {"finalizers": ["a/b"]}}, "is being deleted, cannot be assigned to a host"),
    ],
)
async def test_a_pod_that_must_not_be_bound(client: Client, change: Json, why: str) -> None:
    made = pod("p")
    for part, fields in change.items():
        made[part] |= fields
    await client.create(PODS, made, NS)
    if "metadata" in change:
        await client.delete(PODS, "p", NS)
    with pytest.raises(Conflict, match=f"pod p {why}"):
        await bind(client)


async def test_the_uid_of_a_binding_is_that_of_the_pod(client: Client) -> None:
    made = await client.create(PODS, pod("p"), NS)
    with pytest.raises(Conflict, match="Precondition failed: UID"):
        await bind(client, uid="another")
    await bind(client, uid=made["metadata"]["uid"])


async def test_what_is_refused(client: Client) -> None:
    with pytest.raises(NotFound):
        await bind(client)
    await client.create(PODS, pod("p"), NS)
    with pytest.raises(Invalid, match=r"target\.name"):
        await bind(client, "")
    with pytest.raises(MethodNotAllowed):
        await client.get(PODS, "p", NS, subresource="binding")


async def test_hooks_see_bindings(api: MemoryApi, client: Client) -> None:
    async def refuse(request: Json) -> Json:
        return {"allowed": False, "status": {"code": 409, "message": request["subResource"]}}

    await client.create(PODS, pod("p"), NS)
    api.admit("no", refuse, [Rule(("pods/binding",), ("CREATE",))])
    with pytest.raises(Conflict, match="binding"):
        await bind(client)
