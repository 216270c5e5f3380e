"""What a revision changed, in a few words."""

import pytest

from intact.cli.rbg.changes import changed_roles, images
from tests.support.rbg_objects import Json, template


def role(image: str = "engine:1", **rest: object) -> Json:
    return {"template": template(image), "workload": "StatefulSet", **rest}


def annotated(**annotations: str) -> Json:
    return role() | {"template": template() | {"metadata": {"annotations": annotations}}}


RESTARTED = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
TWICE = {"kubectl.kubernetes.io/restartedAt": "2026-01-02T00:00:00Z"}
SIDECAR = {"template": {"spec": {"containers": [{"image": "engine:1"}, {"image": "proxy:1"}]}}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (role(), role("engine:2"), "engine:1 → engine:2"),
        (role(), annotated(**RESTARTED), "restarted"),
        (annotated(**RESTARTED), annotated(**TWICE), "restarted"),
        (role(), annotated(tier="gold"), "template"),
        (role(), annotated(tier="gold", **RESTARTED), "template"),
        (role(), role(workload="Deployment"), "StatefulSet → Deployment"),
        (role(size=2), role(size=4), "size 2 → 4"),
        (role(size=2), role("engine:2", size=4), "size 2 → 4, engine:1 → engine:2"),
        (role(), role() | SIDECAR, "engine:1 → proxy:1"),
        (role() | SIDECAR, role(), "proxy:1 → engine:1"),
    ],
)
def test_the_change_of_a_role(before: Json, after: Json, expected: str) -> None:
    assert changed_roles({"a": before, "b": role()}, {"a": after, "b": role()}) == {"a": expected}


def test_roles_come_and_go() -> None:
    assert changed_roles({"a": role()}, {"b": role()}) == {"b": "added", "a": "removed"}


def test_the_first_revision_is_told_by_its_images() -> None:
    assert changed_roles(None, {"a": role(), "b": {}}) == {"a": "engine:1", "b": "no image"}


def test_images_are_those_of_all_containers_and_patches() -> None:
    both = {"template": {"spec": {**template()["spec"], "initContainers": [{"image": "init:1"}]}}}
    patches = {"leader": template("leader:1"), "worker": {"spec": {"containers": [{"name": "x"}]}}}
    assert images(role() | both | patches) == ["init:1", "engine:1", "leader:1"]
