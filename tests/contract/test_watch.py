"""Watches: order, starting points, expiry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from intact.kube.decoding import BOOKMARK, WatchEvent
from intact.kube.errors import ApiError, Gone
from tests.contract.backends import Backend
from tests.support.objects import CONFIGMAPS, WIDGETS, Json, configmap, widget

Events = list[tuple[str, str]]


async def take(events: AsyncIterator[WatchEvent[Json]], count: int) -> list[WatchEvent[Json]]:
    """The next events, without bookmarks."""
    taken: list[WatchEvent[Json]] = []
    async with asyncio.timeout(30):
        while len(taken) < count:
            event = await anext(events)
            if event.type != BOOKMARK:
                taken.append(event)
    return taken


def summary(events: list[WatchEvent[Json]]) -> Events:
    return [(event.type, event.object["metadata"]["name"]) for event in events if event.object]


@asynccontextmanager
async def watching(backend: Backend, **options: Any) -> AsyncIterator[Any]:
    listed = await backend.client.list(CONFIGMAPS, backend.namespace)
    options = {"resource_version": listed.resource_version} | options
    async with backend.client.watch(CONFIGMAPS, backend.namespace, **options) as events:
        yield events


async def create(backend: Backend, name: str, **metadata: Any) -> Json:
    return await backend.client.create(CONFIGMAPS, configmap(name, **metadata), backend.namespace)


async def test_events_come_in_the_order_of_their_versions(backend: Backend) -> None:
    async with watching(backend) as events:
        for name in ("a", "b", "c"):
            await create(backend, name)
        await backend.client.patch(CONFIGMAPS, {"data": {"k": "v"}}, "b", backend.namespace)
        await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
        seen = await take(events, 5)
    assert summary(seen) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("MODIFIED", "b"),
        ("DELETED", "a"),
    ]
    versions = [int(event.resource_version) for event in seen]
    assert versions == sorted(set(versions))


async def test_two_watches_see_the_same_events(backend: Backend) -> None:
    async with watching(backend) as first, watching(backend) as second:
        await asyncio.gather(*(create(backend, f"c{n}") for n in range(10)))
        one, two = await take(first, 10), await take(second, 10)
    assert one == two


async def test_a_watch_begins_after_its_version(backend: Backend) -> None:
    made = await create(backend, "a")
    await create(backend, "b")
    async with watching(backend, resource_version=made["metadata"]["resourceVersion"]) as events:
        assert summary(await take(events, 1)) == [("ADDED", "b")]


async def test_a_watch_without_a_version_begins_with_what_is_there(backend: Backend) -> None:
    for name in ("a", "b"):
        await create(backend, name, labels={"mine": "yes"})
    async with watching(backend, resource_version="", labels="mine=yes") as events:
        assert sorted(summary(await take(events, 2))) == [("ADDED", "a"), ("ADDED", "b")]
        await create(backend, "c", labels={"mine": "yes"})
        assert summary(await take(events, 1)) == [("ADDED", "c")]


async def test_a_deletion_carries_the_last_state_and_its_own_version(backend: Backend) -> None:
    made = await create(backend, "a", labels={"x": "y"})
    async with watching(backend) as events:
        await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
        [event] = await take(events, 1)
    assert event.object is not None
    assert event.object["metadata"]["labels"] == {"x": "y"}
    assert event.object["metadata"]["uid"] == made["metadata"]["uid"]
    assert int(event.resource_version) > int(made["metadata"]["resourceVersion"])


async def test_a_list_and_a_watch_from_it_have_no_gap(backend: Backend) -> None:
    """An object that is created around a list is in the list or in the watch, never in both."""
    creating = asyncio.gather(*(create(backend, f"c{n}") for n in range(30)))
    listed = await backend.client.list(CONFIGMAPS, backend.namespace)
    names = [item["metadata"]["name"] for item in listed.items]
    names = [name for name in names if name.startswith("c")]
    async with watching(backend, resource_version=listed.resource_version) as events:
        seen = summary(await take(events, 30 - len(names)))
    await creating
    assert sorted(names + [name for _, name in seen]) == sorted(f"c{n}" for n in range(30))


async def test_an_update_that_changes_nothing_is_no_event(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    version = made["metadata"]["resourceVersion"]
    async with backend.client.watch(WIDGETS, backend.namespace, resource_version=version) as events:
        await backend.client.update(WIDGETS, made, "w", backend.namespace)
        await backend.client.create(WIDGETS, widget("x"), backend.namespace)
        assert summary(await take(events, 1)) == [("ADDED", "x")]


async def test_a_label_selector_turns_changes_into_comings_and_goings(backend: Backend) -> None:
    async with watching(backend, labels="color=red") as events:
        await create(backend, "never", labels={"color": "blue"})
        await create(backend, "a", labels={"color": "red"})
        await backend.client.patch(CONFIGMAPS, {"data": {"k": "v"}}, "a", backend.namespace)
        for color in ("blue", "red"):
            await backend.client.patch(
                CONFIGMAPS, {"metadata": {"labels": {"color": color}}}, "a", backend.namespace
            )
        await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
        seen = await take(events, 5)
    assert [change for change, _ in summary(seen)] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
        "ADDED",
        "DELETED",
    ]
    assert {name for _, name in summary(seen)} == {"a"}


async def test_a_field_selector_watches_one_object(backend: Backend) -> None:
    async with watching(backend, fields="metadata.name=b") as events:
        await create(backend, "a")
        await create(backend, "b")
        assert summary(await take(events, 1)) == [("ADDED", "b")]


async def test_a_watch_sees_its_namespace_only(backend: Backend) -> None:
    async with watching(backend) as events:
        await backend.client.create(CONFIGMAPS, configmap(backend.namespace), "default")
        await create(backend, "here")
        assert summary(await take(events, 1)) == [("ADDED", "here")]
    await backend.client.delete(CONFIGMAPS, backend.namespace, "default")


async def test_the_server_ends_a_watch_after_its_time(backend: Backend) -> None:
    async with watching(backend, timeout=1) as events, asyncio.timeout(30):
        async for event in events:
            assert event.type == BOOKMARK


async def test_a_watch_from_an_expired_version_is_gone(backend: Backend) -> None:
    made = await create(backend, "a")
    for name in ("b", "c"):
        await create(backend, name)
    backend.expire()
    version = made["metadata"]["resourceVersion"]
    with pytest.raises(Gone) as caught:
        async with watching(backend, resource_version=version) as events:
            await take(events, 1)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


async def test_a_watch_goes_on_after_expiry_of_what_it_has_seen(backend: Backend) -> None:
    async with watching(backend) as events:
        await create(backend, "a")
        await take(events, 1)
        backend.expire()
        await create(backend, "b")
        assert summary(await take(events, 1)) == [("ADDED", "b")]


async def test_the_next_page_of_an_expired_list_is_gone(backend: Backend) -> None:
    for name in ("a", "b", "c"):
        await create(backend, name)
    pages = backend.client.pages(CONFIGMAPS, backend.namespace, limit=1)
    first = await anext(pages)
    await create(backend, "d")
    backend.expire()
    assert first.continue_token
    with pytest.raises(Gone):
        await anext(pages)


async def test_a_watch_from_a_malformed_version_is_refused(backend: Backend) -> None:
    with pytest.raises(ApiError, match='Invalid value: "not-a-number"'):
        async with watching(backend, resource_version="not-a-number") as events:
            await take(events, 1)
