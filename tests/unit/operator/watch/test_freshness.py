"""What the API server has now, where a store may be behind."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.resources import PODS as POD_VIEWS
from intact.model.versions import Present
from intact.operator.watch.freshness import pods_beyond, versions_now
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


async def test_pods_are_listed_only_if_the_server_has_not_reached_what_is_stated() -> None:
    api = MemoryApi()
    client = Client(api)
    made = await client.create(PODS, pod("p"), "default")
    meta = made["metadata"]
    asked: list[str] = []

    def never(version: str) -> bool:
        asked.append(version)
        return False

    found = await pods_beyond(client, "default", never)
    assert asked == [str(api.revision)]
    assert found == Present(str(api.revision), {meta["uid"]: meta["resourceVersion"]})
    assert found.latest() == meta["resourceVersion"]
    assert await pods_beyond(client, "default", lambda _version: True) is None
