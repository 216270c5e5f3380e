"""The metadata of objects: what is checked of every kind. The contract has the messages."""

import pytest

from intact.sandbox import DEFAULT_KINDS, Kind
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.objects import Json
from intact.sandbox.api.validation import (
    check_name,
    check_namespace,
    check_type,
    metadata_errors,
    update_errors,
)

POD = DEFAULT_KINDS[0]
WIDGET = Kind("example.com", "v1", "widgets", "Widget")

METADATA: dict[str, tuple[Kind, Json, list[str]]] = {
    "a good name": (POD, {"name": "a.b-c"}, []),
    "no name": (POD, {}, ["metadata.name"]),
    "a bad name": (POD, {"name": "A"}, ["metadata.name"]),
    "a long name": (POD, {"name": "a" * 254}, ["metadata.name"]),
    "good labels": (POD, {"name": "p", "labels": {"example.com/a": "B.c", "b": ""}}, []),
    "a bad label": (POD, {"name": "p", "labels": {"-a": "b"}}, ["metadata.labels"]),
    "a bad value": (POD, {"name": "p", "labels": {"a": "b c"}}, ["metadata.labels"]),
    "a long value": (POD, {"name": "p", "labels": {"a": "b" * 64}}, ["metadata.labels"]),
    "a qualified finalizer": (POD, {"name": "p", "finalizers": ["example.com/x"]}, []),
    "a plain finalizer": (POD, {"name": "p", "finalizers": ["x"]}, ["metadata.finalizers[0]"]),
    "a plain finalizer of a custom kind": (WIDGET, {"name": "w", "finalizers": ["x"]}, []),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata(name: str) -> None:
    kind, meta, fields = METADATA[name]
    assert [error.field for error in metadata_errors(kind, {"metadata": meta})] == fields


def test_a_built_in_object_takes_its_type_from_the_path() -> None:
    obj: Json = {}
    check_type(POD, "v1", obj)
    assert obj == {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        (POD, {"kind": "Node"}),
        (POD, {"apiVersion": "v2"}),
        (WIDGET, {"apiVersion": "example.com/v1"}),
        (WIDGET, {"apiVersion": "example.com/v1", "kind": "Gadget"}),
    ],
)
def test_an_object_of_another_type_is_refused(kind: Kind, obj: Json) -> None:
    with pytest.raises(Failure):
        check_type(kind, "v1", obj)


def test_name_and_namespace_are_those_of_the_path() -> None:
    obj: Json = {"metadata": {"name": "p"}}
    check_namespace(POD, "ns", obj)
    assert obj["metadata"]["namespace"] == "ns"
    with pytest.raises(Failure, match="does not match the namespace"):
        check_namespace(POD, "other", obj)
    check_name(obj, "p")
    with pytest.raises(Failure, match="does not match the name on the URL"):
        check_name(obj, "q")


@pytest.mark.parametrize(
    ("new", "fields"),
    [
        ({"uid": "1"}, []),
        ({"uid": "2"}, ["metadata.uid"]),
        ({"finalizers": ["a", "b"]}, ["metadata.finalizers"]),
        ({"finalizers": ["a"]}, []),
        ({"deletionTimestamp": "then"}, ["metadata.deletionTimestamp"]),
    ],
)
def test_what_an_update_may_not_change(new: Json, fields: list[str]) -> None:
    old = {"metadata": {"uid": "1", "deletionTimestamp": "now", "finalizers": ["a"]}}
    assert [error.field for error in update_errors({"metadata": new}, old)] == fields
