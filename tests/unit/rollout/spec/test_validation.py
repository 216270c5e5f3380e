"""Which RoleBasedGroups are refused, and which field the error names."""

import msgspec
import pytest

from intact.model.rbg import RoleBasedGroup
from intact.rollout.spec.validation import unworkable, validate
from tests.support.rbg_cases import ACCEPTED, REFUSED, Case
from tests.support.rbg_objects import group, role


def read(body: object) -> RoleBasedGroup:
    return msgspec.convert(body, RoleBasedGroup)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_valid_role_based_groups_are_accepted(case: Case) -> None:
    assert validate(read(case.body)) == []


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_invalid_role_based_groups_are_refused(case: Case) -> None:
    errors = validate(read(case.body))
    assert any(e.path.startswith(case.field) and case.message in e.body for e in errors), errors


def test_an_update_is_not_refused_for_what_was_wrong_before() -> None:
    wrong = role("decode", dependencies=["encode"])
    old, new = group("llm", wrong), group("llm", wrong | {"replicas": 3})
    assert validate(read(new)) != []
    assert validate(read(new), read(old)) == []
    worse = group("llm", wrong | {"dependencies": ["encode", "more"]})
    [error] = validate(read(worse), read(old))
    assert error.path == "spec.roles[0].dependencies[1]"


def test_what_one_role_alone_suffers_from_does_not_stop_the_others() -> None:
    """The API server refuses the Service of the one; an earlier version let it in."""
    ports = [{"name": "a", "port": 80}, {"name": "a", "port": 81}]
    stored = group("llm", role("prefill", servicePorts=ports), role("decode"))
    assert validate(read(stored)) != []
    assert unworkable(read(stored)) == []
    assert validate(read(stored), read(stored)) == []
