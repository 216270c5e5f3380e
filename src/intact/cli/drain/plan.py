"""Which units are asked for next. Facts in, keys out: no clock, no client.

- Units that break nothing come first: those that are down, surplus pods, pods without a budget.
- Then, as far as the numbers of every budget of a unit allow it, the unit that frees the most.
- Numbers may be wrong, or nobody may write them. So where they allow nothing, one unit of a budget
  is asked for all the same, and again whenever something has changed since it was refused: the one
  that was not asked for longest.
- What was refused is not asked for again while nothing has changed.
- A budget has no say in the units of another one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from intact.cli.drain.units import BudgetKey, UnitKey


class Mark(Enum):
    """What the last answer about a budget says for further units of the same class."""

    NONE = auto()
    """Nothing was refused."""
    STANDS = auto()
    """Refused, and nothing has changed since."""
    CHANGED = auto()
    """Refused, and something has changed since."""


@dataclass(frozen=True, slots=True)
class Candidate:
    key: UnitKey
    pods: int
    """That it frees."""
    free: bool
    """Whether it breaks nothing."""
    costs: Mapping[BudgetKey, int]
    name: str = ""
    """Of the group, or of the pod: units that free as much go by name."""
    refused: float = 0.0
    """When it was refused last; 0 if never."""


Marks = Callable[[BudgetKey, bool], Mark]
"""For free units and for those that break."""
Class = tuple[BudgetKey, bool]


def next_units(
    candidates: Iterable[Candidate],
    room: Mapping[BudgetKey, int],
    mark: Marks,
    under_way: Iterable[Class] = (),
) -> list[UnitKey]:
    """`room` is what the numbers of each budget still allow; `under_way` are the classes of which
    a unit is being asked for."""
    left = dict(room)
    chosen: list[UnitKey] = []
    alone: list[tuple[Candidate, set[Class]]] = []
    asked = set(under_way)
    for one in sorted(candidates, key=_rank):
        doubtful = {
            (budget, one.free) for budget in one.costs if not _goes(one, budget, left, mark)
        }
        if not doubtful:
            chosen.append(one.key)
            asked |= {(budget, one.free) for budget in one.costs}
            if not one.free:
                for budget, cost in one.costs.items():
                    left[budget] = left.get(budget, 0) - cost
        elif all(_may_try(each, left, mark) for each in doubtful):
            alone.append((one, doubtful))
    for one, doubtful in sorted(alone, key=lambda each: (each[0].refused, _rank(each[0]))):
        if not doubtful & asked:
            chosen.append(one.key)
            asked |= {(budget, one.free) for budget in one.costs}
    return chosen


def _rank(one: Candidate) -> tuple[object, ...]:
    return not one.free, -one.pods, one.key[0], one.name, one.key


def _goes(one: Candidate, budget: BudgetKey, left: Mapping[BudgetKey, int], mark: Marks) -> bool:
    """Whether nothing is known against it, as far as one budget is concerned."""
    if one.free:
        return mark(budget, True) is Mark.NONE
    return left.get(budget, 0) > 0 and mark(budget, False) is not Mark.STANDS


def _may_try(each: Class, left: Mapping[BudgetKey, int], mark: Marks) -> bool:
    """Whether one unit may be asked for alone: something has changed, or the numbers allow it."""
    budget, free = each
    return mark(budget, free) is not Mark.STANDS or (not free and left.get(budget, 0) > 0)
