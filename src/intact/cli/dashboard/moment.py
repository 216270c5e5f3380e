"""What the page shows at one moment, and how the numbers of budgets came there."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from intact.picture.budgets import BudgetPicture
from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw
from intact.picture.verdict import Judge

MOST_POINTS = 600
"""Of a timeline: more would not be seen."""


@dataclass(frozen=True)
class Moment:
    objects: Objects
    now: datetime

    @cached_property
    def picture(self) -> Picture:
        return draw(self.objects)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.picture, self.now)


@dataclass(frozen=True, slots=True)
class Point:
    at: datetime
    available: int
    desired: int
    total: int


@dataclass
class History:
    """For as long as the page is open. A point for each change, the oldest forgotten."""

    _points: dict[tuple[str, str, str], deque[Point]] = field(default_factory=dict)

    def add(self, moment: Moment) -> None:
        for one in moment.picture.budgets:
            points = self._points.setdefault(_key(one), deque(maxlen=MOST_POINTS))
            point = Point(moment.now, one.current, one.desired, one.total)
            if not points or _numbers(points[-1]) != _numbers(point):
                points.append(point)
        there = {_key(one) for one in moment.picture.budgets}
        for gone in self._points.keys() - there:
            del self._points[gone]

    def of(self, budget: BudgetPicture) -> Sequence[Point]:
        return tuple(self._points.get(_key(budget), ()))


def _key(budget: BudgetPicture) -> tuple[str, str, str]:
    return budget.kind, budget.namespace, budget.name


def _numbers(point: Point) -> tuple[int, int, int]:
    return point.available, point.desired, point.total
