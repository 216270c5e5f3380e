"""The status of a group: counts, conditions and one word for its column."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from intact.model.conditions import merge
from intact.model.meta import Condition
from intact.model.pod import Pod
from intact.model.rbg import (
    BatchProgress,
    Coordination,
    CoordinationState,
    RbgStatus,
    Role,
    RoleBasedGroup,
    RoleProgress,
    RoleStatus,
)
from intact.model.times import timestamp
from intact.rollout.coordinations import AFFINITY_SCHEDULING, type_of
from intact.rollout.plan import State
from intact.rollout.replicas import replicas

READY = "Ready"
PROGRESSING = "Progressing"
STALLED = "Stalled"
OURS = frozenset({READY, PROGRESSING, STALLED})


@dataclass(slots=True)
class Work:
    """One role, as a reconcile goes over it."""

    role: Role
    desired: int
    """Replicas that it should have when all its batches are there."""
    now: int
    """Replicas that it may have now."""
    revision: str
    pods: list[Pod] = field(default_factory=list)
    message: str = ""
    """What it waits for."""

    def status(self) -> RoleStatus:
        found = replicas(self.role, self.pods)
        updated = [one for one in found if one.revision == self.revision]
        return RoleStatus(
            name=self.role.name,
            desired=self.desired,
            replicas=len(found),
            ready_replicas=sum(one.ready for one in found),
            updated_replicas=len(updated),
            updated_ready_replicas=sum(one.ready for one in updated),
            revision=self.revision,
            message=self.message,
        )


def invalid(group: RoleBasedGroup, problem: str, now: datetime) -> RbgStatus:
    """Of a group that cannot be worked on: what is there stays as it is."""
    condition = Condition(type=READY, status="False", reason="InvalidSpec", message=problem)
    return _with_conditions(group, group.status, [condition], now)


def status_of(
    group: RoleBasedGroup,
    works: Mapping[str, Work],
    coordination: list[CoordinationState],
    conditions: Iterable[Condition],
    revision: str,
    problems: list[str],
    now: datetime,
) -> RbgStatus:
    roles = [work.status() for work in works.values()]
    desired = sum(one.desired for one in roles)
    word = _in_a_word(coordination)
    done = word in ("", State.COMPLETED) and all(
        one.updated_ready_replicas >= one.desired for one in roles
    )
    status = RbgStatus(
        role_statuses=roles,
        coordination_state=coordination,
        current_revision=revision if done else group.status.current_revision,
        update_revision=revision,
        ready=f"{sum(one.ready_replicas for one in roles)}/{desired}",
        updated=f"{sum(one.updated_replicas for one in roles)}/{desired}",
        coordinating=word,
    )
    wanted = [_ready(roles, problems), *_rollout(roles, list(conditions))]
    return _with_conditions(group, status, wanted, now)


def _with_conditions(
    group: RoleBasedGroup, status: RbgStatus, wanted: list[Condition], now: datetime
) -> RbgStatus:
    generation = group.metadata.generation
    return msgspec.structs.replace(
        status,
        observed_generation=generation,
        conditions=merge(group.status.conditions, wanted, generation, now, OURS),
    )


def _ready(roles: list[RoleStatus], problems: list[str]) -> Condition:
    if problems:
        message = "; ".join(problems)
        return Condition(type=READY, status="False", reason="RoleNotApplied", message=message)
    short = [one for one in roles if one.ready_replicas < one.desired or one.message]
    if not short:
        message = "all roles have all their replicas ready"
        return Condition(type=READY, status="True", reason="AllRolesReady", message=message)
    message = "; ".join(
        f"{one.name}: {one.ready_replicas} of {one.desired} ready"
        + (f", {one.message}" if one.message else "")
        for one in short
    )
    return Condition(type=READY, status="False", reason="RoleNotReady", message=message)


def _rollout(roles: list[RoleStatus], driven: list[Condition]) -> list[Condition]:
    """What the coordinations say, or else what the workloads do by themselves."""
    given = {condition.type for condition in driven}
    behind = [one for one in roles if one.updated_replicas < one.desired]
    if PROGRESSING not in given:
        if behind:
            message = "; ".join(
                f"{one.name}: {one.updated_replicas} of {one.desired} updated" for one in behind
            )
            driven = [
                *driven,
                Condition(type=PROGRESSING, status="True", reason="RollingUpdate", message=message),
            ]
        else:
            driven = [
                *driven,
                Condition(
                    type=PROGRESSING,
                    status="False",
                    reason="Completed",
                    message="all replicas run the present templates",
                ),
            ]
    if STALLED not in given:
        driven = [*driven, Condition(type=STALLED, status="False", reason="NotStalled", message="")]
    return driven


_ORDER = (
    State.STALLED,
    State.ROLLING_BACK,
    State.UPDATING,
    State.WAITING,
    State.PAUSED,
    State.COMPLETED,
)


def _in_a_word(coordination: list[CoordinationState]) -> str:
    states = {one.state for each in coordination for one in each.progress.values()}
    return next((str(state) for state in _ORDER if state in states), "")


def coordination_state(
    coordination: Coordination,
    progress: dict[str, RoleProgress],
    batches: BatchProgress | None,
    before: CoordinationState | None,
    now: datetime,
) -> CoordinationState:
    """The time moves only when something else does."""
    state = CoordinationState(
        name=coordination.name,
        type=type_of(coordination),
        progress=progress,
        batches=batches,
        last_update_time=before.last_update_time if before else None,
    )
    if state != before:
        state = msgspec.structs.replace(state, last_update_time=timestamp(now))
    return state


def batch_states(
    ratios: Mapping[str, int],
    statuses: Mapping[str, RoleStatus],
    batches: BatchProgress,
    before: CoordinationState | None,
    now: datetime,
) -> dict[str, RoleProgress]:
    """How far each role of an AffinityScheduling coordination is."""
    found: dict[str, RoleProgress] = {}
    for name, ratio in ratios.items():
        status = statuses[name]
        state, waiting = State.COMPLETED, ""
        if batches.pending:
            numbers = ", ".join(map(str, batches.pending))
            state, waiting = State.WAITING, f"batch {numbers} finds no place in one domain"
        elif batches.ready < batches.total:
            state, waiting = State.UPDATING, f"{batches.ready} of {batches.total} batches are ready"
        old = before.progress.get(name) if before else None
        same = old is not None and old.state == state and old.waiting_for == waiting
        found[name] = RoleProgress(
            strategy=AFFINITY_SCHEDULING,
            state=str(state),
            desired=batches.total * ratio,
            updated=status.replicas,
            ready=status.ready_replicas,
            allowed=batches.started * ratio,
            waiting_for=waiting,
            since=old.since if old is not None and same else timestamp(now),
        )
    return found


def state_before(group: RoleBasedGroup, coordination: Coordination) -> CoordinationState | None:
    states = group.status.coordination_state
    return next((one for one in states if one.name == coordination.name), None)
