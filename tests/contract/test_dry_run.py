"""Dry runs answer as real requests do, and store nothing."""

import pytest

from intact.kube.client import PatchType
from intact.kube.errors import AlreadyExists, Conflict, NotFound
from tests.contract.backends import Backend
from tests.support.objects import CONFIGMAPS, PODS, configmap, pod


async def test_a_dry_run_of_a_create_answers_and_stores_nothing(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace, dry_run=True)
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    with pytest.raises(NotFound):
        await backend.client.get(CONFIGMAPS, "a", backend.namespace)


async def test_a_dry_run_of_a_create_refuses_an_existing_name(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    with pytest.raises(AlreadyExists):
        await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace, dry_run=True)


async def test_a_dry_run_of_an_update_answers_and_stores_nothing(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    body = made | {"data": {"k": "v"}}
    updated = await backend.client.update(CONFIGMAPS, body, "a", backend.namespace, dry_run=True)
    assert updated["data"] == {"k": "v"}
    assert await backend.client.get(CONFIGMAPS, "a", backend.namespace) == made


async def test_a_dry_run_of_a_stale_update_conflicts(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await backend.client.patch(CONFIGMAPS, {"data": {"k": "v"}}, "a", backend.namespace)
    with pytest.raises(Conflict):
        await backend.client.update(
            CONFIGMAPS, made | {"data": {"l": "m"}}, "a", backend.namespace, dry_run=True
        )


@pytest.mark.parametrize("kind", list(PatchType), ids=lambda kind: kind.name.lower())
async def test_a_dry_run_of_a_patch_answers_and_stores_nothing(
    backend: Backend, kind: PatchType
) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    body: object = configmap("a", {"k": "v"})
    if kind is PatchType.JSON:
        body = [{"op": "add", "path": "/data", "value": {"k": "v"}}]
    patched = await backend.client.patch(
        CONFIGMAPS, body, "a", backend.namespace, type=kind, dry_run=True
    )
    assert patched["data"] == {"k": "v"}
    assert await backend.client.get(CONFIGMAPS, "a", backend.namespace) == made


async def test_a_dry_run_of_a_delete_stores_nothing(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await backend.client.delete(CONFIGMAPS, "a", backend.namespace, dry_run=True)
    assert await backend.client.get(CONFIGMAPS, "a", backend.namespace) == made


async def test_dry_runs_of_a_graceful_delete_and_an_eviction_store_nothing(
    backend: Backend,
) -> None:
    made = await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    await backend.client.delete(PODS, "p", backend.namespace, dry_run=True)
    await backend.client.evict(PODS, "p", backend.namespace, dry_run=True)
    assert await backend.client.get(PODS, "p", backend.namespace) == made


async def test_a_dry_run_sends_no_watch_event(backend: Backend) -> None:
    listed = await backend.client.list(CONFIGMAPS, backend.namespace)
    async with backend.client.watch(
        CONFIGMAPS, backend.namespace, resource_version=listed.resource_version
    ) as events:
        await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace, dry_run=True)
        await backend.client.create(CONFIGMAPS, configmap("b"), backend.namespace)
        event = await anext(events)
    assert event.object is not None
    assert event.object["metadata"]["name"] == "b"
