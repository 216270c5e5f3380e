"""The CRDs say what the model reads and writes, field by field, and the docs say it too."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from intact.model.base import View
from intact.model.pub import PodUnavailableBudget
from intact.model.rbg import RoleBasedGroup, ScalingAdapter
from intact.operator.install.crds import definitions

DOCS = Path(__file__).parents[4] / "docs/reference"
KINDS: dict[str, tuple[type[View], str]] = {
    "PodUnavailableBudget": (PodUnavailableBudget, "pub.md"),
    "RoleBasedGroup": (RoleBasedGroup, "rbg.md"),
    "RoleBasedGroupScalingAdapter": (ScalingAdapter, "rbg.md"),
}
VERSIONS = {one["spec"]["names"]["kind"]: one["spec"]["versions"][0] for one in definitions()}
SCHEMAS = {kind: one["schema"]["openAPIV3Schema"] for kind, one in VERSIONS.items()}


def fields_of_schema(schema: dict[str, Any], path: str) -> set[str]:
    found = set()
    for name, inner in schema.get("properties", {}).items():
        found.add(f"{path}.{name}")
        found |= fields_of_schema(inner, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found |= fields_of_schema(inner, f"{path}[]")
    return found


def fields_of_model(node: Any, path: str) -> set[str]:
    match node:
        case msgspec.inspect.StructType(fields=fields):
            found = {f"{path}.{field.encode_name}" for field in fields}
            inner = [fields_of_model(each.type, f"{path}.{each.encode_name}") for each in fields]
            return found.union(*inner)
        case msgspec.inspect.UnionType(types=types):
            return set().union(*(fields_of_model(each, path) for each in types))
        case msgspec.inspect.ListType(item_type=item):
            return fields_of_model(item, f"{path}[]")
        case msgspec.inspect.DictType(value_type=value):
            return fields_of_model(value, f"{path}[]")
    return set()


def test_every_kind_is_compared() -> None:
    assert KINDS.keys() == VERSIONS.keys()


@pytest.mark.parametrize("definition", definitions(), ids=lambda one: one["metadata"]["name"])
def test_all_versions_of_a_kind_are_the_same_and_the_first_one_is_stored(
    definition: dict[str, Any],
) -> None:
    first, *others = definition["spec"]["versions"]
    assert first["storage"]
    assert first["served"]
    for other in others:
        assert other | {"name": first["name"], "storage": True} == first
        assert not other["storage"]
        # Otherwise one change of the schema would show in both.
        assert other["schema"] is not first["schema"]


def test_budgets_are_served_in_both_versions_of_their_group() -> None:
    [found] = [one for one in definitions() if one["spec"]["group"] == "policy.kruise.io"]
    assert [one["name"] for one in found["spec"]["versions"]] == ["v1alpha1", "v1beta1"]


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_has_the_fields_of_the_model_and_no_other(kind: str, part: str) -> None:
    model = msgspec.inspect.type_info(KINDS[kind][0])
    assert isinstance(model, msgspec.inspect.StructType)
    [field] = [field for field in model.fields if field.encode_name == part]
    schema = SCHEMAS[kind]["properties"][part]
    assert fields_of_schema(schema, part) == fields_of_model(field.type, part)


def without_description(schema: dict[str, Any], path: str) -> list[str]:
    found = []
    for name, inner in schema.get("properties", {}).items():
        if not inner.get("description", "").strip():
            found.append(f"{path}.{name}")
        found += without_description(inner, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found += without_description(inner, f"{path}[]")
    return found


BY_THE_SERVER = ("apiVersion", "kind", "metadata")  # it replaces whatever a schema says of these


@pytest.mark.parametrize("kind", KINDS)
def test_kubectl_explain_has_a_description_of_every_field(kind: str) -> None:
    assert SCHEMAS[kind]["description"]
    missing = without_description(SCHEMAS[kind], kind)
    assert missing == [f"{kind}.{name}" for name in BY_THE_SERVER]


COMMON = ("elector.", "conditions[]")  # Kubernetes' own types, documented there


@pytest.mark.parametrize(
    ("kind", "field"),
    sorted(
        (kind, field)
        for kind, schema in SCHEMAS.items()
        for part in ("spec", "status")
        for field in fields_of_schema(schema["properties"][part], part)
        if not any(each in field for each in COMMON)
    ),
)
def test_every_field_is_documented(kind: str, field: str) -> None:
    page = (DOCS / KINDS[kind][1]).read_text()
    assert f"{field.rpartition('.')[2]}`" in page


@pytest.mark.parametrize("kind", KINDS)
def test_counters_of_zero_are_stored(kind: str) -> None:
    """Views leave out their defaults: what the printer columns show must have one in the schema."""
    status = SCHEMAS[kind]["properties"]["status"]["properties"]
    for column in VERSIONS[kind]["additionalPrinterColumns"]:
        field = column["jsonPath"].removeprefix(".status.")
        if column["type"] == "integer" and field in status:
            assert status[field]["default"] == 0


@pytest.mark.parametrize("found", definitions(), ids=lambda found: found["metadata"]["name"])
def test_all_kinds_are_listed_together(found: dict[str, Any]) -> None:
    assert found["spec"]["names"]["categories"] == ["intact"]


def test_wide_columns_of_a_budget() -> None:
    columns = VERSIONS["PodUnavailableBudget"]["additionalPrinterColumns"]
    wide = [one["name"] for one in columns if one.get("priority") == 1]
    assert wide == ["Group Label", "Down", "Working", "Since"]
