"""The timelines of budgets."""

from datetime import timedelta

import msgspec

from intact.cli.dashboard.moment import MOST_POINTS, History, Moment
from intact.picture.objects import Objects
from tests.support.pictures import NOW, pdb, pod


def moment(second: int, healthy: int) -> Moment:
    budget = pdb()
    status = msgspec.structs.replace(budget.status, current_healthy=healthy)
    budget = msgspec.structs.replace(budget, status=status)
    return Moment(Objects(pods=[pod("a")], pdbs=[budget]), NOW + timedelta(seconds=second))


def test_a_point_for_each_change_of_a_number() -> None:
    history = History()
    for second, healthy in enumerate([3, 3, 2, 2, 3]):
        history.add(moment(second, healthy))
    points = history.of(moment(5, 3).picture.budgets[0])
    assert [one.available for one in points] == [3, 2, 3]
    assert [(one.at - NOW).total_seconds() for one in points] == [0, 2, 4]


def test_what_is_kept_is_bounded_and_ends_with_the_budget() -> None:
    history = History()
    for second in range(MOST_POINTS + 50):
        history.add(moment(second, second % 2))
    budget = moment(0, 0).picture.budgets[0]
    assert len(history.of(budget)) == MOST_POINTS
    history.add(Moment(Objects(pods=[pod("a")]), NOW))
    assert history.of(budget) == ()
