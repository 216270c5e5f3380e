"""How far a coordinated rollout is, and since when it has made no progress. Time is an argument.

A role is stalled if it has made no progress for the deadline and waits for no other role. A role
that waits for another one is waiting, and names it.

Progress is one replica more that is updated and ready than this revision has ever had. So a role
whose replicas come and go stalls, however often its counts change. The clock stands while the role
is at rest or waits for another one; after a rest of a whole deadline it starts again.
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
_STANDING = (State.COMPLETED, State.PAUSED, State.WAITING)
"""In these states nothing is expected of the role itself."""


def role_progress(
    plan: RolePlan, updated: int, before: RoleProgress | None, deadline: int, now: datetime
) -> RoleProgress:
    """`before` is the progress of the same revision."""
    since, idle = _clock(before, plan, deadline, now)
    state = plan.state
    still = now - since >= timedelta(seconds=deadline)
    if still and state not in _STANDING:
        state = State.STALLED
    return RoleProgress(
        strategy="RollingUpdate",
        state=str(state),
        desired=plan.desired,
        updated=updated,
        ready=plan.ready,
        most_ready=max(plan.ready, 0 if before is None else _most_ready(before, plan)),
        allowed=plan.allowed,
        partition=plan.keeps,
        waiting_for=plan.waits_for,
        since=timestamp(since),
        idle_seconds=idle,
    )


def _most_ready(before: RoleProgress, plan: RolePlan) -> int:
    """As far as the role still wants so many: after a scale it has to get there again."""
    return min(plan.desired, max(before.most_ready, before.ready))


def _clock(
    before: RoleProgress | None, plan: RolePlan, deadline: int, now: datetime
) -> tuple[datetime, int]:
    """Since when the role has stood as it does, and for how many seconds it had made no progress
    when it came to rest."""
    if before is None or not before.since or plan.ready > _most_ready(before, plan):
        return now, 0
    since = parse_time(before.since)
    passed = int((now - since).total_seconds())
    stood, stands = before.state in _STANDING, plan.state in _STANDING
    if stands and not stood:
        return now, passed
    if stood and not stands:
        return (now - timedelta(seconds=before.idle_seconds) if passed < deadline else now), 0
    if (before.state == State.WAITING) != (plan.state is State.WAITING):
        return now, before.idle_seconds
    return since, before.idle_seconds


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
    name: str,
    before: Mapping[str, RoleProgress],
    after: Mapping[str, RoleProgress],
    *,
    rolls: bool = True,
) -> list[tuple[str, str, str]]:
    """An event, if the coordination as a whole has gone over to another state. With `rolls` False
    the templates were rolled out before: replicas that are lost or added, and become ready, are no
    rollout."""
    state = overall(after)
    if not before or overall(before) is state:
        return []
    if not rolls and {overall(before), state} == {State.COMPLETED, State.UPDATING}:
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


def conditions(
    progress: Mapping[str, Mapping[str, RoleProgress]], own: Iterable[tuple[State, str]] = ()
) -> list[Condition]:
    """Of a RoleBasedGroup: `progress` has its coordinated rollouts, by the name of their
    coordination, `own` the states of the roles that update by themselves, with a text."""
    own = list(own)
    states = {name: overall(roles) for name, roles in progress.items()}
    state = most_urgent([*states.values(), *(one for one, _ in own)]) or State.COMPLETED
    texts = [*map(summary, progress.values()), *(text for _, text in own if text)]
    text = "; ".join(texts) or "all replicas run the present templates"
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
    """The progress of roles, waiting for what refused their workloads or the eviction of their
    pods."""
    return {
        name: msgspec.structs.replace(one, waiting_for=refusals.get(name, one.waiting_for))
        for name, one in progress.items()
    }
