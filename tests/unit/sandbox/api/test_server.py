"""The server as a whole: what the contract does not cover."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound, Unreachable
from intact.kube.transport import Request
from intact.sandbox import MemoryApi, Rule, run
from intact.sandbox.api.objects import Json, decode
from tests.support.objects import (
    CONFIGMAPS,
    WIDGETS,
    configmap,
    widget,
)


async def get(api: MemoryApi, path: str, **query: str) -> tuple[int, Any]:
    response = await api.send(Request("GET", path, query))
    return response.status, decode(response.body)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_the_health_pages_answer_ok(api: MemoryApi, path: str) -> None:
    response = await api.send(Request("GET", path))
    assert (response.status, response.body) == (200, b"ok")


@pytest.mark.parametrize("path", ["/apis/nothing.dev/v1/things", "/apis/nothing.dev/v1", "/x"])
async def test_outside_of_every_group_the_answer_is_plain_text(api: MemoryApi, path: str) -> None:
    response = await api.send(Request("GET", path))
    assert (response.status, response.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/namespaces/default/things", 404),
        ("GET", "/api/v1/namespaces/default/pods/p/log", 404),
        ("GET", "/api/v1/pods/p", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v2/pods", 404),
        ("POST", "/api/v1/pods", 405),
        ("POST", "/api/v1/namespaces/default/pods/p", 405),
        ("PUT", "/api/v1/namespaces/default/pods", 405),
        ("GET", "/api/v1/namespaces/default/pods/p/eviction", 405),
        ("DELETE", "/api/v1/namespaces/default/pods/p/status", 405),
    ],
)
async def test_where_nothing_is_served(api: MemoryApi, method: str, path: str, status: int) -> None:
    response = await api.send(Request(method, path, body=b"{}" if method != "GET" else b""))
    assert (response.status, decode(response.body)["code"]) == (status, status)


def test_a_request_that_takes_too_long_is_unreachable() -> None:
    async def main() -> float:
        api = MemoryApi()

        async def slow(_request: Json) -> Json:
            await asyncio.sleep(60)
            return {"allowed": True}

        api.admit("h", slow, [Rule(("configmaps",))], timeout=100)
        body = b'{"metadata":{"name":"c"}}'
        with pytest.raises(Unreachable, match="no answer in time") as caught:
            await api.send(Request("POST", CONFIGMAPS.path("default"), body=body, timeout=5))
        assert caught.value.sent
        return asyncio.get_running_loop().time()

    assert run(main()) == 5


async def test_reading_past_the_api(api: MemoryApi, client: Client) -> None:
    made = await client.create(WIDGETS, widget("w"), "default")
    assert api.peek(WIDGETS.full_name, "default", "w") == made
    assert api.peek(WIDGETS.full_name, "default", "x") is None
    assert list(api.objects(WIDGETS.full_name, "kube-system")) == []
    assert api.revision == int(made["metadata"]["resourceVersion"])


async def test_an_object_of_another_server_is_stored_as_it_is(
    api: MemoryApi, client: Client
) -> None:
    body = widget("w", uid="u-1", namespace="default", creationTimestamp="2020-01-01T00:00:00Z")
    body["status"] = {"replicas": 3}
    api.insert(WIDGETS.full_name, body)
    found = await client.get(WIDGETS, "w", "default")
    assert found["metadata"]["uid"] == "u-1"
    assert found["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert found["status"] == {"replicas": 3}
    again = widget("w", uid="u-2", namespace="default")
    api.insert(WIDGETS.full_name, again)
    assert (await client.get(WIDGETS, "w", "default"))["metadata"]["uid"] == "u-2"


def test_one_seed_one_course_of_events() -> None:
    async def main() -> list[str]:
        client = Client(MemoryApi(seed=4))
        body = {**configmap("x"), "metadata": {"generateName": "x-"}}
        made = [await client.create(CONFIGMAPS, body, "default") for _ in range(3)]
        with pytest.raises(NotFound):
            await client.get(CONFIGMAPS, "x-", "default")
        return [f"{each['metadata']['name']} {each['metadata']['uid']}" for each in made]

    first = run(main(), seed=1)
    assert len(set(first)) == 3
    assert run(main(), seed=9) == first


async def test_a_restore_breaks_watches_and_loses_what_is_under_way(
    api: MemoryApi, client: Client
) -> None:
    await client.create(CONFIGMAPS, configmap("kept"), "default")
    before = api.snapshot()
    kept = await client.create(CONFIGMAPS, configmap("lost"), "default")
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(_request: Json) -> Json:
        asked.set()
        await answer.wait()
        return {"allowed": True}

    hook = api.admit("slow", slow, [Rule(("configmaps",))])
    under_way = asyncio.create_task(client.create(CONFIGMAPS, configmap("late"), "default"))
    await asked.wait()
    query = {"watch": "true", "resourceVersion": str(api.revision)}
    async with api.stream(Request("GET", CONFIGMAPS.path("default"), query)) as stream:
        api.restore(before)
        with pytest.raises(Unreachable):
            await anext(aiter(stream.chunks))
    answer.set()
    with pytest.raises(Unreachable, match="restarted"):
        await under_way
    api.withdraw(hook)
    page = await client.list(CONFIGMAPS, "default")
    assert [found["metadata"]["name"] for found in page.items] == ["kept"]
    again = await client.create(CONFIGMAPS, configmap("again"), "default")
    assert again["metadata"]["resourceVersion"] == kept["metadata"]["resourceVersion"]
