"""How the numbers came there: what the page remembers of the moments that it has seen.

| of | numbers | until |
|---|---|---|
| each budget | units available, required, expected | it is deleted |
| each rolling coordination | the skew of its roles, and its bound | it is deleted |
| each cordoned node | the pods that a drain takes from it | it is uncordoned |

A point stands for each change. A page can stay open for weeks: in a line that has become too long,
a point stands for a stretch of time, with the worst of its numbers. It still begins where it began.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import groupby
from typing import TypeAlias

from intact.cli.dashboard.moment import Moment
from intact.cli.why.holders import LEFT
from intact.model.rbg import RoleBasedGroup
from intact.picture.budgets import BudgetPicture
from intact.rollout.coordinations import ROLLING_UPDATE, rolling_rules, type_of
from intact.rollout.ratios import is_ratio, parse

MOST_POINTS = 300
"""Of one line of a page that stays open: more would not be seen."""
Numbers: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    at: datetime
    numbers: Numbers


@dataclass
class Skew:
    """How far the roles of a coordination are apart, and how far they may be."""

    now: Fraction
    bound: Fraction | None
    """The larger of maxSkew and one replica of the coarsest role; None without a maxSkew."""


@dataclass
class Drain:
    """A node since it was seen to be cordoned."""

    began: datetime
    pods: set[str] = field(default_factory=set)
    """The UIDs of all that a drain takes and that were seen on it."""


class _Lines:
    """One line of points for each key that is there."""

    def __init__(self, most: int | None, worst: Callable[..., Point]) -> None:
        """`worst` is `min` or `max`, by the first number."""
        self._most = most
        self._worst = worst
        self._points: dict[Hashable, list[Point]] = {}

    def add(self, at: datetime, numbers: Mapping[Hashable, Numbers]) -> None:
        for key, found in numbers.items():
            points = self._points.setdefault(key, [])
            if not points or points[-1].numbers != found:
                points.append(Point(at, found))
                if self._most is not None and len(points) > self._most:
                    self._points[key] = self._thinned(points, self._most)
        for gone in self._points.keys() - numbers.keys():
            del self._points[gone]

    def _thinned(self, points: Sequence[Point], most: int) -> list[Point]:
        """One point for each stretch of time, from where it began, and the last as it is."""
        begun, last = points[0].at, points[-1]
        stretch = max((last.at - begun) / (most // 2), timedelta(microseconds=1))
        found = [
            replace(self._worst(group, key=_first_number), at=group[0].at)
            for _number, those in groupby(points[:-1], lambda one: (one.at - begun) // stretch)
            if (group := list(those))
        ]
        return [*found, last][-most:]  # a clock may have been set back

    def of(self, key: Hashable) -> Sequence[Point]:
        return tuple(self._points.get(key, ()))


class History:
    """`most`, points of one line; None keeps all of them."""

    def __init__(self, most: int | None = MOST_POINTS) -> None:
        self.drains: dict[str, Drain] = {}
        self._budgets = _Lines(most, min)
        self._skews = _Lines(most, max)

    def add(self, moment: Moment) -> None:
        budgets = moment.picture.budgets
        self._budgets.add(
            moment.now,
            {_budget(one): (one.current, one.desired, one.total) for one in budgets},
        )
        self._skews.add(moment.now, dict(_skews(moment.objects.rbgs)))
        self._follow_drains(moment)

    def of_budget(self, budget: BudgetPicture) -> Sequence[Point]:
        return self._budgets.of(_budget(budget))

    def of_rollout(self, group: RoleBasedGroup, coordination: str) -> Sequence[Point]:
        """In percent: the skew, and its bound where there is one."""
        return self._skews.of((*_key(group), coordination))

    def _follow_drains(self, moment: Moment) -> None:
        cordoned = {node.metadata.name for node in moment.objects.nodes if node.spec.unschedulable}
        for name in self.drains.keys() - cordoned:
            del self.drains[name]
        for name in cordoned - self.drains.keys():
            self.drains[name] = Drain(moment.now)
        if not cordoned:
            return
        for pod in moment.objects.pods:
            drain, uid = self.drains.get(pod.spec.node_name), pod.metadata.uid
            if drain is None or uid in drain.pods:
                continue
            if moment.judge.of(pod).reason not in LEFT:
                drain.pods.add(uid)


def _first_number(point: Point) -> float:
    return point.numbers[0]


def skew_of(group: RoleBasedGroup, coordination: str) -> Skew | None:
    """None if there is no such coordination, nothing of it is known yet, or its roles never served
    together: while a RoleBasedGroup comes up, nothing bounds how far they are apart."""
    rules = group.spec.coordination_named(coordination)
    state = group.status.coordination_named(coordination)
    if rules is None or state is None or type_of(rules) != ROLLING_UPDATE:
        return None
    roles = [one for one in state.progress.values() if one.desired]
    if not roles or not group.status.current_revision:
        return None
    progress = [Fraction(one.ready, one.desired) for one in roles]
    given = rolling_rules(rules).max_skew
    bound = None
    if given is not None and is_ratio(given):
        bound = max(parse(given), Fraction(1, min(one.desired for one in roles)))
    return Skew(max(progress) - min(progress), bound)


def _skews(groups: Iterable[RoleBasedGroup]) -> Iterable[tuple[Hashable, Numbers]]:
    for group in groups:
        for one in group.spec.coordination:
            if found := skew_of(group, one.name):
                bound = () if found.bound is None else (_percent(found.bound),)
                yield (*_key(group), one.name), (_percent(found.now), *bound)


def _percent(part: Fraction) -> float:
    return round(float(100 * part), 1)


def _budget(budget: BudgetPicture) -> Hashable:
    return budget.kind, budget.namespace, budget.name


def _key(group: RoleBasedGroup) -> tuple[str, str]:
    return group.metadata.namespace, group.metadata.name
