"""The rollout plan: how many replicas of each role may run the new revision right now.

A pure function of what is there. It remembers nothing, so it continues from any state: after a
restart, a scale, a new template. Going back to the old template is a plan like any other.

| word | means |
|---|---|
| new | has the revision that is rolled out, or will have it once it is created |
| started | new, ready or not: started replicas that are not ready count against the limits |
| progress | of a role: replicas new and ready, over desired |
| goal | desired minus the replicas that the partition keeps old |
| p | the lowest progress of the roles that have not reached their goal |

The rules, for each role:

1. Started is at most what is `allowed`: ⌊(p + maxSkew) · desired⌋, or, for a role that itself
   stands at p, one more than is ready if that is more; and never over the goal. So no role's
   started replicas are further from p than maxSkew or one replica of the coarsest role.
2. An available replica moves only while fewer than ⌊maxUnavailableRatio · desired⌋ (at least one)
   are unavailable. An unavailable replica costs nothing.
3. The highest index moves first, so a rollback takes the newest first. Nothing moves backwards.

A role that has reached its goal holds up no other role: goals differ by less than one replica.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from intact.rollout.ratios import floor, most_unavailable, staying_old


@dataclass(frozen=True, slots=True)
class Rules:
    max_skew: Fraction | None = None
    max_unavailable: Fraction | None = None
    partition: Fraction = Fraction(0)
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Replica:
    """One place of a role: a pod or a replica of a LeaderWorkerSet, existing or still to come."""

    index: int
    new: bool = False
    ready: bool = False


@dataclass(frozen=True, slots=True)
class PlannedRole:
    name: str
    desired: int
    replicas: tuple[Replica, ...] = ()
    """By index. A missing one does not exist and would be created with the old revision; those from
    `desired` on are being removed and do not count."""
    surge: bool = False
    """One replica more than desired may run for a while, if none may be unavailable."""
    stable: bool = False
    """The new revision is the one completed last. The replicas that the partition keeps have it
    already, so the partition holds nothing up, and the rollback of a canary takes all of it."""
    in_batches: bool = False
    """Its replicas are batches, and messages call them so."""

    def count(self, number: int) -> str:
        """The number in words, for messages."""
        if not self.in_batches:
            return str(number)
        return f"{number} {'batch' if number == 1 else 'batches'}"


class State(StrEnum):
    UPDATING = "Updating"
    WAITING = "Waiting"
    """For another role; a role that waits for its own replicas is updating."""
    PAUSED = "Paused"
    STALLED = "Stalled"
    COMPLETED = "Completed"
    ROLLING_BACK = "RollingBack"


@dataclass(frozen=True, slots=True)
class RolePlan:
    name: str
    desired: int
    started: int
    ready: int
    """Of the started ones."""
    allowed: int
    """How many may be started by now."""
    partition: int
    """The lowest index at and above which all are new or move now: a workload with ordinals may
    update from there on."""
    keeps: int
    """How many stay old, by the rules."""
    moves: tuple[int, ...]
    """The indexes that move now, first to last."""
    state: State
    waits_for: str = ""
    """What it waits for, in words."""
    held_by: str = ""
    """The role that it waits for, possibly itself; empty if it waits for none."""

    @property
    def in_flight(self) -> int:
        return self.started - self.ready


@dataclass(frozen=True, slots=True)
class Plan:
    roles: dict[str, RolePlan]
    """In the order of their names."""
    skew: Fraction
    """How far the progress of the roles is apart."""

    @property
    def completed(self) -> bool:
        return all(role.state is State.COMPLETED for role in self.roles.values())

    @property
    def at_rest(self) -> bool:
        """Whether nothing changes by itself: completed, or held by partition or pause."""
        still = (State.COMPLETED, State.PAUSED)
        return all(role.state in still and not role.in_flight for role in self.roles.values())


def plan(roles: Iterable[PlannedRole], rules: Rules, *, back: bool = False) -> Plan:
    """`back` says that the new revision is an earlier one: it changes the state's name, no rule."""
    counts = sorted((_count(role, rules) for role in roles), key=lambda one: one.role.name)
    behind = min(
        (one for one in counts if not one.at_goal), key=lambda one: one.progress, default=None
    )
    made = {one.role.name: _plan(one, behind, rules, back=back) for one in counts}
    progress = [one.progress for one in counts if one.role.desired]
    skew = max(progress) - min(progress) if progress else Fraction(0)
    return Plan(made, skew)


