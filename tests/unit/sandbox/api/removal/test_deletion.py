"""Deletions in simulated time, and of whole namespaces."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.errors import Forbidden, NotFound
from intact.kube.transport import Request
from intact.sandbox import MemoryApi, Rule, run
from intact.sandbox.api.objects import Json
from tests.support.objects import CONFIGMAPS, NAMESPACES, PODS, WIDGETS, configmap, pod, widget

GRACES: list[tuple[str, float, int, int, str]] = [
    ("shorter counts from the first request", 4, 10, 10, "2026-01-01T00:00:10Z"),
    ("longer changes nothing", 4, 50, 30, "2026-01-01T00:00:30Z"),
    ("what has run out becomes a second", 20, 10, 1, "2026-01-01T00:00:20Z"),
]


@pytest.mark.parametrize(
    ("after", "grace", "period", "until"),
    [case[1:] for case in GRACES],
    ids=[case[0] for case in GRACES],
)
def test_grace_can_only_be_shortened(after: float, grace: int, period: int, until: str) -> None:
    async def main() -> Json:
        client = Client(MemoryApi())
        await client.create(PODS, pod("p", node="n"), "default")
        await client.delete(PODS, "p", "default")
        await asyncio.sleep(after)
        await client.delete(PODS, "p", "default", grace_period_seconds=grace)
        metadata: Json = (await client.get(PODS, "p", "default"))["metadata"]
        return metadata

    metadata = run(main())
    assert metadata["deletionGracePeriodSeconds"] == period
    assert metadata["deletionTimestamp"] == until
    assert metadata["generation"] == 2


async def events_of(api: MemoryApi, name: str, revision: int) -> list[str]:
    query = {
        "watch": "true",
        "resourceVersion": str(revision),
        "fieldSelector": f"metadata.name={name}",
        "timeoutSeconds": "1",
    }
    async with api.stream(Request("GET", "/api/v1/pods", query)) as stream:
        chunks = [chunk async for chunk in stream.chunks]
    return [chunk.split(b'"')[3].decode() for chunk in chunks]


def test_a_pod_that_goes_at_once_is_marked_first() -> None:
    async def main() -> list[str]:
        api = MemoryApi()
        client = Client(api)
        await client.create(PODS, pod("p", node="n"), "default")
        revision = api.revision
        await client.delete(PODS, "p", "default", grace_period_seconds=0)
        return await events_of(api, "p", revision)

    assert run(main()) == ["MODIFIED", "DELETED"]


async def test_a_deletion_that_writes_twice_is_asked_about_twice(
    api: MemoryApi, client: Client
) -> None:
    asked = 0

    async def hook(_request: Json) -> Json:
        nonlocal asked
        asked += 1
        return {"allowed": True}

    await client.create(PODS, pod("p", node="n"), "default")
    api.admit("h", hook, [Rule(("pods",), ("DELETE",))])
    await client.delete(PODS, "p", "default", grace_period_seconds=0)
    assert asked == 2


async def test_a_collection_is_deleted_by_selector(client: Client) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await client.create(CONFIGMAPS, configmap(name, labels={"color": color}), "default")
    await client.delete_collection(CONFIGMAPS, "default", labels="color=red")
    left = await client.list(CONFIGMAPS, "default")
    assert [item["metadata"]["name"] for item in left.items] == ["b"]


async def test_a_collection_names_none_of_its_objects(api: MemoryApi, client: Client) -> None:
    asked: list[Json] = []

    async def hook(request: Json) -> Json:
        asked.append(request)
        return {"allowed": True}

    for name in "ab":
        await client.create(CONFIGMAPS, configmap(name), "default")
    api.admit("h", hook, [Rule(("configmaps",), ("DELETE",))])
    await client.delete_collection(CONFIGMAPS, "default")
    assert [request["oldObject"]["metadata"]["name"] for request in asked] == ["a", "b"]
    assert not any("name" in request for request in asked)


async def test_everything_everywhere_is_not_a_collection(api: MemoryApi) -> None:
    for path in ("/api/v1/configmaps", "/api/v1/namespaces"):
        assert (await api.send(Request("DELETE", path))).status == 405


async def test_a_namespace_goes_when_it_is_empty(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "x"}})
    await client.create(WIDGETS, widget("w"), "x")
    await client.delete(NAMESPACES, "x")
    await client.delete(NAMESPACES, "x")
    await client.patch(NAMESPACES, {"metadata": {"labels": {"a": "b"}}}, "x")
    found = await client.get(NAMESPACES, "x")
    assert found["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden) as caught:
        await client.create(WIDGETS, widget("late"), "x")
    assert caught.value.has_cause("NamespaceTerminating")
    await client.delete(WIDGETS, "w", "x")
    with pytest.raises(NotFound):
        await client.get(NAMESPACES, "x")


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_some_namespaces_stay(client: Client, name: str) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        await client.delete(NAMESPACES, name)


async def test_events_know_no_garbage_collection(api: MemoryApi) -> None:
    path = "/api/v1/namespaces/default/events"
    await api.send(Request("POST", path, body=b'{"metadata":{"name":"e"}}'))
    body = b'{"propagationPolicy":"Foreground"}'
    assert (await api.send(Request("DELETE", f"{path}/e", body=body))).status == 200
    assert (await api.send(Request("GET", f"{path}/e"))).status == 404


def test_a_pod_deleted_by_two_is_gone_for_both() -> None:
    async def main() -> int:
        api = MemoryApi()
        client = Client(api)
        await client.create(PODS, pod("p", node="n"), "default")

        async def delete() -> int:
            try:
                await client.delete(PODS, "p", "default", grace_period_seconds=0)
            except NotFound:
                return 0
            return 1

        done = await asyncio.gather(delete(), delete())
        assert not list(api.objects("pods"))
        return sum(done)

    assert {run(main(), seed=seed) for seed in range(40)} <= {1, 2}
    assert 2 in {run(main(), seed=seed) for seed in range(40)}
