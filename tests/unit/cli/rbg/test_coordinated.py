"""Which roles a pause holds."""

import msgspec
import pytest

from intact.cli.rbg.coordinated import coordinated, held_until_resumed, others
from intact.model.rbg import RoleBasedGroup
from tests.support.rbg_objects import batches, group, role, rolling


def made(*coordination: object, paused: bool = True) -> RoleBasedGroup:
    roles = [role(name, 4) for name in ("prefill", "decode", "router")]
    body = group("llm", *roles, coordination=list(coordination), paused=paused)
    return msgspec.convert(body, RoleBasedGroup)


def test_roles_in_a_rolling_update_coordination_are_held() -> None:
    found = made(rolling("decode", "prefill"))
    assert coordinated(found) == ["prefill", "decode"]
    assert others(found) == ["router"]


def test_roles_in_batches_alone_are_not_held() -> None:
    assert coordinated(made(batches({"prefill": 2, "decode": 1}))) == []


@pytest.mark.parametrize(
    ("found", "roles", "expected"),
    [
        (
            made(rolling("prefill", "decode")),
            None,
            "; it is paused: prefill, decode wait for `intact rbg resume llm`",
        ),
        (
            made(rolling("prefill", "decode")),
            ["decode", "router"],
            "; it is paused: decode waits for `intact rbg resume llm`",
        ),
        (made(rolling("prefill", "decode")), ["router"], ""),
        (made(rolling("prefill", "decode"), paused=False), None, ""),
        (made(), None, ""),
    ],
)
def test_new_templates_wait_for_the_end_of_a_pause(
    found: RoleBasedGroup, roles: list[str] | None, expected: str
) -> None:
    assert held_until_resumed(found, roles) == expected
