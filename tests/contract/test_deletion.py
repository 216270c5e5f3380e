"""Deletion: finalizers, grace, preconditions."""

from datetime import datetime

import pytest

from intact.kube.errors import Conflict, Forbidden, Invalid, NotFound
from tests.contract.backends import Backend
from tests.support.objects import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    WIDGETS,
    configmap,
    deployment,
    pod,
    widget,
)


async def gone(backend: Backend, resource: object, name: str) -> bool:
    try:
        await backend.client.get(resource, name, backend.namespace)  # type: ignore[arg-type]
    except NotFound:
        return True
    return False


async def test_a_deleted_object_is_gone(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
    assert await gone(backend, CONFIGMAPS, "a")
    with pytest.raises(NotFound):
        await backend.client.delete(CONFIGMAPS, "a", backend.namespace)


async def test_finalizers_hold_an_object(backend: Backend) -> None:
    made = await backend.client.create(
        WIDGETS, widget("w", finalizers=["x.io/a", "x.io/b"]), backend.namespace
    )
    await backend.client.delete(WIDGETS, "w", backend.namespace)
    held = await backend.client.get(WIDGETS, "w", backend.namespace)
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["generation"] == made["metadata"]["generation"] + 1
    await backend.client.patch(
        WIDGETS, {"metadata": {"finalizers": ["x.io/b"]}}, "w", backend.namespace
    )
    assert not await gone(backend, WIDGETS, "w")
    await backend.client.patch(WIDGETS, {"metadata": {"finalizers": []}}, "w", backend.namespace)
    assert await gone(backend, WIDGETS, "w")


async def test_a_second_deletion_of_a_held_object_changes_nothing(backend: Backend) -> None:
    await backend.client.create(WIDGETS, widget("w", finalizers=["x.io/a"]), backend.namespace)
    await backend.client.delete(WIDGETS, "w", backend.namespace)
    first = await backend.client.get(WIDGETS, "w", backend.namespace)
    await backend.client.delete(WIDGETS, "w", backend.namespace)
    assert await backend.client.get(WIDGETS, "w", backend.namespace) == first
    await backend.client.patch(WIDGETS, {"metadata": {"finalizers": []}}, "w", backend.namespace)


async def test_no_finalizer_may_be_added_to_an_object_that_is_being_deleted(
    backend: Backend,
) -> None:
    await backend.client.create(
        CONFIGMAPS, configmap("a", finalizers=["x.io/a"]), backend.namespace
    )
    await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
    with pytest.raises(Invalid) as caught:
        await backend.client.patch(
            CONFIGMAPS, {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}, "a", backend.namespace
        )
    assert {cause.field for cause in caught.value.causes} == {"metadata.finalizers"}
    await backend.client.patch(CONFIGMAPS, {"metadata": {"finalizers": []}}, "a", backend.namespace)


async def test_a_pod_on_a_node_is_deleted_gracefully(backend: Backend) -> None:
    made = await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    await backend.client.delete(PODS, "p", backend.namespace)
    held = await backend.client.get(PODS, "p", backend.namespace)
    assert held["metadata"]["deletionGracePeriodSeconds"] == 30
    assert held["metadata"]["uid"] == made["metadata"]["uid"]
    assert held["metadata"]["generation"] == 2
    # As the kubelet does once the containers have ended: delete the object without grace.
    await backend.client.delete(PODS, "p", backend.namespace, grace_period_seconds=0)
    assert await gone(backend, PODS, "p")


async def test_grace_is_given_by_the_request_and_can_only_shrink(backend: Backend) -> None:
    await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    stamps = []
    for asked, granted in ((20, 20), (25, 20), (5, 5)):
        await backend.client.delete(PODS, "p", backend.namespace, grace_period_seconds=asked)
        held = await backend.client.get(PODS, "p", backend.namespace)
        assert held["metadata"]["deletionGracePeriodSeconds"] == granted
        stamps.append(datetime.fromisoformat(held["metadata"]["deletionTimestamp"]))
    assert stamps[0] == stamps[1] > stamps[2]


async def test_a_pod_without_a_node_goes_at_once(backend: Backend) -> None:
    body = pod("p")
    body["spec"]["schedulerName"] = "nobody"
    await backend.client.create(PODS, body, backend.namespace)
    await backend.client.delete(PODS, "p", backend.namespace)
    assert await gone(backend, PODS, "p")


async def test_a_finished_pod_goes_at_once(backend: Backend) -> None:
    await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    await backend.client.patch(
        PODS, {"status": {"phase": "Succeeded"}}, "p", backend.namespace, subresource="status"
    )
    await backend.client.delete(PODS, "p", backend.namespace)
    assert await gone(backend, PODS, "p")


async def test_a_pod_with_a_finalizer_stays_after_its_grace(backend: Backend) -> None:
    await backend.client.create(
        PODS, pod("p", node=backend.node, finalizers=["x.io/a"]), backend.namespace
    )
    await backend.client.delete(PODS, "p", backend.namespace, grace_period_seconds=0)
    held = await backend.client.get(PODS, "p", backend.namespace)
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    await backend.client.patch(PODS, {"metadata": {"finalizers": []}}, "p", backend.namespace)
    assert await gone(backend, PODS, "p")


async def test_a_deletion_with_a_failed_precondition_conflicts(backend: Backend) -> None:
    made = (await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace))["metadata"]
    for wrong in (
        {"uid": "11111111-2222-3333-4444-555555555555"},
        {"resource_version": "1"},
    ):
        with pytest.raises(Conflict, match=r"(?i)precondition"):
            await backend.client.delete(CONFIGMAPS, "a", backend.namespace, **wrong)  # type: ignore[arg-type]
    assert not await gone(backend, CONFIGMAPS, "a")
    await backend.client.delete(
        CONFIGMAPS,
        "a",
        backend.namespace,
        uid=made["uid"],
        resource_version=made["resourceVersion"],
    )
    assert await gone(backend, CONFIGMAPS, "a")


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_the_propagation_policy_sets_a_finalizer(
    backend: Backend, policy: str, finalizer: str
) -> None:
    # A finalizer of the test keeps the garbage collector from removing the object too early.
    body = deployment("d", 0)
    body["metadata"]["finalizers"] = ["x.io/a"]
    await backend.client.create(DEPLOYMENTS, body, backend.namespace)
    versions = await backend.client.list(DEPLOYMENTS, backend.namespace)
    async with backend.client.watch(
        DEPLOYMENTS, backend.namespace, resource_version=versions.resource_version
    ) as events:
        await backend.client.delete(DEPLOYMENTS, "d", backend.namespace, propagation_policy=policy)
        async for event in events:
            if event.object and "deletionTimestamp" in event.object["metadata"]:
                assert sorted(event.object["metadata"]["finalizers"]) == sorted(
                    ["x.io/a", finalizer]
                )
                break


async def test_a_terminating_namespace_takes_nothing_new(backend: Backend) -> None:
    name = f"{backend.namespace}-ends"
    await backend.client.create(NAMESPACES, {"metadata": {"name": name}})
    await backend.client.create(CONFIGMAPS, configmap("held", finalizers=["x.io/a"]), name)
    await backend.client.delete(NAMESPACES, name)
    with pytest.raises(Forbidden) as caught:
        await backend.client.create(CONFIGMAPS, configmap("late"), name)
    assert caught.value.has_cause("NamespaceTerminating")
    await backend.client.patch(CONFIGMAPS, {"metadata": {"finalizers": []}}, "held", name)
