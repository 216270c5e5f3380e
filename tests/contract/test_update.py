"""Updates: compare-and-swap, generation, the status subresource."""

import asyncio
from typing import Any

import pytest

from intact.kube.errors import BadRequest, Conflict, Invalid, NotFound
from tests.contract.backends import Backend
from tests.support.objects import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PDBS,
    PODS,
    WIDGETS,
    Json,
    configmap,
    deployment,
    pod,
    widget,
)


def version(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


async def test_an_update_moves_the_resource_version_on(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    made["data"] = {"k": "v"}
    updated = await backend.client.update(CONFIGMAPS, made, "a", backend.namespace)
    assert version(updated) > version(made)
    assert updated["data"] == {"k": "v"}


async def test_an_update_that_changes_nothing_stores_nothing(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    same = await backend.client.update(WIDGETS, made, "w", backend.namespace)
    assert version(same) == version(made)


async def test_a_stale_update_conflicts(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await backend.client.update(CONFIGMAPS, made | {"data": {"k": "first"}}, "a", backend.namespace)
    with pytest.raises(Conflict) as caught:
        await backend.client.update(
            CONFIGMAPS, made | {"data": {"k": "second"}}, "a", backend.namespace
        )
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert str(caught.value) == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await backend.client.get(CONFIGMAPS, "a", backend.namespace))["data"] == {"k": "first"}


async def test_of_many_updates_with_one_version_one_succeeds(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    writes = [
        backend.client.update(CONFIGMAPS, made | {"data": {"k": str(n)}}, "a", backend.namespace)
        for n in range(10)
    ]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(result, Conflict) for result in results) == 9
    [winner] = [result for result in results if isinstance(result, dict)]
    assert await backend.client.get(CONFIGMAPS, "a", backend.namespace) == winner


async def test_without_a_version_a_built_in_object_is_overwritten(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    updated = await backend.client.update(
        CONFIGMAPS, configmap("a", {"k": "v"}), "a", backend.namespace
    )
    assert updated["data"] == {"k": "v"}


@pytest.mark.parametrize("kind", ["widget", "budget"])
async def test_updates_of_some_kinds_need_a_version(backend: Backend, kind: str) -> None:
    resource, body = (WIDGETS, widget("x")) if kind == "widget" else (PDBS, budget("x"))
    await backend.client.create(resource, body, backend.namespace)
    with pytest.raises(Invalid) as caught:
        await backend.client.update(resource, body, "x", backend.namespace)
    assert [cause.field for cause in caught.value.causes] == ["metadata.resourceVersion"]
    assert "must be specified for an update" in str(caught.value)


async def test_an_update_of_an_unknown_object_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound):
        await backend.client.update(
            CONFIGMAPS, configmap("a", resourceVersion="1"), "a", backend.namespace
        )


async def test_an_update_with_another_name_in_the_body_is_refused(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    with pytest.raises(BadRequest):
        await backend.client.update(CONFIGMAPS, configmap("b"), "a", backend.namespace)


async def test_an_update_with_another_uid_in_the_body_conflicts(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    other = configmap("a", uid="11111111-2222-3333-4444-555555555555")
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition"):
        await backend.client.update(CONFIGMAPS, other, "a", backend.namespace)


def relabelled(obj: Json) -> Json:
    return obj | {"metadata": obj["metadata"] | {"labels": {"new": "label"}}}


def resized(obj: Json) -> Json:
    return obj | {"spec": obj["spec"] | {"size": 9}}


def annotated(obj: Json) -> Json:
    return obj | {"metadata": obj["metadata"] | {"annotations": {"new": "note"}}}


@pytest.mark.parametrize(
    ("change", "generation"),
    [(relabelled, 1), (annotated, 1), (resized, 2)],
    ids=["labels", "annotations", "spec"],
)
async def test_generation_counts_changes_of_the_spec(
    backend: Backend, change: Any, generation: int
) -> None:
    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    assert made["metadata"]["generation"] == 1
    updated = await backend.client.update(WIDGETS, change(made), "w", backend.namespace)
    assert updated["metadata"]["generation"] == generation


async def test_generation_counts_spec_changes_of_a_deployment_and_a_pod(backend: Backend) -> None:
    made = await backend.client.create(DEPLOYMENTS, deployment("d", 0), backend.namespace)
    assert made["metadata"]["generation"] == 1
    scaled = await backend.client.patch(
        DEPLOYMENTS, {"spec": {"paused": True}}, "d", backend.namespace
    )
    assert scaled["metadata"]["generation"] == 2

    await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    labelled = await backend.client.patch(
        PODS, {"metadata": {"labels": {"a": "b"}}}, "p", backend.namespace
    )
    assert labelled["metadata"]["generation"] == 1
    updated = await backend.client.patch(
        PODS, {"spec": {"activeDeadlineSeconds": 1000}}, "p", backend.namespace
    )
    assert updated["metadata"]["generation"] == 2


async def test_a_config_map_has_no_generation(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    assert "generation" not in made["metadata"]


async def test_the_status_subresource_writes_status_only(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w", size=1), backend.namespace)
    body = resized(made) | {"status": {"phase": "Good"}}
    updated = await backend.client.update(
        WIDGETS, body, "w", backend.namespace, subresource="status"
    )
    assert updated["status"] == {"phase": "Good"}
    assert updated["spec"] == {"size": 1}
    assert updated["metadata"]["generation"] == 1
    assert version(updated) > version(made)


async def test_the_main_resource_ignores_status(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w", size=1), backend.namespace)
    made = await backend.client.update(
        WIDGETS, made | {"status": {"n": 1}}, "w", backend.namespace, subresource="status"
    )
    updated = await backend.client.update(
        WIDGETS, resized(made) | {"status": {"n": 2}}, "w", backend.namespace
    )
    assert updated["spec"] == {"size": 9}
    assert updated["status"] == {"n": 1}


async def test_status_writes_of_a_custom_resource_keep_its_labels(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    body = relabelled(made) | {"status": {"n": 1}}
    updated = await backend.client.update(
        WIDGETS, body, "w", backend.namespace, subresource="status"
    )
    assert "labels" not in updated["metadata"]


async def test_status_writes_of_a_budget_store_metadata(backend: Backend) -> None:
    """The group counters of a budget live in an annotation that is written with its status."""
    made = await backend.client.create(PDBS, budget("b"), backend.namespace)
    async with asyncio.timeout(30):
        while True:  # the real disruption controller writes status as well
            body = await backend.client.get(PDBS, "b", backend.namespace)
            body["metadata"].setdefault("annotations", {})["intact.dev/replicas"] = "{}"
            try:
                updated = await backend.client.update(
                    PDBS, body, "b", backend.namespace, subresource="status"
                )
                break
            except Conflict:
                continue
    assert updated["metadata"]["annotations"] == {"intact.dev/replicas": "{}"}
    assert updated["metadata"]["generation"] == made["metadata"]["generation"]


async def test_a_stale_status_write_conflicts(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    first = made | {"status": {"n": 1}}
    await backend.client.update(WIDGETS, first, "w", backend.namespace, subresource="status")
    with pytest.raises(Conflict):
        await backend.client.update(
            WIDGETS, made | {"status": {"n": 2}}, "w", backend.namespace, subresource="status"
        )


async def test_a_resource_without_status_has_no_subresource(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await backend.client.update(CONFIGMAPS, made, "a", backend.namespace, subresource="status")


async def test_scale_is_a_view_of_replicas(backend: Backend) -> None:
    await backend.client.create(DEPLOYMENTS, deployment("d", 0), backend.namespace)
    await backend.client.patch(DEPLOYMENTS, {"spec": {"paused": True}}, "d", backend.namespace)
    scale = await backend.client.get(DEPLOYMENTS, "d", backend.namespace, subresource="scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {} or scale["spec"] == {"replicas": 0}
    assert scale["status"]["selector"] == "app=d"
    patched = await backend.client.patch(
        DEPLOYMENTS, {"spec": {"replicas": 2}}, "d", backend.namespace, subresource="scale"
    )
    assert patched["spec"] == {"replicas": 2}
    whole = await backend.client.get(DEPLOYMENTS, "d", backend.namespace)
    assert whole["spec"]["replicas"] == 2
    assert whole["metadata"]["generation"] == 3


def budget(name: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
    }
