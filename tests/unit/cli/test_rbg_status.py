"""What `intact rbg status` shows of a RoleBasedGroup, and its exit code."""

from typing import Any

import msgspec
import pytest

from intact.cli.rbg_status import Standing, bar, lines, standing
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from tests.support.rbg_objects import group, role


def seen(
    *,
    ready: str = "True",
    stalled: str = "False",
    updated: int = 4,
    state: str = "",
    observed: int = 1,
    waiting: str = "",
    progressing: tuple[str, str] | None = None,
) -> RoleBasedGroup:
    body: dict[str, Any] = group("llm", role("prefill", 4))
    body["metadata"] |= {"namespace": "ns", "generation": 1}
    progress = {"state": state, "waitingFor": waiting, "since": "2026-01-01T00:00:00Z"}
    body["status"] = {
        "observedGeneration": observed,
        "ready": "4/4",
        "updated": f"{updated}/4",
        "updateRevision": "llm-b",
        "currentRevision": "llm-a",
        "conditions": [
            {"type": "Ready", "status": ready, "message": "prefill: 3 of 4 ready"},
            {"type": "Stalled", "status": stalled, "message": "no progress"},
        ],
        "roleStatuses": [
            {
                "name": "prefill",
                "desired": 4,
                "readyReplicas": 4,
                "updatedReplicas": updated,
                "updatedReadyReplicas": updated,
                "revision": "abc",
            }
        ],
        "coordinationState": (
            [{"name": "together", "progress": {"prefill": progress}}] if state else []
        ),
    }
    if progressing:
        status, reason = progressing
        found = {"type": "Progressing", "status": status, "reason": reason}
        body["status"]["conditions"].append(found)
    return msgspec.convert(body, RoleBasedGroup)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (seen(), Standing.DONE),
        (seen(state="Completed"), Standing.DONE),
        (seen(updated=2), Standing.IN_PROGRESS),
        (seen(observed=0), Standing.IN_PROGRESS),
        (seen(ready="False"), Standing.IN_PROGRESS),
        (seen(state="Updating"), Standing.IN_PROGRESS),
        (seen(state="Paused", updated=2), Standing.PAUSED),
        (seen(updated=2, progressing=("False", "Paused")), Standing.PAUSED),
        (seen(updated=2, progressing=("True", "RollingUpdate")), Standing.IN_PROGRESS),
        (
            seen(updated=2, state="Paused", progressing=("True", "RollingUpdate")),
            Standing.IN_PROGRESS,
        ),
        (seen(ready="False", stalled="True"), Standing.STALLED),
        (seen(ready="False", stalled="True", observed=0), Standing.IN_PROGRESS),
    ],
)
def test_the_standing_of_a_role_based_group(found: RoleBasedGroup, expected: Standing) -> None:
    assert standing(found) is expected


def test_exit_codes_are_those_of_the_documentation() -> None:
    assert [one.value for one in Standing] == [0, 3, 4, 5]


def test_the_tree_shows_roles_with_what_they_wait_for() -> None:
    revisions = [
        msgspec.convert(
            {"metadata": {"name": f"llm-{name}"}, "revision": number}, ControllerRevision
        )
        for name, number in (("a", 1), ("b", 2))
    ]
    assert lines(seen(updated=1, state="Waiting", waiting="decode: 1 of 2"), revisions) == [
        "ns/llm: in progress, ready 4/4, updated 1/4",
        "revision 2 (llm-b), from 1 (llm-a)",
        "└─ prefill  █████░░░░░░░░░░░░░░░  1/4 updated, 4 ready  Waiting  (StatefulSet, abc)",
        "     waits for: decode: 1 of 2 (since 2026-01-01T00:00:00Z)",
    ]


def test_the_bar_of_a_role() -> None:
    assert bar(0, 0, 4) == "░" * 20
    assert bar(1, 3, 4) == "█" * 5 + "▒" * 10 + "░" * 5
    assert bar(4, 4, 4) == "█" * 20
    assert bar(0, 0, 0) == "█" * 20


def test_of_two_coordinations_the_one_that_has_not_ended_is_shown() -> None:
    found = seen(state="Completed", updated=2)
    [placed] = found.status.coordination_state
    [one] = placed.progress.values()
    rolled = {"prefill": msgspec.structs.replace(one, state="Updating")}
    moving = msgspec.structs.replace(placed, name="rolled", progress=rolled)
    for states in ([placed, moving], [moving, placed]):
        status = msgspec.structs.replace(found.status, coordination_state=states)
        text = "\n".join(lines(msgspec.structs.replace(found, status=status), []))
        assert "Updating" in text
        assert "Completed" not in text
