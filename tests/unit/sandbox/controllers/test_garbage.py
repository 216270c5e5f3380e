"""Garbage collection, where the real collector cannot be asked. What it does is in
tests/contract."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from intact.kube.errors import NotFound
from intact.sandbox import Kind, MemoryApi, wall_clock
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.garbage import GarbageCollector
from tests.support.objects import CONFIGMAPS, WIDGETS, Json, configmap, widget
from tests.unit.sandbox.controllers.acting import create


def reference(owner: Json, **more: Any) -> Json:
    meta = owner["metadata"]
    named = {"name": meta["name"], "uid": meta["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named, **more}


@asynccontextmanager
async def collecting(shared: Shared) -> AsyncGenerator[None, None]:
    task = asyncio.create_task(GarbageCollector(shared).run())
    await settle(shared)
    yield
    task.cancel()


async def settle(shared: Shared) -> None:
    """Until nothing is written any more."""
    quiet, last = 0, -1
    while quiet < 20:
        await asyncio.sleep(0)
        quiet = quiet + 1 if shared.api.revision == last else 0
        last = shared.api.revision


def names(shared: Shared) -> list[str]:
    return [each["metadata"]["name"] for each in shared.api.objects("configmaps")]


async def test_what_was_there_before_the_collector_is_collected(shared: Shared) -> None:
    owner = await create(shared, CONFIGMAPS, configmap("owner"))
    other = await create(shared, CONFIGMAPS, configmap("other"))
    await create(shared, CONFIGMAPS, configmap("lost", ownerReferences=[reference(owner)]))
    await create(shared, CONFIGMAPS, configmap("a-kept", ownerReferences=[reference(other)]))
    await shared.client.delete(CONFIGMAPS, "owner", "default")
    async with collecting(shared):
        assert names(shared) == ["a-kept", "other"]


async def test_kinds_that_are_registered_later_own_and_are_owned() -> None:
    shared = Shared(MemoryApi(), wall_clock())
    async with collecting(shared):
        kind = Kind(WIDGETS.group, WIDGETS.version, WIDGETS.plural, WIDGETS.kind)
        shared.api.register(kind)
        top = await create(shared, CONFIGMAPS, configmap("top"))
        middle = await create(shared, WIDGETS, widget("w", ownerReferences=[reference(top)]))
        await create(shared, CONFIGMAPS, configmap("low", ownerReferences=[reference(middle)]))
        await settle(shared)
        assert names(shared) == ["low", "top"]
        await shared.client.delete(CONFIGMAPS, "top", "default")
        await settle(shared)
        assert names(shared) == []
        assert list(shared.api.objects("widgets.contract.intact.dev")) == []


async def test_a_reference_that_no_longer_blocks_lets_the_owner_go(shared: Shared) -> None:
    async with collecting(shared):
        owner = await create(shared, CONFIGMAPS, configmap("owner"))
        blocking = reference(owner, blockOwnerDeletion=True)
        held = configmap("held", ownerReferences=[blocking], finalizers=["test.io/held"])
        await create(shared, CONFIGMAPS, held)
        await shared.client.delete(CONFIGMAPS, "owner", "default", propagation_policy="Foreground")
        await settle(shared)
        assert names(shared) == ["held", "owner"]
        free = {"metadata": {"ownerReferences": [reference(owner)]}}
        await shared.client.patch(CONFIGMAPS, free, "held", "default")
        await settle(shared)
        assert names(shared) == ["held"]


async def test_a_dependent_with_a_finalizer_of_the_collector_keeps_its_policy(
    shared: Shared,
) -> None:
    async with collecting(shared):
        owner = await create(shared, CONFIGMAPS, configmap("owner"))
        middle = await create(
            shared,
            CONFIGMAPS,
            configmap("middle", ownerReferences=[reference(owner)], finalizers=["orphan"]),
        )
        await create(shared, CONFIGMAPS, configmap("low", ownerReferences=[reference(middle)]))
        await shared.client.delete(CONFIGMAPS, "owner", "default")
        await settle(shared)
        assert names(shared) == ["low"]


async def test_an_owner_in_another_namespace_is_none(shared: Shared) -> None:
    async with collecting(shared):
        owner = await shared.client.create(CONFIGMAPS, configmap("owner"), "kube-system")
        await create(shared, CONFIGMAPS, configmap("lost", ownerReferences=[reference(owner)]))
        await settle(shared)
        assert names(shared) == ["owner"]


async def test_a_new_owner_of_the_same_name_does_not_take_over(shared: Shared) -> None:
    owner = await create(shared, CONFIGMAPS, configmap("owner"))
    await create(shared, CONFIGMAPS, configmap("lost", ownerReferences=[reference(owner)]))
    await shared.client.delete(CONFIGMAPS, "owner", "default")
    await create(shared, CONFIGMAPS, configmap("owner"))
    async with collecting(shared):
        assert names(shared) == ["owner"]


async def test_what_goes_by_itself_meanwhile_is_no_failure(shared: Shared) -> None:
    owner = await create(shared, CONFIGMAPS, configmap("owner"))
    await create(shared, CONFIGMAPS, configmap("lost", ownerReferences=[reference(owner)]))
    async with collecting(shared):
        await shared.client.delete(CONFIGMAPS, "owner", "default")
        with suppress(NotFound):
            await shared.client.delete(CONFIGMAPS, "lost", "default")
        await settle(shared)
        assert names(shared) == []
