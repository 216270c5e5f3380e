"""What is found by name in a RoleBasedGroup."""

import msgspec

from intact.model.rbg import DEPLOYMENT, STATEFUL_SET, RoleBasedGroup
from tests.support.rbg_objects import group, kind, role, rolling

BODY = group(
    "llm",
    role("prefill"),
    role("router", **kind("Deployment")),
    coordination=[rolling("prefill", "router", name="pd")],
) | {
    "status": {
        "roleStatuses": [{"name": "prefill", "desired": 3}],
        "coordinationState": [{"name": "pd", "type": "RollingUpdate"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}
FOUND = msgspec.convert(BODY, RoleBasedGroup)


def test_the_kind_of_a_role_is_a_stateful_set_unless_it_says_another() -> None:
    assert [one.kind for one in FOUND.spec.roles] == [STATEFUL_SET, DEPLOYMENT]


def test_parts_of_the_spec_are_found_by_name() -> None:
    assert FOUND.spec.role("router") is FOUND.spec.roles[1]
    assert FOUND.spec.role("decode") is None
    assert FOUND.spec.coordination_named("pd") is FOUND.spec.coordination[0]
    assert FOUND.spec.coordination_named("other") is None


def test_parts_of_the_status_are_found_by_name() -> None:
    status = FOUND.status
    assert status.role("prefill") is status.role_statuses[0]
    assert status.role("router") is None
    assert status.coordination_named("pd") is status.coordination_state[0]
    assert status.coordination_named("other") is None
    assert status.condition("Ready") is status.conditions[0]
    assert status.condition("Stalled") is None
