"""JSON Patch and JSON Merge Patch."""

from typing import Any

import pytest

from intact.kube.errors import PatchError
from intact.sandbox.api.writing.patches import json_patch, merge_patch

MERGES: list[tuple[str, Any, Any, Any]] = [
    ("a member is replaced", {"a": "b"}, {"a": "c"}, {"a": "c"}),
    ("a member is added", {"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ("null removes", {"a": "b", "c": "d"}, {"a": None}, {"c": "d"}),
    ("null of nothing is nothing", {"a": "b"}, {"c": None}, {"a": "b"}),
    ("lists are replaced", {"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    ("objects merge", {"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
    ("an object replaces a scalar", {"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
    ("nulls inside what is new go too", {}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    ("a scalar replaces everything", {"a": 1}, "x", "x"),
]


@pytest.mark.parametrize(
    ("target", "patch", "expected"), [case[1:] for case in MERGES], ids=[case[0] for case in MERGES]
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def test_merge_patch_changes_neither_argument() -> None:
    target, patch = {"a": {"b": 1}}, {"a": {"c": 2}}
    merge_patch(target, patch)
    assert (target, patch) == ({"a": {"b": 1}}, {"a": {"c": 2}})


def op(name: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **rest}


PATCHES: list[tuple[str, Any, list[dict[str, Any]], Any]] = [
    ("add to an object", {}, [op("add", "/a", value=1)], {"a": 1}),
    ("add replaces", {"a": 1}, [op("add", "/a", value=2)], {"a": 2}),
    ("add into a list", [1, 3], [op("add", "/1", value=2)], [1, 2, 3]),
    ("add at the end", [1], [op("add", "/-", value=2)], [1, 2]),
    ("add at the length", [1], [op("add", "/1", value=2)], [1, 2]),
    ("remove a member", {"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
    ("remove an item", [1, 2, 3], [op("remove", "/1")], [1, 3]),
    ("replace an item", [1, 2], [op("replace", "/1", value=3)], [1, 3]),
    ("replace a missing member", {}, [op("replace", "/a", value=3)], {"a": 3}),
    ("replace everything", {"a": 1}, [op("replace", "", value=[])], []),
    ("move", {"a": 1}, [op("move", "/b", **{"from": "/a"})], {"b": 1}),
    ("copy", {"a": [1]}, [op("copy", "/b", **{"from": "/a"})], {"a": [1], "b": [1]}),
    ("test and go on", {"a": 1}, [op("test", "/a", value=1), op("remove", "/a")], {}),
    ("an escaped slash", {"a/b": 1}, [op("remove", "/a~1b")], {}),
    ("an escaped tilde", {"a~b": 1}, [op("remove", "/a~0b")], {}),
    ("a key that looks like an index", {"0": 1}, [op("remove", "/0")], {}),
]


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [case[1:] for case in PATCHES],
    ids=[case[0] for case in PATCHES],
)
def test_json_patch(document: Any, patch: list[dict[str, Any]], expected: Any) -> None:
    assert json_patch(document, patch) == expected


def test_a_copy_shares_nothing_with_its_source() -> None:
    copied = json_patch({"a": [1]}, [op("copy", "/b", **{"from": "/a"})])
    assert json_patch(copied, [op("add", "/b/-", value=2)]) == {"a": [1], "b": [1, 2]}


MISFITS: list[tuple[str, Any, dict[str, Any]]] = [
    ("test of another value", {"a": 1}, op("test", "/a", value=2)),
    ("true is not 1", {"a": True}, op("test", "/a", value=1)),
    ("test of nothing", {}, op("test", "/a", value=1)),
    ("remove nothing", {}, op("remove", "/a")),
    ("add without a parent", {}, op("add", "/a/b", value=1)),
    ("add beyond the end", [1], op("add", "/2", value=1)),
    ("replace beyond the end", [1], op("replace", "/1", value=1)),
    ("a leading zero", [1, 2], op("remove", "/01")),
    ("a negative index", [1, 2], op("remove", "/-1")),
    ("the end is not an item", [1], op("remove", "/-")),
    ("into a scalar", {"a": 1}, op("add", "/a/b", value=1)),
    ("no value", {}, op("add", "/a")),
    ("no path", {}, {"op": "remove"}),
    ("no pointer", {"a": 1}, op("remove", "a")),
    ("an unknown operation", {}, op("toggle", "/a", value=1)),
    ("move from nothing", {}, op("move", "/a", **{"from": "/b"})),
]


@pytest.mark.parametrize(
    ("document", "operation"), [case[1:] for case in MISFITS], ids=[case[0] for case in MISFITS]
)
def test_a_patch_that_does_not_fit(document: Any, operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        json_patch(document, [operation])
