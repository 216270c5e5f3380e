"""What the API server has now, where a store may be behind."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.resources import PODS as POD_VIEWS
from intact.operator.watch.freshness import versions_now
from intact.sandbox import MemoryApi
from tests.support.objects import PODS, pod


async def test_versions_are_those_of_the_api_server_and_only_of_pods_that_are_there() -> None:
    api = MemoryApi()
    client = Client(api)
    for name in ("kept", "changed", "gone"):
        await client.create(PODS, pod(name), "default")
    seen = {
        name: await client.get(POD_VIEWS, name, "default") for name in ("kept", "changed", "gone")
    }
    changed = await client.patch(PODS, {"metadata": {"labels": {"a": "b"}}}, "changed", "default")
    await client.delete(PODS, "gone", "default", grace_period_seconds=0)
    assert await versions_now(client, seen.values()) == {
        seen["kept"].metadata.uid: seen["kept"].metadata.resource_version,
        seen["changed"].metadata.uid: changed["metadata"]["resourceVersion"],
    }


async def test_a_pod_that_was_replaced_counts_under_its_new_uid() -> None:
    client = Client(MemoryApi())
    await client.create(PODS, pod("p"), "default")
    old = await client.get(POD_VIEWS, "p", "default")
    await client.delete(PODS, "p", "default", grace_period_seconds=0)
    new = await client.create(PODS, pod("p"), "default")
    found = await versions_now(client, [old])
    assert found == {new["metadata"]["uid"]: new["metadata"]["resourceVersion"]}


async def test_a_server_that_cannot_be_reached_is_said_to_be() -> None:
    api = MemoryApi()
    client = Client(api)
    await client.create(PODS, pod("p"), "default")
    seen = await client.get(POD_VIEWS, "p", "default")
    api.faults.fail_next(times=10)
    with pytest.raises(Unreachable):
        await versions_now(client, [seen])
