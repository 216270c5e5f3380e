"""How far a coordinated rollout is, in states, conditions and events."""

from dataclasses import replace
from datetime import timedelta

import pytest

from intact.model.meta import Condition
from intact.model.rbg import RoleProgress
from intact.rollout.plan import RolePlan, State
from intact.rollout.progress import (
    conditions,
    events,
    most_urgent,
    overall,
    refused,
    role_progress,
    until_deadline,
    urgency,
)
from tests.unit.rollout.scene import NOW


def plan(state: State = State.UPDATING, ready: int = 1) -> RolePlan:
    return RolePlan(
        name="decode",
        desired=4,
        started=2,
        ready=ready,
        allowed=2,
        partition=2,
        keeps=0,
        moves=(),
        state=state,
    )


def progress(state: State, ready: int = 1, waiting: str = "") -> RoleProgress:
    return RoleProgress(state=str(state), ready=ready, desired=4, waiting_for=waiting)


@pytest.mark.parametrize(
    ("after", "state", "expected"),
    [
        pytest.param(59, State.UPDATING, "Updating", id="before the deadline"),
        pytest.param(60, State.UPDATING, "Stalled", id="at the deadline"),
        pytest.param(60, State.ROLLING_BACK, "Stalled", id="on the way back as well"),
        pytest.param(60, State.WAITING, "Waiting", id="one that waits for another role"),
        pytest.param(60, State.PAUSED, "Paused", id="one that is paused"),
    ],
)
def test_only_a_role_that_should_move_stalls(after: int, state: State, expected: str) -> None:
    before = role_progress(plan(state), 2, None, 60, NOW)
    found = role_progress(plan(state), 2, before, 60, NOW + timedelta(seconds=after))
    assert found.state == expected
    assert found.since == before.since


def test_the_clock_starts_again_with_every_progress() -> None:
    before = role_progress(plan(), 2, None, 60, NOW)
    found = role_progress(plan(ready=2), 2, before, 60, NOW + timedelta(seconds=90))
    assert (found.state, found.since) == ("Updating", "2026-01-01T00:01:30Z")


@pytest.mark.parametrize(
    "course",
    [
        pytest.param([(State.UPDATING, 1), (State.UPDATING, 2)], id="while it moves"),
        pytest.param([(State.UPDATING, 1), (State.PAUSED, 2)], id="a canary at its partition"),
        pytest.param([(State.UPDATING, 3), (State.COMPLETED, 4)], id="after it was completed"),
        pytest.param([(State.UPDATING, 1), (State.WAITING, 2)], id="in turn with another role"),
    ],
)
def test_a_role_whose_replicas_come_and_go_stalls(course: list[tuple[State, int]]) -> None:
    (_, few), (state, most) = course
    found = role_progress(plan(state, most), 2, None, 60, NOW)
    seconds, stalled_after = 0, None
    while stalled_after is None and seconds < 600:
        for each, ready in course:
            now = NOW + timedelta(seconds=seconds)
            found = role_progress(plan(each, ready), 2, found, 60, now)
            if found.state == "Stalled":
                stalled_after = seconds
            seconds += 10
    assert stalled_after is not None, f"it has {few} and {most} in turn, and never more"
    assert 60 <= stalled_after <= 150


def test_the_clock_stands_while_a_role_is_at_rest() -> None:
    moving = role_progress(plan(), 2, None, 60, NOW)
    paused = role_progress(plan(State.PAUSED), 2, moving, 60, NOW + timedelta(seconds=40))
    again = role_progress(plan(), 2, paused, 60, NOW + timedelta(seconds=90))
    assert (again.state, again.since) == ("Updating", "2026-01-01T00:00:50Z")
    late = role_progress(plan(), 2, again, 60, NOW + timedelta(seconds=110))
    assert late.state == "Stalled"


def test_the_clock_starts_again_after_a_rest_of_a_whole_deadline() -> None:
    moving = role_progress(plan(), 2, None, 60, NOW)
    paused = role_progress(plan(State.PAUSED), 2, moving, 60, NOW + timedelta(seconds=40))
    again = role_progress(plan(), 2, paused, 60, NOW + timedelta(seconds=100))
    assert (again.state, again.since) == ("Updating", "2026-01-01T00:01:40Z")


