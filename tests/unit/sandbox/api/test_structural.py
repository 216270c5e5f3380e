"""Structural schemas. What both servers do alike is in tests/contract/test_definitions.py."""

from intact.operator.install.crds import definitions
from intact.sandbox.api.structural import Schema
from tests.support.objects import Json


def completed(schema: Json, obj: Json) -> Json:
    Schema(schema).complete(obj)
    return obj


def test_type_and_metadata_are_always_kept() -> None:
    obj = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "more": 1}
    expected = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}}
    assert completed({"type": "object"}, obj) == expected


def test_an_embedded_resource_keeps_its_type_and_metadata() -> None:
    template = {"type": "object", "x-kubernetes-embedded-resource": True}
    schema = {"type": "object", "properties": {"template": template}}
    found = completed(schema, {"template": {"kind": "Pod", "metadata": {"a": 1}, "more": 1}})
    assert found == {"template": {"kind": "Pod", "metadata": {"a": 1}}}


def test_a_default_is_a_copy() -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "default": []}}}
    completed(schema, {})["list"].append(1)
    assert completed(schema, {}) == {"list": []}


def test_defaults_reach_into_maps() -> None:
    inner = {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}}
    schema = {"type": "object", "additionalProperties": inner}
    assert completed(schema, {"a": {}}) == {"a": {"on": True}}


def test_errors_come_in_the_order_of_their_fields() -> None:
    number = {"type": "integer"}
    schema = {"type": "object", "properties": {"b": number, "a": number}}
    assert [error.field for error in Schema(schema).errors({"b": "", "a": ""})] == ["a", "b"]


def test_the_schemas_of_intact_name_nothing_that_is_not_checked_unknowingly() -> None:
    checked = {
        *("type", "properties", "items", "additionalProperties", "required", "nullable", "enum"),
        *("minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"),
        "maxProperties",
        *("default", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
    }
    not_checked = {
        *("description", "format", "x-kubernetes-validations", "x-kubernetes-list-type"),
        *("x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    }

    def words(schema: Json) -> set[str]:
        found = set(schema)
        inner = [*schema.get("properties", {}).values()]
        inner += [schema[name] for name in ("items", "additionalProperties") if name in schema]
        return found.union(*(words(each) for each in inner))

    for definition in definitions():
        for version in definition["spec"]["versions"]:
            assert words(version["schema"]["openAPIV3Schema"]) <= checked | not_checked
