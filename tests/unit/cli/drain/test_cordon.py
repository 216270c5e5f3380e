"""Nodes are cordoned once, and by patch."""

import pytest

from intact.cli.drain.cordon import cordon, named, uncordon
from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import NODES
from intact.sandbox import MemoryApi


async def cluster() -> Client:
    client = Client(MemoryApi())
    for name in ("b", "a"):
        await client.create(NODES, {"metadata": {"name": name, "labels": {"pool": name}}})
    return client


async def test_a_node_is_cordoned_and_given_back() -> None:
    client = await cluster()
    node = await client.get(NODES, "a")
    assert await cordon(client, node)
    cordoned = await client.get(NODES, "a")
    assert cordoned.spec.unschedulable
    assert not await cordon(client, cordoned)
    await uncordon(client, ["a"])
    assert not (await client.get(NODES, "a")).spec.unschedulable


async def test_a_dry_run_cordons_nothing() -> None:
    client = await cluster()
    assert await cordon(client, await client.get(NODES, "a"), dry_run=True)
    assert not (await client.get(NODES, "a")).spec.unschedulable


async def test_nodes_by_name_or_by_label() -> None:
    client = await cluster()
    names = [each.metadata.name for each in await named(client, ["b", "a", "b"], None)]
    assert names == ["b", "a"]
    assert [each.metadata.name for each in await named(client, [], "pool in (a,b)")] == ["a", "b"]
    assert await named(client, [], "pool=c") == []
    with pytest.raises(NotFound):
        await named(client, ["c"], None)
