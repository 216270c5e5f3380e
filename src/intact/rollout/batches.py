"""Affinity batches: pods of several roles that run in one topology domain.

Batch b has the ordinals from b · ratio to (b + 1) · ratio - 1 of each role. There are as many
batches as every role can fill, so scaling a role down removes whole batches, from the end. The
surplus of a larger role belongs to no batch and does not run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from intact.rollout.plan import Plan, PlannedRole, Replica, RolePlan, Rules, State, plan


class Mode(StrEnum):
    SEQUENTIAL = "Sequential"
    PARALLEL = "Parallel"


def count(replicas: Mapping[str, int], ratios: Mapping[str, int]) -> int:
    """How many whole batches so many replicas fill."""
    return min((batch_of(replicas[role], ratio) for role, ratio in ratios.items()), default=0)


def batch_of(ordinal: int, ratio: int) -> int:
    """The batch that an ordinal is in: as many whole batches come before it."""
    return ordinal // ratio


def release(total: int, released: int, ready: Iterable[int], mode: Mode) -> int:
    """How many batches may run now, from the first on.

    `ready` are the numbers of the complete ones. Sequential starts a batch once all batches before
    it are complete; a batch that fails later stops none.
    """
    if mode is Mode.PARALLEL:
        return total
    complete = set(ready)
    first = next((batch for batch in range(total) if batch not in complete), total)
    return min(total, max(released, first + 1))


@dataclass(frozen=True, slots=True)
class Batched:
    """Roles whose replicas move in batches."""

    name: str
    ratios: Mapping[str, int]


def plan_in_batches(
    roles: Iterable[PlannedRole], rules: Rules, batched: Iterable[Batched], *, back: bool = False
) -> Plan:
    """The rollout plan in which a batch moves as one, in all its roles.

    The roles of a batch are planned as one role whose replicas are the batches. A batch is new if
    all its replicas are, and available if all are. That plan is then split up by role.
    """
    by_name = {role.name: role for role in roles}
    units: dict[str, Batched] = {}
    for batch in batched:
        if members := [name for name in batch.ratios if name in by_name]:
            together = _together(batch, [by_name[name] for name in members])
            units[together.name] = batch
            by_name = {name: role for name, role in by_name.items() if name not in members}
            by_name[together.name] = together
    planned = plan(by_name.values(), rules, back=back)
    if not units:
        return planned
    originals = {role.name: role for role in roles}
    made: dict[str, RolePlan] = {}
    for name, unit in planned.roles.items():
        if name not in units:
            made[name] = unit
            continue
        for role, ratio in units[name].ratios.items():
            if role in originals:
                made[role] = _of_role(originals[role], ratio, unit)
    return replace(planned, roles=dict(sorted(made.items())))


def _together(batch: Batched, roles: list[PlannedRole]) -> PlannedRole:
    """The given roles as one: another role of the batch may be in no plan, or not started yet."""
    ratios = {role.name: batch.ratios[role.name] for role in roles}
    number = count({role.name: role.desired for role in roles}, ratios)
    found = []
    for index in range(number):
        parts = [slot for role in roles for slot in _slots(role, index, ratios[role.name])]
        found.append(
            Replica(
                index,
                new=all(slot.new for slot in parts),
                ready=all(slot.ready for slot in parts),
            )
        )
    # With a space, so that it is never the name of a role.
    stable = all(role.stable for role in roles)
    return PlannedRole(
        f"coordination {batch.name}", number, tuple(found), stable=stable, in_batches=True
    )


def _slots(role: PlannedRole, batch: int, ratio: int) -> list[Replica]:
    there = {replica.index: replica for replica in role.replicas}
    first = batch * ratio
    return [there.get(index, Replica(index)) for index in range(first, first + ratio)]


def _of_role(role: PlannedRole, ratio: int, unit: RolePlan) -> RolePlan:
    """The plan of the batches, for one role."""
    batches = {index: _slots(role, index, ratio) for index in range(unit.desired)}
    slots = [slot for parts in batches.values() for slot in parts]
    moves = [
        slot.index for batch in unit.moves for slot in reversed(batches[batch]) if not slot.new
    ]
    ready = sum(slot.new and slot.ready for slot in slots)
    state = unit.state
    if ready == len(slots) and state is not State.COMPLETED:
        state = State.COMPLETED
    return replace(
        unit,
        name=role.name,
        desired=len(slots),
        started=sum(slot.new for slot in slots),
        ready=ready,
        allowed=unit.allowed * ratio,
        partition=unit.partition * ratio,
        keeps=unit.keeps * ratio,
        moves=tuple(moves),
        state=state,
        waits_for="" if state is State.COMPLETED else unit.waits_for,
        held_by=role.name if unit.held_by == unit.name else unit.held_by,
    )
