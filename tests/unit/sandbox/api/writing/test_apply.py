"""Server-side apply, and the ownership of fields that it rests on."""

import pytest

from intact.sandbox.api.failures import Failure
from intact.sandbox.api.objects import Json
from intact.sandbox.api.writing.apply import apply
from intact.sandbox.api.writing.fields import Shapes, from_fields_v1, path_text, to_fields_v1
from intact.sandbox.api.writing.managers import Owner, record_update

TYPED = Shapes(typed=True)
CUSTOM = Shapes(typed=False)


def applied(
    live: Json | None,
    manager: str,
    config: Json,
    *,
    force: bool = False,
    shapes: Shapes = TYPED,
    subresource: str = "",
) -> Json:
    owner = Owner(manager, "Apply", "v1", subresource)
    return apply(live, config, owner, "now", shapes, force=force, status=True)


def updated(live: Json, manager: str, **changes: Json) -> Json:
    new = {**live, **changes}
    entries = record_update(live, new, Owner(manager, "Update", "v1"), "now", TYPED, status=True)
    return {**new, "metadata": {**new.get("metadata", {}), "managedFields": entries}}


def owned(obj: Json) -> dict[str, Json]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def plain(obj: Json) -> Json:
    """Without the metadata."""
    return {key: value for key, value in obj.items() if key != "metadata"}


def test_what_is_applied_is_owned() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": {"z": 2}}})
    assert plain(made) == {"spec": {"x": 1, "y": {"z": 2}}}
    assert owned(made) == {"a": {"f:spec": {"f:x": {}, "f:y": {"f:z": {}}}}}


def test_what_is_no_longer_applied_goes() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": 2}})
    assert plain(applied(made, "a", {"spec": {"x": 1}})) == {"spec": {"x": 1}}


def test_what_was_never_applied_stays() -> None:
    made = applied({"spec": {"default": True}}, "a", {"spec": {"x": 1}})
    assert plain(applied(made, "a", {"spec": {}})) == {"spec": {"default": True}}


def test_what_two_have_applied_stays_for_the_other() -> None:
    made = applied(applied(None, "a", {"spec": {"x": 1}}), "b", {"spec": {"x": 1}})
    left = applied(made, "a", {"spec": {"y": 2}})
    assert plain(left) == {"spec": {"x": 1, "y": 2}}
    assert owned(left) == {"a": {"f:spec": {"f:y": {}}}, "b": {"f:spec": {"f:x": {}}}}


def test_another_value_of_an_owned_field_conflicts() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": 1}})
    with pytest.raises(Failure) as caught:
        applied(made, "b", {"spec": {"x": 2}})
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "a": .spec.x'
    assert caught.value.status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.x"}
    ]


def test_conflicts_are_listed_by_manager() -> None:
    made = updated(applied(None, "b", {"spec": {"x": 1}}), "a", data={"k": "v"})
    with pytest.raises(Failure) as caught:
        applied(made, "c", {"spec": {"x": 2}, "data": {"k": "w"}})
    assert str(caught.value) == (
        'Apply failed with 2 conflicts: conflicts with "a" using v1:\n- .data.k\n'
        'conflicts with "b":\n- .spec.x'
    )


def test_a_forced_apply_takes_over_fields() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": 1}})
    taken = applied(made, "b", {"spec": {"x": 2}}, force=True)
    assert plain(taken) == {"spec": {"x": 2, "y": 1}}
    assert owned(taken) == {"a": {"f:spec": {"f:y": {}}}, "b": {"f:spec": {"f:x": {}}}}


def test_an_update_takes_over_what_it_changes() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": 1}})
    changed = updated(made, "b", spec={"x": 2, "y": 1})
    assert owned(changed) == {"a": {"f:spec": {"f:y": {}}}, "b": {"f:spec": {"f:x": {}}}}
    with pytest.raises(Failure, match=r'conflict with "b" using v1: \.spec\.x'):
        applied(changed, "a", {"spec": {"x": 1, "y": 1}})


def test_an_update_owns_the_item_that_it_adds() -> None:
    made = applied(None, "a", {"spec": {"containers": [{"name": "x"}]}})
    changed = updated(made, "b", spec={"containers": [{"name": "x"}, {"name": "y"}]})
    item: Json = {'k:{"name":"y"}': {".": {}, "f:name": {}}}
    assert owned(changed)["b"] == {"f:spec": {"f:containers": item}}


def test_a_field_that_an_update_removes_has_no_owner() -> None:
    made = applied(None, "a", {"spec": {"x": 1, "y": 1}})
    assert owned(updated(made, "b", spec={"y": 1})) == {"a": {"f:spec": {"f:y": {}}}}


