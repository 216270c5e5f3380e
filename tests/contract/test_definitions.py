"""CustomResourceDefinitions: what their schemas drop, default and refuse."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from intact.kube.errors import AlreadyExists, Invalid, NotFound
from intact.kube.resources import untyped
from tests.contract.backends import Backend
from tests.support.objects import CRDS, Json

GADGETS = untyped("contract.intact.dev", "v1", "gadgets", "Gadget")

SPEC: Json = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "replicas": {"type": "integer"},
        "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
        "amount": {"x-kubernetes-int-or-string": True},
        "ratio": {"type": "number"},
        "tags": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "object", "properties": {"key": {"type": "string", "default": "k"}}},
        },
        "limits": {
            "type": "object",
            "maxProperties": 2,
            "additionalProperties": {"type": "integer"},
        },
        "nested": {
            "type": "object",
            "default": {},
            "properties": {"on": {"type": "boolean", "default": True}},
        },
        "maybe": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition() -> Json:
    properties = {
        "spec": SPEC,
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
    }
    version = {
        "name": GADGETS.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": properties, "required": ["spec"]}
        },
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"},
        },
    }
    names = {"plural": GADGETS.plural, "kind": GADGETS.kind, "shortNames": ["gd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": GADGETS.full_name},
        "spec": {
            "group": GADGETS.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


async def defined(backend: Backend) -> None:
    with suppress(AlreadyExists):
        await backend.client.create(CRDS, definition())
    async with asyncio.timeout(30):
        while True:
            with suppress(NotFound):
                await backend.client.list(GADGETS, backend.namespace)
                return
            await asyncio.sleep(0.02)


def gadget(spec: Any, name: str = "g") -> Json:
    return {
        "apiVersion": GADGETS.api_version,
        "kind": GADGETS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


async def create(backend: Backend, spec: Any) -> Json:
    await defined(backend)
    return await backend.client.create(GADGETS, gadget(spec), backend.namespace)


def mistyped(field: str, wanted: str, got: str) -> str:
    return f'{field}: Invalid value: "{got}": {field} in body must be of type {wanted}: "{got}"'


UNSUPPORTED = 'spec.mode: Unsupported value: {}: supported values: "fast", "slow"'
OTHER = '"other"'
TOO_SMALL = "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"


async def test_a_definition_is_established_with_its_names(backend: Backend) -> None:
    await defined(backend)
    async with asyncio.timeout(30):
        while True:
            found = await backend.client.get(CRDS, GADGETS.full_name)
            conditions = {
                each["type"]: (each["status"], each["reason"])
                for each in (found.get("status") or {}).get("conditions") or ()
            }
            if "Established" in conditions:
                break
            await asyncio.sleep(0.02)
    assert conditions == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    names = {
        "plural": "gadgets",
        "singular": "gadget",
        "kind": "Gadget",
        "listKind": "GadgetList",
        "shortNames": ["gd"],
    }
    assert found["spec"]["names"] == found["status"]["acceptedNames"] == names
    assert found["status"]["storedVersions"] == ["v1"]


async def test_defaults_are_filled_in(backend: Backend) -> None:
    made = await create(backend, {"size": 1, "tags": [{}]})
    assert made["spec"] == {
        "size": 1,
        "mode": "fast",
        "tags": [{"key": "k"}],
        "nested": {"on": True},
    }


async def test_unknown_fields_are_dropped(backend: Backend) -> None:
    spec = {
        "size": 1,
        "other": 1,
        "nested": {"on": False, "off": True},
        "tags": [{"key": "a", "value": "b"}],
        "limits": {"cpu": 1},
        "free": {"a": {"b": 1}},
    }
    made = await create(backend, spec)
    assert made["spec"] == {
        "size": 1,
        "mode": "fast",
        "nested": {"on": False},
        "tags": [{"key": "a"}],
        "limits": {"cpu": 1},
        "free": {"a": {"b": 1}},
    }


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "spec.size: Required value"),
        (
            {"size": 0},
            TOO_SMALL,
        ),
        (
            {"size": 10},
            "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9",
        ),
        ({"size": "1"}, mistyped("spec.size", "integer", "string")),
        ({"size": None}, "spec.size: Required value"),
        (
            {"size": 1, "mode": "other"},
            UNSUPPORTED.format(OTHER),
        ),
        (
            {"size": 1, "mode": 1},
            f"[{mistyped('spec.mode', 'string', 'integer')}, {UNSUPPORTED.format(1)}]",
        ),
        (
            {"size": 1, "name": "X"},
            'spec.name: Invalid value: "X": spec.name in body should be at least 2 chars long',
        ),
        ({"size": 1, "name": "abcdef"}, "spec.name: Too long: may not be more than 5 bytes"),
        ({"size": 1, "amount": True}, mistyped("spec.amount", "integer,string", "boolean")),
        ({"size": 1, "ratio": "x"}, mistyped("spec.ratio", "number", "string")),
        (
            {"size": 1, "tags": []},
            "spec.tags: Invalid value: 0: spec.tags in body should have at least 1 items",
        ),
        ({"size": 1, "tags": [{}, {}, {}]}, "spec.tags: Too many: 3: must have at most 2 items"),
        ({"size": 1, "tags": [{"key": 1}]}, mistyped("spec.tags[0].key", "string", "integer")),
        ({"size": 1, "limits": {"cpu": "1"}}, mistyped("spec.limits.cpu", "integer", "string")),
        (
            {"size": 1, "limits": {"a": 1, "b": 2, "c": 3}},
            "spec.limits: Too many: 3: must have at most 2 items",
        ),
        ({"size": 1, "nested": []}, mistyped("spec.nested", "object", "array")),
    ],
)
async def test_what_does_not_fit_is_refused(backend: Backend, spec: Any, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(backend, spec)
    assert str(refused.value) == f'Gadget.contract.intact.dev "g" is invalid: {why}'


@pytest.mark.parametrize(
    "spec",
    [
        {"size": 1, "amount": 1},
        {"size": 1, "amount": "10%"},
        {"size": 1, "ratio": 1},
        {"size": 1, "ratio": 0.5},
        {"size": 1, "maybe": None},
    ],
    ids=str,
)
async def test_what_fits_is_stored(backend: Backend, spec: Json) -> None:
    made = await create(backend, spec)
    assert {name: made["spec"][name] for name in spec} == spec


async def test_a_null_that_may_not_be_one_is_dropped(backend: Backend) -> None:
    made = await create(backend, {"size": 1, "name": None, "limits": None, "mode": None})
    assert made["spec"] == {"size": 1, "mode": "fast", "nested": {"on": True}}


async def test_updates_and_the_status_are_checked_and_cut_too(backend: Backend) -> None:
    await create(backend, {"size": 5})
    with pytest.raises(Invalid, match=r"spec.size: Invalid value: 0"):
        await backend.client.patch(GADGETS, {"spec": {"size": 0}}, "g", backend.namespace)
    made = await backend.client.patch(
        GADGETS, {"status": {"ready": 2, "more": 1}}, "g", backend.namespace, subresource="status"
    )
    assert made["status"] == {"ready": 2}
    with pytest.raises(Invalid, match=r"status.ready: Invalid value: \"string\""):
        await backend.client.patch(
            GADGETS, {"status": {"ready": "2"}}, "g", backend.namespace, subresource="status"
        )


async def test_its_scale_is_where_the_definition_says(backend: Backend) -> None:
    await create(backend, {"size": 5, "replicas": 3})
    path = GADGETS.path(backend.namespace, "g") + "/scale"
    found = json.loads(await backend.client.raw(path))
    assert (found["spec"], found["status"]) == ({"replicas": 3}, {"replicas": 0})
