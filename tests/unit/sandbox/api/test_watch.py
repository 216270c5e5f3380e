"""Watches in simulated time. Their order and selections are the contract's."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.errors import Silent
from intact.kube.transport import Request
from intact.sandbox import MemoryApi, run
from intact.sandbox.api.objects import Json, decode
from tests.support.objects import CONFIGMAPS, configmap

PATH = CONFIGMAPS.path("default")


async def read(api: MemoryApi, **query: str) -> tuple[list[Json], float]:
    """Everything that a watch delivers until the server ends it, and when that was."""
    loop = asyncio.get_running_loop()
    async with api.stream(Request("GET", PATH, {"watch": "true", **query}, timeout=600)) as stream:
        events = [decode(chunk) async for chunk in stream.chunks]
    return events, loop.time()


def test_a_watch_that_asks_for_bookmarks_gets_one_a_minute() -> None:
    async def main() -> None:
        api = MemoryApi()
        events, elapsed = await read(api, timeoutSeconds="200", allowWatchBookmarks="true")
        assert elapsed == 200
        assert [event["type"] for event in events] == ["BOOKMARK"] * 3
        metadata = {"resourceVersion": str(api.revision)}
        assert events[0]["object"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": metadata,
        }
        assert await read(api, timeoutSeconds="200") == ([], 400)

    run(main())


def test_a_watch_ends_by_itself_after_half_an_hour_to_an_hour() -> None:
    async def main() -> float:
        query = {"watch": "true", "allowWatchBookmarks": "true"}
        async with MemoryApi().stream(Request("GET", PATH, query, timeout=600)) as stream:
            async for _ in stream.chunks:
                pass
        return asyncio.get_running_loop().time()

    assert 1800 <= run(main()) <= 3600


def test_silence_ends_a_watch() -> None:
    async def main() -> float:
        async with MemoryApi().stream(Request("GET", PATH, {"watch": "true"}, timeout=9)) as stream:
            with pytest.raises(Silent, match="silent"):
                await anext(stream.chunks)
        return asyncio.get_running_loop().time()

    assert run(main()) == 9


def test_a_version_that_is_yet_to_come_is_waited_for() -> None:
    """As kube-apiserver does: no error, and nothing that is not newer."""

    async def main() -> list[Json]:
        api = MemoryApi()
        client = Client(api)
        future = str(api.revision + 2)
        watch = asyncio.create_task(read(api, resourceVersion=future, timeoutSeconds="10"))
        await asyncio.sleep(1)
        for name in "abc":
            await client.create(CONFIGMAPS, configmap(name), "default")
        return (await watch)[0]

    assert [event["object"]["metadata"]["name"] for event in run(main())] == ["c"]


async def test_a_version_that_fell_out_of_the_history_is_too_old() -> None:
    api = MemoryApi(history=3)
    client = Client(api)
    start = str(api.revision)
    for name in "abcd":
        await client.create(CONFIGMAPS, configmap(name), "default")
    events, _ = await read(api, resourceVersion=start)
    assert events[0]["type"] == "ERROR"
    assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")


async def test_a_watch_that_was_left_is_forgotten(api: MemoryApi, client: Client) -> None:
    async with api.stream(Request("GET", PATH, {"watch": "true"})) as stream:
        await client.create(CONFIGMAPS, configmap("a"), "default")
        assert b"ADDED" in await anext(stream.chunks)
    assert api.faults.break_watches() == 0


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/api/v1/nothings", {}, 404),
        (PATH, {"labelSelector": "a b"}, 400),
        (PATH, {"fieldSelector": "spec.x=1"}, 400),
        (PATH, {"timeoutSeconds": "soon"}, 400),
        (PATH, {"resourceVersion": "soon"}, 500),
        (PATH, {"resourceVersion": "1", "resourceVersionMatch": "Exact"}, 422),
    ],
)
async def test_a_watch_that_cannot_start(
    api: MemoryApi, path: str, query: dict[str, str], status: int
) -> None:
    async with api.stream(Request("GET", path, {"watch": "true", **query})) as stream:
        body = b"".join([chunk async for chunk in stream.chunks])
    assert (stream.status, decode(body)["code"]) == (status, status)


async def test_what_is_not_a_watch_streams_as_well(api: MemoryApi) -> None:
    async with api.stream(Request("GET", PATH)) as stream:
        body = b"".join([chunk async for chunk in stream.chunks])
    assert (stream.status, decode(body)["kind"]) == (200, "ConfigMapList")
