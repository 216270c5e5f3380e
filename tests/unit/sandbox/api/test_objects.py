"""Objects as plain JSON."""

import random

import pytest

from intact.sandbox.api.objects import (
    Json,
    copied,
    generated_name,
    lookup,
    metadata,
    new_uid,
    put,
    typed_first,
    without_nulls,
)


def test_a_copy_shares_nothing() -> None:
    obj: Json = {"a": [{"b": 1}]}
    copy = copied(obj)
    assert copy == obj
    copy["a"][0]["b"] = 2
    assert obj == {"a": [{"b": 1}]}


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {}}])
def test_metadata_is_made_where_it_is_missing(obj: Json) -> None:
    metadata(obj)["name"] = "x"
    assert obj == {"metadata": {"name": "x"}}


def test_the_type_comes_first() -> None:
    obj = {"spec": {}, "kind": "Pod", "apiVersion": "v1"}
    assert list(typed_first(obj)) == ["apiVersion", "kind", "spec"]


@pytest.mark.parametrize(
    ("path", "value"), [("a.b", 1), (".a.b", 1), ("a", {"b": 1}), ("a.b.c", None), ("x.y", None)]
)
def test_values_are_found_by_their_path(path: str, value: object) -> None:
    assert lookup({"a": {"b": 1}}, path) == value


def test_a_value_is_put_with_what_leads_to_it() -> None:
    obj: Json = {"spec": {"a": 1}}
    put(obj, ".spec.b.c", 2)
    assert obj == {"spec": {"a": 1, "b": {"c": 2}}}


def test_typed_objects_have_no_nulls() -> None:
    assert without_nulls({"a": None, "b": [{"c": None}, None]}) == {"b": [{}, None]}


def test_names_and_uids_come_from_the_seed() -> None:
    first, again = random.Random(1), random.Random(1)
    assert new_uid(first) == new_uid(again)
    name = generated_name("x" * 80, first)
    assert name == generated_name("x" * 80, again)
    assert len(name) == 63
    assert name != generated_name("x" * 80, first)