@dataclass(frozen=True, slots=True)
class _Counts:
    role: PlannedRole
    slots: tuple[Replica, ...]
    started: int
    ready: int
    unavailable: int
    goal: int
    most_unavailable: int

    @property
    def at_goal(self) -> bool:
        return self.ready >= self.goal

    @property
    def progress(self) -> Fraction:
        return Fraction(self.ready, self.role.desired) if self.role.desired else Fraction(1)


def _count(role: PlannedRole, rules: Rules) -> _Counts:
    there = {replica.index: replica for replica in role.replicas}
    slots = tuple(there.get(index, Replica(index)) for index in range(role.desired))
    most = most_unavailable(rules.max_unavailable, role.desired)
    keeps = 0 if role.stable else staying_old(rules.partition, role.desired)
    return _Counts(
        role=role,
        slots=slots,
        started=sum(slot.new for slot in slots),
        ready=sum(slot.new and slot.ready for slot in slots),
        unavailable=sum(not slot.ready for slot in slots),
        goal=role.desired - keeps,
        # A role that was scaled down to where the ratio is less than one goes on, one at a time.
        most_unavailable=max(1, most) if role.surge or rules.max_unavailable != 0 else 0,
    )


def _plan(one: _Counts, behind: _Counts | None, rules: Rules, *, back: bool) -> RolePlan:
    role = one.role
    allowed = _allowed(one, behind, rules)
    moves: list[int] = []
    if not rules.paused:
        moves = _moves(one, allowed)
    moving = set(moves)
    partition = role.desired
    for slot in reversed(one.slots):
        if not slot.new and slot.index not in moving:
            break
        partition = slot.index
    state, held_by, waits_for = _state(one, behind, rules, allowed, moves, back=back)
    return RolePlan(
        name=role.name,
        desired=role.desired,
        started=one.started,
        ready=one.ready,
        allowed=allowed,
        partition=partition,
        keeps=role.desired - one.goal,
        moves=tuple(moves),
        state=state,
        waits_for=waits_for,
        held_by=held_by,
    )


def _allowed(one: _Counts, behind: _Counts | None, rules: Rules) -> int:
    if behind is None or rules.max_skew is None:
        return one.goal
    allowed = floor((behind.progress + rules.max_skew) * one.role.desired)
    if one.progress == behind.progress:
        allowed = max(allowed, one.ready + 1)
    return min(allowed, one.goal)


def _moves(one: _Counts, allowed: int) -> list[int]:
    """From the highest index down, as far as the rules allow."""
    moves: list[int] = []
    room = one.most_unavailable - one.unavailable
    for slot in reversed(one.slots):
        if slot.new:
            continue
        if one.started + len(moves) >= allowed or (slot.ready and room <= 0):
            break
        room -= slot.ready
        moves.append(slot.index)
    return moves


def _state(
    one: _Counts,
    behind: _Counts | None,
    rules: Rules,
    allowed: int,
    moves: list[int],
    *,
    back: bool,
) -> tuple[State, str, str]:
    name, in_flight = one.role.name, one.started - one.ready
    going = State.ROLLING_BACK if back else State.UPDATING
    not_ready = (
        f"{name}: {one.role.count(in_flight)} started and not ready yet" if in_flight else ""
    )
    if one.ready >= one.role.desired:
        return State.COMPLETED, "", ""
    if rules.paused:
        return State.PAUSED, "", "; ".join(filter(None, ["spec.paused", not_ready]))
    if moves or (in_flight and one.started >= min(one.goal, allowed)):
        return going, name if in_flight else "", not_ready
    if one.started >= one.goal:
        kept = one.role.desired - one.goal
        stay = "stays" if kept == 1 else "stay"
        of = one.role.count(one.role.desired)
        return State.PAUSED, "", f"partition: {kept} of {of} {stay} old"
    if one.started >= allowed and behind is not None and behind is not one:
        return State.WAITING, behind.role.name, _lagging(behind)
    if in_flight:
        return going, name, not_ready
    return going, name, _unavailable(one)


def _lagging(behind: _Counts) -> str:
    role = behind.role
    text = f"{role.name}: {behind.ready} of {role.count(role.desired)} updated and ready"
    if in_flight := behind.started - behind.ready:
        text += f", {role.count(in_flight)} started and not ready yet"
    return text


def _unavailable(one: _Counts) -> str:
    role = one.role
    if not one.most_unavailable:
        replicas = "replica" if role.desired == 1 else "replicas"
        of = role.count(role.desired) if role.in_batches else f"{role.desired} {replicas}"
        return f"maxUnavailableRatio: none of {of} may be unavailable"
    names = ", ".join(str(slot.index) for slot in one.slots if not slot.ready and not slot.new)
    return (
        f"{role.name}: {role.count(one.unavailable)} unavailable, {one.most_unavailable} may be; "
        f"old and not ready: {names}"
    )
