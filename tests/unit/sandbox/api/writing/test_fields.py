"""Sets of fields, as `metadata.managedFields` records them."""

import pytest

from intact.sandbox.api.objects import Json
from intact.sandbox.api.writing.fields import (
    Shapes,
    changed_fields,
    fields_of,
    from_fields_v1,
    path_text,
    to_fields_v1,
    without_path,
)

TYPED, CUSTOM = Shapes(typed=True), Shapes(typed=False)
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "uid": "u", "labels": {"a": "1"}, "finalizers": ["x/y"]},
    "spec": {"containers": [{"name": "main", "image": "i"}], "nodeSelector": {"zone": "z"}},
}


def texts(obj: Json, shapes: Shapes, *, maps: bool = True) -> list[str]:
    return sorted(path_text(path) for path in fields_of(obj, shapes, maps=maps))


def test_fields_of_a_built_in_object() -> None:
    assert texts(POD, TYPED) == [
        '.metadata.finalizers[="x/y"]',
        ".metadata.labels",
        ".metadata.labels.a",
        '.spec.containers[name="main"]',
        '.spec.containers[name="main"].image',
        '.spec.containers[name="main"].name',
        ".spec.nodeSelector",
    ]


def test_an_apply_owns_what_it_puts_into_a_map_and_not_the_map() -> None:
    assert ".metadata.labels" not in texts(POD, TYPED, maps=False)


def test_lists_of_custom_resources_are_one_field() -> None:
    assert ".spec.containers" in texts(POD, CUSTOM)
    assert ".spec.nodeSelector.zone" in texts(POD, CUSTOM)


@pytest.mark.parametrize(
    ("new", "touched", "removed"),
    [
        ({"spec": {"a": 1}}, [], []),
        ({"spec": {"a": 2}}, [".spec.a"], []),
        ({"spec": {"a": 1, "b": 1}}, [".spec.b"], []),
        ({"spec": {}}, [".spec"], [".spec.a"]),
    ],
)
def test_changed_fields(new: Json, touched: list[str], removed: list[str]) -> None:
    found = changed_fields({"spec": {"a": 1}}, new, TYPED)
    assert [sorted(map(path_text, each)) for each in found] == [touched, removed]


def test_items_of_a_list_are_compared_by_their_key() -> None:
    def spec(*items: Json) -> Json:
        return {"spec": {"containers": list(items)}}

    one, two = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}
    touched, removed = changed_fields(spec(one, two), spec(two, one | {"image": "2"}), TYPED)
    assert [path_text(path) for path in touched] == ['.spec.containers[name="a"].image']
    assert not removed


def test_fields_are_written_and_read_again() -> None:
    fields = fields_of(POD, TYPED)
    written = to_fields_v1(fields)
    assert written["f:metadata"]["f:labels"] == {".": {}, "f:a": {}}
    assert from_fields_v1(written) == fields


def test_what_is_removed_takes_its_empty_containers_with_it() -> None:
    obj: Json = {"spec": {"a": {"b": 1}, "c": 2}}
    without_path(obj, ("f:spec", "f:a", "f:b"), TYPED)
    assert obj == {"spec": {"c": 2}}
    without_path(obj, ("f:spec", "f:nothing", "f:b"), TYPED)
    assert obj == {"spec": {"c": 2}}
    pod: Json = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    without_path(pod, ("f:spec", "f:containers", 'k:{"name":"a"}'), TYPED)
    assert pod == {"spec": {"containers": [{"name": "b"}]}}
