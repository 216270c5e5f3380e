"""A rehearsed rollout: the rounds that it takes if every started replica becomes ready."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from intact.rollout.batches import Batched, plan_in_batches
from intact.rollout.plan import Plan, PlannedRole, Replica, Rules


@dataclass(frozen=True, slots=True)
class Round:
    started: dict[str, int]
    """By role, how many this round moves."""
    updated: dict[str, int]
    """By role, how many run the new revision at its end."""
    desired: dict[str, int]
    skew: Fraction
    """At its end."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    rounds: list[Round]
    end: Plan
    """Completed, held by partition or pause, or waiting."""


def all_old(name: str, desired: int, *, surge: bool = False) -> PlannedRole:
    """A role before the rollout."""
    replicas = tuple(Replica(index, ready=True) for index in range(desired))
    return PlannedRole(name, desired, replicas, surge=surge)


def rehearse(
    roles: Iterable[PlannedRole],
    rules: Rules,
    batched: Iterable[Batched] = (),
    *,
    back: bool = False,
) -> Rehearsal:
    state = [_settled(role) for role in roles]
    batches = list(batched)
    rounds: list[Round] = []
    while True:
        made = plan_in_batches(state, rules, batches, back=back)
        if not any(role.moves for role in made.roles.values()):
            return Rehearsal(rounds, made)
        state = [_moved(role, made.roles[role.name].moves) for role in state]
        after = plan_in_batches(state, rules, batches, back=back)
        rounds.append(
            Round(
                {name: len(role.moves) for name, role in made.roles.items()},
                {name: role.started for name, role in after.roles.items()},
                {name: role.desired for name, role in after.roles.items()},
                after.skew,
            )
        )


def _settled(role: PlannedRole) -> PlannedRole:
    """With all its desired replicas ready."""
    there = {replica.index: replica for replica in role.replicas}
    slots = (there.get(index, Replica(index)) for index in range(role.desired))
    return replace(role, replicas=tuple(replace(slot, ready=True) for slot in slots))


def _moved(role: PlannedRole, moves: Iterable[int]) -> PlannedRole:
    moving = set(moves)
    return replace(
        role,
        replicas=tuple(
            replace(slot, new=slot.new or slot.index in moving) for slot in role.replicas
        ),
    )
