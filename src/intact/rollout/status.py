"""The status of a RoleBasedGroup: counts, conditions and one word for its column."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from intact.model.conditions import merge
from intact.model.meta import Condition
from intact.model.rbg import (
    BatchProgress,
    Coordination,
    CoordinationState,
    RbgStatus,
    RoleBasedGroup,
    RoleProgress,
    RoleStatus,
)
from intact.model.times import timestamp
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, type_of
from intact.rollout.facts import RoleFacts
from intact.rollout.orders import own_partition
from intact.rollout.plan import State
from intact.rollout.progress import PROGRESSING, STALLED, conditions, most_urgent
from intact.rollout.unready import unready

READY = "Ready"
OURS = frozenset({READY, PROGRESSING, STALLED})


def role_status(facts: RoleFacts, message: str) -> RoleStatus:
    """`message` says what the role waits for. If it is empty, the pods that are not ready do."""
    found = facts.replicas()
    if not message and sum(one.ready for one in found) < facts.size:
        message = unready(facts)
    updated = [one for one in found if one.revision == facts.revision]
    return RoleStatus(
        name=facts.role.name,
        desired=facts.size,
        replicas=len(found),
        ready_replicas=sum(one.ready for one in found),
        updated_replicas=len(updated),
        updated_ready_replicas=sum(one.ready for one in updated),
        revision=facts.revision,
        message=message,
    )


def invalid(group: RoleBasedGroup, problem: str, now: datetime) -> RbgStatus:
    """Of a RoleBasedGroup that cannot be worked on: the rest of the status stays."""
    condition = Condition(type=READY, status="False", reason="InvalidSpec", message=problem)
    return _with_conditions(group, group.status, [condition], now)


def next_status(
    group: RoleBasedGroup,
    roles: Sequence[RoleStatus],
    rollouts: Mapping[str, Mapping[str, RoleProgress]],
    batches: Mapping[str, BatchProgress],
    revision: str,
    problems: Sequence[str],
    now: datetime,
    moving: Mapping[str, str] | None = None,
    *,
    stored: bool = True,
) -> RbgStatus:
    """`rollouts` and `batches` have the progress of coordinations, by name. A coordination that is
    in neither keeps the progress that is stored. `moving` says, by coordination, what pods that
    move into batches wait for. `stored` says whether the revision is."""
    states = [
        _state(group, each, roles, rollouts, batches, (moving or {}).get(each.name, ""), now)
        for each in group.spec.coordination
    ]
    word = _in_a_word(states)
    done = (
        stored
        and word in ("", State.COMPLETED)
        and all(one.updated_ready_replicas >= one.desired for one in roles)
    )
    desired = sum(one.desired for one in roles)
    status = RbgStatus(
        role_statuses=list(roles),
        coordination_state=states,
        current_revision=revision if done else group.status.current_revision,
        update_revision=revision,
        ready=f"{sum(one.ready_replicas for one in roles)}/{desired}",
        updated=f"{sum(one.updated_replicas for one in roles)}/{desired}",
        coordinating=word,
    )
    own = _own(group, roles, rollouts)
    wanted = [_ready(roles, problems), *conditions(rollouts, own)]
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


def _ready(roles: Sequence[RoleStatus], problems: Sequence[str]) -> Condition:
    if problems:
        message = "; ".join(problems)
        return Condition(type=READY, status="False", reason="RoleNotApplied", message=message)
    short = [one for one in roles if one.ready_replicas < one.desired or one.message]
    if not short:
        message = "all replicas of all roles are ready"
        return Condition(type=READY, status="True", reason="AllRolesReady", message=message)
    message = "; ".join(
        f"{one.name}: {one.ready_replicas} of {one.desired} ready"
        + (f", {one.message}" if one.message else "")
        for one in short
    )
    return Condition(type=READY, status="False", reason="RoleNotReady", message=message)


def _own(
    group: RoleBasedGroup,
    roles: Sequence[RoleStatus],
    rollouts: Mapping[str, Mapping[str, RoleProgress]],
) -> list[tuple[State, str]]:
    """The states of the roles that are in no coordinated rollout."""
    coordinated = {name for each in rollouts.values() for name in each}
    return [_own_state(group, one) for one in roles if one.name not in coordinated and one.desired]


def _own_state(group: RoleBasedGroup, status: RoleStatus) -> tuple[State, str]:
    role, desired = group.spec.role(status.name), status.desired
    if status.updated_replicas >= desired:
        return State.COMPLETED, ""
    kept = own_partition(role, desired) if role is not None else 0
    if kept and status.updated_ready_replicas >= desired - kept:
        return State.PAUSED, f"{status.name}: partition: {kept} of {desired} stay old"
    return State.UPDATING, f"{status.name}: {status.updated_replicas} of {desired} updated"


def _in_a_word(coordination: Sequence[CoordinationState]) -> str:
    state = most_urgent(one.state for each in coordination for one in each.progress.values())
    return "" if state is None else str(state)


def _state(
    group: RoleBasedGroup,
    coordination: Coordination,
    roles: Sequence[RoleStatus],
    rollouts: Mapping[str, Mapping[str, RoleProgress]],
    batches: Mapping[str, BatchProgress],
    moving: str,
    now: datetime,
) -> CoordinationState:
    before = group.status.coordination_named(coordination.name)
    stored = before.progress if before is not None else {}
    in_batches = batches.get(coordination.name)
    if in_batches is not None:
        ratios = batching(coordination).ratios
        progress = _batch_states(ratios, roles, in_batches, moving, stored, now)
    else:
        progress = dict(rollouts.get(coordination.name, stored))
    state = CoordinationState(
        name=coordination.name,
        type=type_of(coordination),
        progress=progress,
        batches=in_batches,
        last_update_time=before.last_update_time if before is not None else None,
    )
    if state != before:  # the time moves only when something else does
        state = msgspec.structs.replace(state, last_update_time=timestamp(now))
    return state


def _batch_states(
    ratios: Mapping[str, int],
    roles: Sequence[RoleStatus],
    batches: BatchProgress,
    moving: str,
    stored: Mapping[str, RoleProgress],
    now: datetime,
) -> dict[str, RoleProgress]:
    """How far each role of an AffinityScheduling coordination is."""
    state, waiting = State.COMPLETED, ""
    if batches.pending:
        numbers = ", ".join(map(str, batches.pending))
        state, waiting = State.WAITING, f"batch {numbers} does not fit into one domain"
    elif moving:
        state, waiting = State.UPDATING, moving
    elif batches.ready < batches.total:
        state, waiting = State.UPDATING, f"{batches.ready} of {batches.total} batches are ready"
    statuses = {one.name: one for one in roles}
    found: dict[str, RoleProgress] = {}
    for name, ratio in ratios.items():
        old = stored.get(name)
        same = old is not None and old.state == state
        found[name] = RoleProgress(
            strategy=AFFINITY_SCHEDULING,
            state=str(state),
            desired=batches.total * ratio,
            updated=statuses[name].replicas,
            ready=statuses[name].ready_replicas,
            allowed=batches.started * ratio,
            waiting_for="; ".join(filter(None, [waiting, statuses[name].message])),
            since=old.since if old is not None and same else timestamp(now),
        )
    return found