def test_a_scaled_role_makes_progress_on_its_way_up() -> None:
    full = role_progress(plan(ready=4), 4, None, 60, NOW)
    lowered = role_progress(replace(plan(ready=2), desired=2), 2, full, 60, NOW)
    assert lowered.most_ready == 2
    later = NOW + timedelta(seconds=50)
    assert role_progress(plan(ready=3), 3, lowered, 60, later).since == "2026-01-01T00:00:50Z"


def test_the_next_deadline() -> None:
    moving = role_progress(plan(), 2, None, 60, NOW)
    waiting = role_progress(plan(State.WAITING), 2, None, 60, NOW)
    later = NOW + timedelta(seconds=20)
    assert until_deadline([moving, waiting], 60, later) == 40
    assert until_deadline([waiting], 60, later) is None


def test_the_order_of_states() -> None:
    ordered = ["Stalled", "RollingBack", "Updating", "Waiting", "Paused", "Completed"]
    for at in range(len(ordered)):
        assert most_urgent(reversed(ordered[at:])) == ordered[at]
    assert most_urgent(["Unheard"]) is None
    assert [urgency(RoleProgress(state=one)) for one in ordered] == list(range(6))


def test_a_coordination_with_a_waiting_role_is_updating() -> None:
    states = {"prefill": progress(State.WAITING), "decode": progress(State.COMPLETED)}
    assert overall(states) is State.UPDATING
    assert overall({}) is State.COMPLETED


def test_an_event_tells_only_of_another_state_of_the_whole() -> None:
    moving = {"prefill": progress(State.UPDATING), "decode": progress(State.COMPLETED, 4)}
    done = {"prefill": progress(State.COMPLETED, 4), "decode": progress(State.COMPLETED, 4)}
    assert events("pd", moving, moving | {"decode": progress(State.UPDATING)}) == []
    assert events("pd", {}, moving) == [], "it may have been told before"
    assert events("pd", moving, done) == [
        (
            "Normal",
            "RolloutCompleted",
            "coordination pd: decode 4/4 Completed, prefill 4/4 Completed",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (State.COMPLETED, State.UPDATING, False),
        (State.UPDATING, State.COMPLETED, False),
        (State.ROLLING_BACK, State.COMPLETED, True),
        (State.UPDATING, State.STALLED, True),
        (State.STALLED, State.COMPLETED, True),
    ],
)
def test_replicas_that_are_lost_after_a_rollout_are_none(
    before: State, after: State, told: bool
) -> None:
    states = {"prefill": progress(before)}, {"prefill": progress(after)}
    assert bool(events("pd", *states, rolls=False)) is told
    assert events("pd", *states) != []


def test_conditions_name_the_coordination_that_stalls() -> None:
    stalled = {"decode": progress(State.STALLED, 1, "decode: 1 started and not ready yet")}
    found = conditions({"a": {"prefill": progress(State.UPDATING)}, "b": stalled})
    assert [(one.type, one.status, one.reason) for one in found] == [
        ("Progressing", "False", "ProgressDeadlineExceeded"),
        ("Stalled", "True", "ProgressDeadlineExceeded"),
    ]
    assert found[1].message == "decode 1/4 Stalled (decode: 1 started and not ready yet)"


def test_conditions_take_in_the_roles_that_update_by_themselves() -> None:
    done = {"pd": {"prefill": progress(State.COMPLETED, 4)}}
    held, moving = (State.PAUSED, "router: held"), (State.UPDATING, "router: moves")
    assert [_first(conditions(done, own)) for own in ([], [held], [moving], [held, moving])] == [
        ("False", "Completed"),
        ("False", "Paused"),
        ("True", "RollingUpdate"),
        ("True", "RollingUpdate"),
    ]
    assert conditions(done, [held])[0].message == "prefill 4/4 Completed; router: held"
    assert conditions({})[0].message == "all replicas run the present templates"


def _first(found: list[Condition]) -> tuple[str, str]:
    return found[0].status, found[0].reason


def test_a_refused_role_waits_for_what_refused_it() -> None:
    both = {"prefill": progress(State.UPDATING), "decode": progress(State.UPDATING, waiting="x")}
    found = refused(both, {"prefill": "a budget"})
    assert {name: one.waiting_for for name, one in found.items()} == {
        "prefill": "a budget",
        "decode": "x",
    }
