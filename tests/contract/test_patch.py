"""The four kinds of patches."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import PatchType
from intact.kube.errors import ApiError, BadRequest, Conflict, Invalid, NotFound
from tests.contract.backends import Backend
from tests.support.objects import (
    CONFIGMAPS,
    PODS,
    WIDGETS,
    Json,
    configmap,
    pod,
    widget,
)

MERGE_CASES: list[tuple[str, Json, Json]] = [
    ("adds", {"data": {"c": "3"}}, {"a": "1", "b": "2", "c": "3"}),
    ("replaces", {"data": {"a": "9"}}, {"a": "9", "b": "2"}),
    ("null removes", {"data": {"a": None}}, {"b": "2"}),
    ("removing what is not there does nothing", {"data": {"z": None}}, {"a": "1", "b": "2"}),
]


@pytest.mark.parametrize(
    ("patch", "data"), [case[1:] for case in MERGE_CASES], ids=[case[0] for case in MERGE_CASES]
)
@pytest.mark.parametrize("kind", [PatchType.MERGE, PatchType.STRATEGIC], ids=["merge", "strategic"])
async def test_merge_and_strategic_patches_merge_maps(
    backend: Backend, kind: PatchType, patch: Json, data: dict[str, str]
) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a", {"a": "1", "b": "2"}), backend.namespace)
    patched = await backend.client.patch(CONFIGMAPS, patch, "a", backend.namespace, type=kind)
    assert patched["data"] == data


JSON_CASES: list[tuple[str, list[Json], Json]] = [
    ("add", [{"op": "add", "path": "/spec/new", "value": 1}], {"list": [1, 2], "new": 1}),
    ("append", [{"op": "add", "path": "/spec/list/-", "value": 3}], {"list": [1, 2, 3]}),
    ("insert", [{"op": "add", "path": "/spec/list/1", "value": 9}], {"list": [1, 9, 2]}),
    ("remove", [{"op": "remove", "path": "/spec/list/0"}], {"list": [2]}),
    ("replace", [{"op": "replace", "path": "/spec/list", "value": []}], {"list": []}),
    (
        "replace of nothing adds",
        [{"op": "replace", "path": "/spec/new", "value": 1}],
        {"list": [1, 2], "new": 1},
    ),
    ("move", [{"op": "move", "from": "/spec/list", "path": "/spec/l"}], {"l": [1, 2]}),
    (
        "copy",
        [{"op": "copy", "from": "/spec/list/1", "path": "/spec/one"}],
        {"list": [1, 2], "one": 2},
    ),
    (
        "test, then go on",
        [
            {"op": "test", "path": "/spec/list/0", "value": 1},
            {"op": "remove", "path": "/spec/list/0"},
        ],
        {"list": [2]},
    ),
    (
        "escapes",
        [{"op": "add", "path": "/spec/a~1b~0c", "value": 1}],
        {"list": [1, 2], "a/b~c": 1},
    ),
]


@pytest.mark.parametrize(
    ("patch", "spec"), [case[1:] for case in JSON_CASES], ids=[case[0] for case in JSON_CASES]
)
async def test_a_json_patch_applies_its_operations(
    backend: Backend, patch: list[Json], spec: Json
) -> None:
    body = widget("w") | {"spec": {"list": [1, 2]}}
    await backend.client.create(WIDGETS, body, backend.namespace)
    patched = await backend.client.patch(
        WIDGETS, patch, "w", backend.namespace, type=PatchType.JSON
    )
    assert patched["spec"] == spec


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/size", "value": 7},
        {"op": "remove", "path": "/spec/nothing"},
    ],
    ids=["test fails", "remove of nothing"],
)
async def test_a_json_patch_that_does_not_apply_is_invalid(
    backend: Backend, operation: Json
) -> None:
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    change = {"op": "replace", "path": "/spec/size", "value": 5}
    with pytest.raises(Invalid):
        await backend.client.patch(
            WIDGETS, [change, operation], "w", backend.namespace, type=PatchType.JSON
        )
    assert (await backend.client.get(WIDGETS, "w", backend.namespace))["spec"] == {"size": 1}


async def test_a_merge_patch_replaces_lists(backend: Backend) -> None:
    body = widget("w") | {"spec": {"list": [1, 2]}}
    await backend.client.create(WIDGETS, body, backend.namespace)
    patched = await backend.client.patch(WIDGETS, {"spec": {"list": [3]}}, "w", backend.namespace)
    assert patched["spec"] == {"list": [3]}


def images(obj: Json) -> dict[str, str]:
    return {container["name"]: container["image"] for container in obj["spec"]["containers"]}


async def test_a_strategic_patch_merges_lists_by_key(backend: Backend) -> None:
    both = {"one": "registry.example/one:1", "two": "registry.example/two:1"}
    await backend.client.create(PODS, pod("p", node=backend.node, images=both), backend.namespace)
    change = {"spec": {"containers": [{"name": "two", "image": "registry.example/two:2"}]}}
    patched = await backend.client.patch(
        PODS, change, "p", backend.namespace, type=PatchType.STRATEGIC
    )
    assert images(patched) == both | {"two": "registry.example/two:2"}


async def test_a_strategic_patch_can_delete_and_replace(backend: Backend) -> None:
    await backend.client.create(PODS, pod("p", finalizers=["x.io/a", "x.io/b"]), backend.namespace)
    for change, finalizers in (
        ({"finalizers": ["x.io/c"]}, ["x.io/a", "x.io/b", "x.io/c"]),
        ({"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}, ["x.io/b", "x.io/c"]),
    ):
        patched = await backend.client.patch(
            PODS, {"metadata": change}, "p", backend.namespace, type=PatchType.STRATEGIC
        )
        assert sorted(patched["metadata"]["finalizers"]) == finalizers
    labelled: dict[str, Any] = {"labels": {"a": "1", "b": "2"}}
    await backend.client.patch(PODS, {"metadata": labelled}, "p", backend.namespace)
    replaced = await backend.client.patch(
        PODS,
        {"metadata": {"labels": {"$patch": "replace", "c": "3"}}},
        "p",
        backend.namespace,
        type=PatchType.STRATEGIC,
    )
    assert replaced["metadata"]["labels"] == {"c": "3"}
    await backend.client.patch(PODS, {"metadata": {"finalizers": None}}, "p", backend.namespace)


async def test_a_strategic_patch_of_a_custom_resource_is_refused(backend: Backend) -> None:
    await backend.client.create(WIDGETS, widget("w"), backend.namespace)
    with pytest.raises(ApiError) as caught:
        await backend.client.patch(
            WIDGETS, {"spec": {}}, "w", backend.namespace, type=PatchType.STRATEGIC
        )
    assert (caught.value.code, caught.value.reason) == (415, "UnsupportedMediaType")


async def test_a_patch_with_a_stale_version_conflicts(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    await backend.client.patch(CONFIGMAPS, stale | {"data": {"a": "1"}}, "a", backend.namespace)
    with pytest.raises(Conflict):
        await backend.client.patch(CONFIGMAPS, stale | {"data": {"a": "2"}}, "a", backend.namespace)


async def test_patches_without_a_version_never_conflict(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await asyncio.gather(
        *(
            backend.client.patch(CONFIGMAPS, {"data": {f"k{n}": "v"}}, "a", backend.namespace)
            for n in range(4)
        )
    )
    found = await backend.client.get(CONFIGMAPS, "a", backend.namespace)
    assert sorted(found["data"]) == ["k0", "k1", "k2", "k3"]


async def test_a_patch_that_changes_nothing_stores_nothing(backend: Backend) -> None:
    made = await backend.client.create(WIDGETS, widget("w", size=1), backend.namespace)
    same = await backend.client.patch(WIDGETS, {"spec": {"size": 1}}, "w", backend.namespace)
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_of_an_unknown_object_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound):
        await backend.client.patch(CONFIGMAPS, {"data": {}}, "a", backend.namespace)


async def test_a_patch_of_status_leaves_the_rest(backend: Backend) -> None:
    await backend.client.create(WIDGETS, widget("w", size=1), backend.namespace)
    patched = await backend.client.patch(
        WIDGETS,
        {"spec": {"size": 2}, "status": {"n": 1}},
        "w",
        backend.namespace,
        subresource="status",
    )
    assert (patched["spec"], patched["status"]) == ({"size": 1}, {"n": 1})


async def test_a_malformed_patch_is_refused(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    with pytest.raises(BadRequest):
        await backend.client.patch(
            CONFIGMAPS, {"op": "add"}, "a", backend.namespace, type=PatchType.JSON
        )


async def apply(
    backend: Backend, data: dict[str, str], manager: str, *, force: bool = False
) -> Json:
    return await backend.client.patch(
        CONFIGMAPS,
        configmap("a", data),
        "a",
        backend.namespace,
        type=PatchType.APPLY,
        field_manager=manager,
        force=force,
    )


async def test_apply_creates_and_then_updates(backend: Backend) -> None:
    made = await apply(backend, {"k": "1"}, "one")
    assert made["data"] == {"k": "1"}
    updated = await apply(backend, {"k": "2"}, "one")
    assert updated["data"] == {"k": "2"}
    assert updated["metadata"]["uid"] == made["metadata"]["uid"]


async def test_apply_again_stores_nothing(backend: Backend) -> None:
    made = await apply(backend, {"k": "1"}, "one")
    again = await apply(backend, {"k": "1"}, "one")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_apply_removes_what_is_no_longer_applied(backend: Backend) -> None:
    await apply(backend, {"k": "1", "l": "1"}, "one")
    assert (await apply(backend, {"l": "1"}, "one"))["data"] == {"l": "1"}


async def test_apply_leaves_what_others_own(backend: Backend) -> None:
    await apply(backend, {"k": "1"}, "one")
    await backend.client.patch(
        CONFIGMAPS, {"data": {"other": "1"}}, "a", backend.namespace, field_manager="two"
    )
    assert (await apply(backend, {"k": "2"}, "one"))["data"] == {"k": "2", "other": "1"}


async def test_apply_conflicts_with_another_manager_unless_forced(backend: Backend) -> None:
    await apply(backend, {"k": "1"}, "one")
    with pytest.raises(Conflict) as caught:
        await apply(backend, {"k": "2"}, "two")
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [
        ("FieldManagerConflict", ".data.k")
    ]
    assert (await apply(backend, {"k": "2"}, "two", force=True))["data"] == {"k": "2"}
    with pytest.raises(Conflict):
        await apply(backend, {"k": "3"}, "one")


async def test_an_update_takes_over_what_it_changes(backend: Backend) -> None:
    await apply(backend, {"k": "1"}, "one")
    await backend.client.patch(
        CONFIGMAPS, {"data": {"k": "2"}}, "a", backend.namespace, field_manager="two"
    )
    with pytest.raises(Conflict):
        await apply(backend, {"k": "3"}, "one")


async def test_managers_that_apply_the_same_value_share_the_field(backend: Backend) -> None:
    await apply(backend, {"k": "1"}, "one")
    await apply(backend, {"k": "1"}, "two")
    # One manager gives the field up; the other still owns it.
    assert (await apply(backend, {}, "one"))["data"] == {"k": "1"}


@pytest.mark.parametrize("kind", [PatchType.MERGE, PatchType.STRATEGIC], ids=["merge", "strategic"])
async def test_a_patch_with_another_uid_is_invalid(backend: Backend, kind: PatchType) -> None:
    """So a patch with a UID never changes another object of the same name."""
    await backend.client.create(PODS, pod("p"), backend.namespace)
    body = {
        "metadata": {
            "uid": "11111111-2222-3333-4444-555555555555",
            "finalizers": ["example.com/held"],
        }
    }
    with pytest.raises(ApiError) as refused:
        await backend.client.patch(PODS, body, "p", backend.namespace, type=kind)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert {cause.field for cause in refused.value.causes} == {"metadata.uid"}
