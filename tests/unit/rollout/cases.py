"""Builders of roles for tests of the plan."""

from fractions import Fraction

from intact.rollout.plan import PlannedRole, Replica


def role(name: str, desired: int, new: int = 0, ready: int | None = None) -> PlannedRole:
    """With `new` replicas of the new revision at the end, `ready` of them ready; the old are."""
    ready = new if ready is None else ready
    first = desired - new
    replicas = [Replica(index, ready=True) for index in range(first)]
    replicas += [Replica(first + i, new=True, ready=i >= new - ready) for i in range(new)]
    return PlannedRole(name, desired, tuple(replicas))


def percent(number: int) -> Fraction:
    return Fraction(number, 100)
