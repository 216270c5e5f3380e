"""The contents of a deleted namespace."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Forbidden
from intact.sandbox import Rule
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.namespaces import NamespaceController
from tests.support.objects import CONFIGMAPS, NAMESPACES, PODS, Json, configmap, pod


async def ending(client: Client) -> None:
    """A namespace that is deleted while a pod runs in it."""
    await client.create(NAMESPACES, {"metadata": {"name": "ends"}})
    await client.create(PODS, pod("p", node="n"), "ends")
    await client.create(CONFIGMAPS, configmap("c"), "ends")
    await client.delete(NAMESPACES, "ends")


async def look(shared: Shared) -> None:
    found = shared.api.peek("namespaces", "", "ends")
    assert found is not None
    await NamespaceController(shared).reconcile(found)


async def test_pods_are_given_their_grace_and_the_rest_waits(shared: Shared) -> None:
    await ending(shared.client)
    await look(shared)
    await look(shared)
    (left,) = shared.api.objects("pods", "ends")
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    assert len(list(shared.api.objects("configmaps", "ends"))) == 1
    await shared.api.finish_pod("ends", "p")
    await look(shared)
    assert shared.api.peek("namespaces", "", "ends") is None


async def test_a_namespace_that_is_not_deleted_keeps_all(shared: Shared) -> None:
    await shared.client.create(NAMESPACES, {"metadata": {"name": "ends"}})
    await shared.client.create(CONFIGMAPS, configmap("c"), "ends")
    await look(shared)
    assert len(list(shared.api.objects("configmaps", "ends"))) == 1


async def test_admission_sees_the_namespace_controller_and_may_refuse(shared: Shared) -> None:
    users: list[str] = []

    async def refuse(request: Json) -> Json:
        users.append(request["userInfo"]["username"])
        return {"allowed": False, "status": {"code": 403, "message": "not now"}}

    await ending(shared.client)
    shared.api.admit("no.test", refuse, [Rule(("pods",), ("DELETE",))])
    with pytest.raises(Forbidden):
        await look(shared)
    assert users == ["system:serviceaccount:kube-system:namespace-controller"]
