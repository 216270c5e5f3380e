"""Strategic merge patches."""

from typing import Any

import pytest

from intact.kube.errors import PatchError
from intact.kube.strategic import Json, strategic_merge


def containers(*items: Json) -> Json:
    return {"containers": list(items)}


A = {"name": "a", "image": "a:1"}
B = {"name": "b", "image": "b:1"}

CASES: list[tuple[str, Json, Json, Json]] = [
    (
        "items merge by key",
        containers(A, B),
        containers({"name": "b", "image": "b:2"}),
        containers(A, {"name": "b", "image": "b:2"}),
    ),
    ("a new key adds an item", containers(A), containers(B), containers(A, B)),
    (
        "an item is deleted",
        containers(A, B),
        containers({"name": "a", "$patch": "delete"}),
        containers(B),
    ),
    (
        "deleting what is not there",
        containers(A),
        containers({"name": "x", "$patch": "delete"}),
        containers(A),
    ),
    ("a list is replaced", containers(A), containers({"$patch": "replace"}, B), containers(B)),
    (
        "an item is replaced",
        containers(A),
        containers({"name": "a", "$patch": "replace", "command": ["x"]}),
        containers({"name": "a", "command": ["x"]}),
    ),
    (
        "an object is replaced",
        {"spec": {"x": 1}},
        {"spec": {"$patch": "replace", "y": 2}},
        {"spec": {"y": 2}},
    ),
    ("an object is emptied", {"spec": {"x": 1}}, {"spec": {"$patch": "delete"}}, {"spec": {}}),
    ("null removes", {"spec": {"x": 1, "y": 2}}, {"spec": {"x": None}}, {"spec": {"y": 2}}),
    ("a list without a key is replaced", {"args": [1]}, {"args": [2]}, {"args": [2]}),
    (
        "finalizers are a set",
        {"finalizers": ["a", "b"]},
        {"finalizers": ["b", "c"]},
        {"finalizers": ["a", "b", "c"]},
    ),
    (
        "values are taken out of a set",
        {"finalizers": ["a", "b"]},
        {"$deleteFromPrimitiveList/finalizers": ["a"]},
        {"finalizers": ["b"]},
    ),
    (
        "an order is given",
        containers(A, B),
        {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
        containers(B, A),
    ),
    (
        "only these keys are kept",
        {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
        {"strategy": {"type": "Recreate"}},
    ),
    (
        "ports of a container",
        {"ports": [{"containerPort": 80, "name": "x"}]},
        {"ports": [{"containerPort": 80, "name": "y"}, {"containerPort": 81}]},
        {"ports": [{"containerPort": 80, "name": "y"}, {"containerPort": 81}]},
    ),
    (
        "ports of a service",
        {"ports": [{"port": 80, "name": "x"}]},
        {"ports": [{"port": 80, "name": "y"}]},
        {"ports": [{"port": 80, "name": "y"}]},
    ),
    (
        "conditions by type",
        {"conditions": [{"type": "Ready", "status": "False"}, {"type": "X", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True"}, {"type": "X", "status": "True"}]},
    ),
]


@pytest.mark.parametrize(
    ("target", "patch", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_strategic_merge(target: Json, patch: Json, expected: Json) -> None:
    assert strategic_merge(target, patch) == expected


@pytest.mark.parametrize(
    "patch",
    [{"$patch": "toggle"}, containers({"image": "without a name"})],
    ids=["directive", "key"],
)
def test_a_patch_that_makes_no_sense(patch: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        strategic_merge(containers(A), patch)
