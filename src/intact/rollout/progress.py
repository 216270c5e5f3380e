"""How far a coordinated rollout is, and since when it stands: time is an argument.

A role is stalled when it has made no progress for the deadline and waits for nobody else: one that
waits for another role waits, and names it.
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
"""Seconds, where the group says nothing."""
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
    """Seconds until another role may be stalled."""
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


def urgency(progress: RoleProgress) -> int:
    """Of two that are said of one role, the lower one is what matters."""
    return next((at for at, state in enumerate(_ORDER) if state == progress.state), len(_ORDER))


def overall(progress: Mapping[str, RoleProgress]) -> State:
    """The state of a coordination, in one word."""
    states = {one.state for one in progress.values()}
    found = next((state for state in _ORDER if state in states), State.COMPLETED)
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
    """What there is to tell: only when the coordination as a whole goes over to another state."""
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
    """Of all coordinated rollouts of a group, by the name of their coordination."""
    if not progress:
        return []
    states = {name: overall(roles) for name, roles in progress.items()}
    state = next(state for state in _ORDER if state in states.values())
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
    """With what a budget has said to the eviction of a role's pods."""
    return {
        name: msgspec.structs.replace(one, waiting_for=refusals.get(name, one.waiting_for))
        for name, one in progress.items()
    }
