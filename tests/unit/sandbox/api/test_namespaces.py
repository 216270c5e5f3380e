"""Namespaces: what may be created in them, and how they end."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Forbidden, NotFound
from intact.sandbox import MemoryApi
from tests.support.objects import CONFIGMAPS, NAMESPACES, configmap


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_some_namespaces_stay(client: Client, name: str) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        await client.delete(NAMESPACES, name)


async def test_nothing_is_created_in_a_namespace_that_is_not_there(client: Client) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await client.create(CONFIGMAPS, configmap("c"), "nowhere")


async def test_a_terminating_namespace_goes_with_its_last_object(
    api: MemoryApi, client: Client
) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    for name in ("a", "b"):
        await client.create(CONFIGMAPS, configmap(name), "ns")
    await client.delete(NAMESPACES, "ns")
    assert (await client.get(NAMESPACES, "ns"))["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="it is being terminated") as caught:
        await client.create(CONFIGMAPS, configmap("c"), "ns")
    assert caught.value.has_cause("NamespaceTerminating")
    await client.delete(CONFIGMAPS, "a", "ns")
    assert api.peek("namespaces", "", "ns") is not None
    await client.delete(CONFIGMAPS, "b", "ns")
    assert api.peek("namespaces", "", "ns") is None


async def test_an_empty_namespace_goes_at_once(api: MemoryApi, client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    await client.delete(NAMESPACES, "ns")
    assert api.peek("namespaces", "", "ns") is None