def test_items_of_an_associative_list_have_their_own_owners() -> None:
    made = applied(None, "a", {"spec": {"containers": [{"name": "x", "image": "1"}]}})
    both = applied(made, "b", {"spec": {"containers": [{"name": "y", "image": "2"}]}})
    assert [item["name"] for item in both["spec"]["containers"]] == ["x", "y"]
    assert owned(both)["b"] == {
        "f:spec": {"f:containers": {'k:{"name":"y"}': {".": {}, "f:image": {}, "f:name": {}}}}
    }
    left = applied(both, "a", {"spec": {}})
    assert left["spec"]["containers"] == [{"name": "y", "image": "2"}]


def test_an_item_that_another_has_a_part_in_keeps_that_part() -> None:
    item = {"name": "x", "image": "1", "env": [{"name": "E", "value": "1"}]}
    made = applied(None, "a", {"spec": {"containers": [item]}})
    both = applied(made, "b", {"spec": {"containers": [{"name": "x", "image": "1"}]}})
    left = applied(both, "a", {"spec": {}})
    assert left["spec"]["containers"] == [{"name": "x", "image": "1"}]


def test_a_map_that_another_has_put_something_into_stays() -> None:
    made = applied(None, "a", {"spec": {"labels": {}}})
    both = applied(made, "b", {"spec": {"labels": {"k": "v"}}})
    assert applied(both, "a", {"spec": {}})["spec"] == {"labels": {"k": "v"}}


def test_members_of_a_set_have_their_own_owners() -> None:
    made = applied(None, "a", {"metadata": {"finalizers": ["x.dev/a"]}})
    both = applied(made, "b", {"metadata": {"finalizers": ["x.dev/b"]}})
    assert both["metadata"]["finalizers"] == ["x.dev/a", "x.dev/b"]
    left = applied(both, "a", {"metadata": {}})
    assert left["metadata"]["finalizers"] == ["x.dev/b"]


def test_lists_of_custom_kinds_are_one_value() -> None:
    made = applied(None, "a", {"spec": {"containers": [{"name": "x"}]}}, shapes=CUSTOM)
    with pytest.raises(Failure, match=r"\.spec\.containers"):
        applied(made, "b", {"spec": {"containers": [{"name": "y"}]}}, shapes=CUSTOM)


def test_a_selector_is_one_value() -> None:
    made = applied(None, "a", {"spec": {"selector": {"matchLabels": {"x": "1"}}}})
    with pytest.raises(Failure, match=r"\.spec\.selector"):
        applied(made, "b", {"spec": {"selector": {"matchLabels": {"y": "1"}}}})


def test_the_status_endpoint_owns_only_status() -> None:
    made = applied(None, "a", {"spec": {"x": 1}})
    shown = applied(made, "b", {"spec": {"x": 2}, "status": {"y": 1}}, subresource="status")
    assert owned(shown)["b"] == {"f:status": {"f:y": {}}}


def test_no_manager_owns_names_and_versions() -> None:
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "y", "resourceVersion": "1", "labels": {"a": "b"}},
    }
    assert owned(applied(None, "a", config)) == {"a": {"f:metadata": {"f:labels": {"f:a": {}}}}}


def test_applying_the_same_again_changes_nothing() -> None:
    config: Json = {"spec": {"x": 1}}
    made = applied(None, "a", config)
    owner = Owner("a", "Apply", "v1")
    assert apply(made, config, owner, "later", TYPED, force=False, status=True) == made


def test_ownership_may_not_be_applied() -> None:
    with pytest.raises(Failure, match="must be nil"):
        applied(None, "a", {"metadata": {"managedFields": [{"manager": "b"}]}})


FIELDS: list[tuple[str, Json]] = [
    ("a leaf", {"f:spec": {"f:x": {}}}),
    ("a map and what is in it", {"f:data": {".": {}, "f:x": {}}}),
    ("an item", {"f:c": {'k:{"name":"x"}': {".": {}, "f:image": {}}}}),
    ("a member of a set", {"f:metadata": {"f:finalizers": {'v:"x"': {}}}}),
]


@pytest.mark.parametrize("fields", [case[1] for case in FIELDS], ids=[case[0] for case in FIELDS])
def test_fields_survive_being_written_and_read(fields: Json) -> None:
    assert to_fields_v1(from_fields_v1(fields)) == fields


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:x"), ".spec.x"),
        (("f:c", 'k:{"name":"x"}', "f:image"), '.c[name="x"].image'),
        (("f:p", 'k:{"containerPort":80,"protocol":"TCP"}'), '.p[containerPort=80,protocol="TCP"]'),
        (("f:finalizers", 'v:"x"'), '.finalizers[="x"]'),
    ],
)
def test_how_conflicts_name_fields(path: tuple[str, ...], text: str) -> None:
    assert path_text(path) == text
