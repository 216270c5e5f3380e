"""What an object owns goes with it, or stays, as its deletion asks."""

from typing import Any

import pytest

from intact.kube.errors import Forbidden, NotFound
from intact.kube.resources import Resource
from tests.contract.clusters import ClusterBackend
from tests.support.objects import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Json,
    configmap,
    deployment,
    stateful_set,
)


def reference(owner: Json, **more: Any) -> Json:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        **more,
    }


async def owned(backend: ClusterBackend, name: str, *references: Json, **metadata: Any) -> Json:
    body = configmap(name, ownerReferences=list(references), **metadata)
    return await backend.create(CONFIGMAPS, body)


async def configmaps(backend: ClusterBackend) -> list[str]:
    found = await backend.all(CONFIGMAPS)
    names = [str(each["metadata"]["name"]) for each in found]
    return [name for name in names if name != "kube-root-ca.crt"]


async def delete(
    backend: ClusterBackend, resource: Resource[Json], name: str, policy: str = ""
) -> None:
    await backend.client.delete(resource, name, backend.namespace, propagation_policy=policy)


async def release(backend: ClusterBackend, name: str) -> None:
    """Take the test's own finalizer off."""
    await backend.client.patch(
        CONFIGMAPS, {"metadata": {"finalizers": None}}, name, backend.namespace
    )


async def is_gone(backend: ClusterBackend, resource: Resource[Json], name: str) -> bool:
    try:
        await backend.get(resource, name)
    except NotFound:
        return True
    return False


async def test_in_the_background_dependents_go_after_their_owner(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await backend.create(DEPLOYMENTS, deployment("w", 2))
    await backend.until_status(DEPLOYMENTS, "w", readyReplicas=2)
    await delete(backend, DEPLOYMENTS, "w", "Background")
    assert await is_gone(backend, DEPLOYMENTS, "w")
    await backend.until(lambda: backend.all(REPLICA_SETS), lambda seen: not seen)
    await backend.until(backend.pods, lambda seen: not seen)


async def test_a_dependent_stays_while_another_owner_does(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    one, other = [await backend.create(CONFIGMAPS, configmap(name)) for name in "ab"]
    made = await owned(backend, "kept", reference(one), reference(other))
    await delete(backend, CONFIGMAPS, "a")
    left = await backend.until(
        lambda: backend.get(CONFIGMAPS, "kept"),
        lambda seen: len(seen["metadata"]["ownerReferences"]) == 1,
    )
    assert left["metadata"]["ownerReferences"] == made["metadata"]["ownerReferences"][1:]
    await delete(backend, CONFIGMAPS, "b")
    await backend.until(lambda: configmaps(backend), lambda seen: not seen)


async def test_orphans_stay_without_the_reference(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await backend.create(STATEFUL_SETS, stateful_set("w", 1))
    await backend.until_status(STATEFUL_SETS, "w", readyReplicas=1)
    before = await backend.get(PODS, "w-0")
    await delete(backend, STATEFUL_SETS, "w", "Orphan")
    await backend.until(lambda: is_gone(backend, STATEFUL_SETS, "w"), bool)
    after = await backend.get(PODS, "w-0")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert "ownerReferences" not in after["metadata"]
    assert "deletionTimestamp" not in after["metadata"]


async def test_in_the_foreground_an_owner_waits_for_those_that_block_it(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    owner = await backend.create(CONFIGMAPS, configmap("owner"))
    held = {"finalizers": ["test.io/held"]}
    blocking = reference(owner, blockOwnerDeletion=True)
    await owned(backend, "blocks", blocking, **held)
    await owned(backend, "other", reference(owner), **held)
    await owned(backend, "free", blocking)
    await delete(backend, CONFIGMAPS, "owner", "Foreground")

    async def leaving() -> dict[str, bool]:
        found = await backend.all(CONFIGMAPS)
        return {
            str(each["metadata"]["name"]): "deletionTimestamp" in each["metadata"]
            for each in found
            if each["metadata"]["name"] != "kube-root-ca.crt"
        }

    await backend.until(
        leaving, lambda seen: seen == {"owner": True, "blocks": True, "other": True}
    )
    await release(backend, "blocks")
    await backend.until(leaving, lambda seen: seen == {"other": True})
    await release(backend, "other")


async def test_in_the_foreground_a_deployment_goes_last(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await backend.create(DEPLOYMENTS, deployment("w", 2))
    await backend.until_status(DEPLOYMENTS, "w", readyReplicas=2)
    async with backend.recorded(DEPLOYMENTS) as deployments:
        await delete(backend, DEPLOYMENTS, "w", "Foreground")
        await backend.until(lambda: is_gone(backend, DEPLOYMENTS, "w"), bool)
        assert await backend.all(REPLICA_SETS) == []
        assert await backend.pods() == []
        first = deployments[0].object
    assert first is not None
    assert first["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize("wrong", ["uid", "name", "kind"])
async def test_what_refers_to_an_owner_that_is_not_there_goes(
    cluster_backend: ClusterBackend, wrong: str
) -> None:
    backend = cluster_backend
    owner = await backend.create(CONFIGMAPS, configmap("owner"))
    bad = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "name": "other",
        "kind": "Secret",
    }[wrong]
    await owned(backend, "lost", {**reference(owner), wrong: bad})
    await backend.until(lambda: configmaps(backend), lambda seen: seen == ["owner"])


async def test_what_refers_to_a_kind_that_is_not_served_stays(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    uid = "11111111-2222-3333-4444-555555555555"
    unknown = {"apiVersion": "test.io/v1", "kind": "Unknown", "name": "x", "uid": uid}
    await owned(backend, "kept", unknown)
    # The collector has seen it once it has taken what was made later.
    await owned(backend, "lost", {**unknown, "apiVersion": "v1", "kind": "Secret"})
    await backend.until(lambda: configmaps(backend), lambda seen: seen == ["kept"])


async def test_a_deleted_namespace_goes_after_its_pods_and_then_the_rest(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    name = f"{backend.namespace[:50]}-ends"
    await backend.client.create(NAMESPACES, {"metadata": {"name": name}})
    pod = {
        "metadata": {"name": "held", "finalizers": ["test.io/held"]},
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
        },
    }

    async def create() -> bool:
        # The real server wants the namespace's ServiceAccount first.
        try:
            await backend.client.create(PODS, pod, name)
        except Forbidden:
            return False
        return True

    await backend.until(create, bool)
    await backend.client.create(CONFIGMAPS, configmap("waits"), name)
    await backend.client.create(DEPLOYMENTS, deployment("w", 0), name)
    await backend.client.delete(NAMESPACES, name)

    async def pods() -> list[Json]:
        return (await backend.client.list(PODS, name)).items

    await backend.until(pods, lambda seen: "deletionTimestamp" in seen[0]["metadata"])
    assert (await backend.client.get(NAMESPACES, name))["status"]["phase"] == "Terminating"
    await backend.client.get(CONFIGMAPS, "waits", name)
    await backend.client.get(DEPLOYMENTS, "w", name)
    await backend.client.patch(PODS, {"metadata": {"finalizers": None}}, "held", name)

    async def is_there() -> bool:
        return name in [
            each["metadata"]["name"] for each in (await backend.client.list(NAMESPACES)).items
        ]

    await backend.until(is_there, lambda seen: not seen)
