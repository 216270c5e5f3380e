"""The CEL conditions: those that are sent, well-formed, and guarded against absent fields.

What they mean is tested on a real API server, in tests/cluster/install/test_registration.py.
"""

import re

import pytest

from intact.operator.webhook import cel

CONDITIONS = {
    name: value
    for name, value in vars(cel).items()
    if name.isupper() and isinstance(value, dict) and "expression" in value
}
OPTIONAL = (
    "oldObject.metadata.deletionTimestamp",
    "object.metadata.deletionTimestamp",
    "object.metadata.labels",
    "oldObject.metadata.labels",
    "object.spec.initContainers",
    "oldObject.spec.initContainers",
    "object.spec.activeDeadlineSeconds",
    "oldObject.spec.activeDeadlineSeconds",
    "object.spec.budgetScope",
    "object.status",
    "object.status.disruptionsAllowedReplicas",
    "c.resizePolicy",
    "object.deleteOptions",
    "object.deleteOptions.preconditions",
    "object.deleteOptions.preconditions.uid",
)


@pytest.mark.parametrize("name", CONDITIONS)
def test_parentheses_and_quotes_close(name: str) -> None:
    expression = CONDITIONS[name]["expression"]
    without_strings = re.sub(r"'[^']*'", "", expression)
    assert "'" not in without_strings
    depth = 0
    for character in without_strings:
        depth += {"(": 1, ")": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert "%" not in expression


def test_names_are_unique_and_as_kubernetes_wants_them() -> None:
    names = [condition["name"] for condition in CONDITIONS.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]([-a-z]*[a-z])?", name) for name in names)


def uses(name: str, field: str) -> list[int]:
    found = re.finditer(rf"(?<![\w.]){re.escape(field)}\b", CONDITIONS[name]["expression"])
    return [match.start() for match in found]


USED = [(name, field) for name in CONDITIONS for field in OPTIONAL if uses(name, field)]


def test_every_optional_field_is_used() -> None:
    assert {field for _, field in USED} == set(OPTIONAL)


@pytest.mark.parametrize(("name", "field"), USED)
def test_an_optional_field_is_read_only_after_it_was_looked_for(name: str, field: str) -> None:
    assert CONDITIONS[name]["expression"][: uses(name, field)[0]].endswith("has(")
