"""How far a coordinated rollout is, and since when it has made no progress. Time is an argument.

A role is stalled if it has made no progress for the deadline and waits for no other role. A role
that waits for another one is waiting, and names it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from intact.model.meta import Condition
from intact.model.rbg import RoleProgress
from intact.model.times import parse_time, timestamp
from intact.rollout.plan import RolePlan, State

PROGRESSING = "Progressing"
STALLED = "Stalled"
DEADLINE = 600
"""Seconds, if the RoleBasedGroup sets no progressDeadlineSeconds."""
_AT_REST = (State.COMPLETED, State.PAUSED)


def role_progress(
    plan: RolePlan, updated: int, before: RoleProgress | None, deadline: int, now: datetime
) -> RoleProgress:
    since = timestamp(now)
    if before is not None and before.since and not _moved(before, plan, updated):
        since = before.since
    state = plan.state
    still = now - parse_time(since) >= timedelta(seconds=deadline)
    if still and state not in (*_AT_REST, State.WAITING):
        state = State.STALLED
    return RoleProgress(
        strategy="RollingUpdate",
        state=str(state),
        desired=plan.desired,
        updated=updated,
        ready=plan.ready,
        allowed=plan.allowed,
        partition=plan.keeps,
        waiting_for=plan.waits_for,
        since=since,
    )


def _moved(before: RoleProgress, plan: RolePlan, updated: int) -> bool:
    """Whether the clock starts again."""
    counts = (before.desired, before.updated, before.ready)
    if counts != (plan.desired, updated, plan.ready):
        return True
    for states in (_AT_REST, (State.WAITING,)):
        if (before.state in states) != (plan.state in states):
            return True
    return False


def until_deadline(progress: Iterable[RoleProgress], deadline: int, now: datetime) -> float | None:
    """Seconds until the next role may count as stalled."""
    ends = [
        (parse_time(one.since) + timedelta(seconds=deadline) - now).total_seconds()
        for one in progress
        if one.since and one.state in (State.UPDATING, State.ROLLING_BACK)
    ]
    return max(0.1, min(ends)) if ends else None


_ORDER = (
    State.STALLED,
    State.ROLLING_BACK,
    State.UPDATING,
    State.WAITING,
    State.PAUSED,
    State.COMPLETED,
)
"""Most urgent first."""


def most_urgent(states: Iterable[str]) -> State | None:
    """The state that stands for several; None if there is none."""
    known = set(states)
    return next((state for state in _ORDER if state in known), None)


def urgency(progress: RoleProgress) -> int:
    """Of two coordinations of one role, the lower number is the one to show."""
    return next((at for at, state in enumerate(_ORDER) if state == progress.state), len(_ORDER))


def overall(progress: Mapping[str, RoleProgress]) -> State:
    """The state of a whole coordination."""
    found = most_urgent(one.state for one in progress.values()) or State.COMPLETED
    return State.UPDATING if found is State.WAITING else found


EVENTS = {
    State.UPDATING: ("Normal", "RolloutStarted"),
    State.ROLLING_BACK: ("Normal", "RollbackStarted"),
    State.PAUSED: ("Normal", "RolloutPaused"),
    State.STALLED: ("Warning", "RolloutStalled"),
    State.COMPLETED: ("Normal", "RolloutCompleted"),
}


def events(
    name: str, before: Mapping[str, RoleProgress], after: Mapping[str, RoleProgress]
) -> list[tuple[str, str, str]]:
    """An event, if the coordination as a whole has gone over to another state."""
    state = overall(after)
    if not before or overall(before) is state:
        return []
    kind, reason = EVENTS[state]
    return [(kind, reason, f"coordination {name}: {summary(after)}")]


def summary(progress: Mapping[str, RoleProgress]) -> str:
    """`decode 2/20 Stalled (decode: 2 started and not ready yet), prefill 4/40 Waiting`."""
    return ", ".join(
        f"{name} {one.ready}/{one.desired} {one.state}"
        + (f" ({one.waiting_for})" if one.waiting_for else "")
        for name, one in sorted(progress.items())
    )


def conditions(progress: Mapping[str, Mapping[str, RoleProgress]]) -> list[Condition]:
    """Of all coordinated rollouts of a RoleBasedGroup, by the name of their coordination."""
    if not progress:
        return []
    states = {name: overall(roles) for name, roles in progress.items()}
    state = most_urgent(states.values()) or State.COMPLETED
    text = "; ".join(summary(roles) for roles in progress.values())
    stalled = [summary(progress[name]) for name, one in states.items() if one is State.STALLED]
    moves = state in (State.UPDATING, State.ROLLING_BACK)
    reasons = {State.UPDATING: "RollingUpdate", State.STALLED: "ProgressDeadlineExceeded"}
    return [
        Condition(
            type=PROGRESSING,
            status="True" if moves else "False",
            reason=reasons.get(state, str(state)),
            message=text,
        ),
        Condition(
            type=STALLED,
            status="True" if stalled else "False",
            reason="ProgressDeadlineExceeded" if stalled else "NotStalled",
            message="; ".join(stalled),
        ),
    ]


def refused(
    progress: Mapping[str, RoleProgress], refusals: Mapping[str, str]
) -> dict[str, RoleProgress]:
    """The progress of roles, waiting for what refused the eviction of their pods."""
    return {
        name: msgspec.structs.replace(one, waiting_for=refusals.get(name, one.waiting_for))
        for name, one in progress.items()
    }
