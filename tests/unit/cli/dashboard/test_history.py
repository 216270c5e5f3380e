"""What the page remembers."""

from datetime import timedelta
from fractions import Fraction

import msgspec
import pytest

from intact.cli.dashboard.history import MOST_POINTS, History, Point, skew_of
from intact.cli.dashboard.moment import Moment
from intact.picture.objects import Objects
from tests.support.pictures import NOW, node, pdb, pod
from tests.unit.cli.dashboard.shards import rbg


def counted(second: int, healthy: int) -> Moment:
    budget = pdb()
    status = msgspec.structs.replace(budget.status, current_healthy=healthy)
    budget = msgspec.structs.replace(budget, status=status)
    return Moment(Objects(pods=[pod("a")], pdbs=[budget]), NOW + timedelta(seconds=second))


def test_a_point_for_each_change_of_a_number() -> None:
    history = History()
    for second, healthy in enumerate([3, 3, 2, 2, 3]):
        history.add(counted(second, healthy))
    points = history.of_budget(counted(5, 3).picture.budgets[0])
    assert [one.numbers for one in points] == [(3, 3, 4), (2, 3, 4), (3, 3, 4)]
    assert [(one.at - NOW).total_seconds() for one in points] == [0, 2, 4]


def test_what_is_kept_of_a_long_time_is_bounded_and_has_its_start_its_dips_and_its_end() -> None:
    history, count = History(), 20 * MOST_POINTS + 1
    for second in range(count):
        history.add(counted(second, 1 if second == 777 else 2 + second % 2))
        if not second % 100:
            kept = len(history.of_budget(counted(0, 0).picture.budgets[0]))
            assert min(second, MOST_POINTS // 3) <= kept <= MOST_POINTS
    points = history.of_budget(counted(0, 0).picture.budgets[0])
    assert points[0].at == NOW
    assert points[-1] == Point(NOW + timedelta(seconds=count - 1), (2, 3, 4))
    assert min(one.numbers[0] for one in points) == 1
    [dip] = [one for one in points if one.numbers[0] == 1]
    assert abs((dip.at - NOW).total_seconds() - 777) < 4 * count / MOST_POINTS
    assert sorted(points, key=lambda one: one.at) == list(points)


def test_the_worst_skew_of_a_long_time_stays() -> None:
    history = History()
    for second in range(MOST_POINTS + 1):
        ready = (4, 0) if second == 7 else (second % 2, 0)
        history.add(Moment(Objects(rbgs=[rbg(ready)]), NOW + timedelta(seconds=second)))
    points = history.of_rollout(rbg(), "together")
    assert len(points) < MOST_POINTS
    assert max(one.numbers[0] for one in points) == 50


def test_a_film_keeps_all_and_a_line_ends_with_its_budget() -> None:
    history = History(most=None)
    for second in range(MOST_POINTS + 50):
        history.add(counted(second, second % 2))
    budget = counted(0, 0).picture.budgets[0]
    assert len(history.of_budget(budget)) == MOST_POINTS + 50
    history.add(Moment(Objects(pods=[pod("a")]), NOW))
    assert history.of_budget(budget) == ()


@pytest.mark.parametrize(
    ("ready", "given", "now", "bound"),
    [
        ((2, 1), "50%", 0, Fraction(1, 2)),
        ((4, 1), "50%", Fraction(1, 4), Fraction(1, 2)),
        ((4, 1), "10%", Fraction(1, 4), Fraction(1, 4)),  # one replica of decode is a quarter
        ((4, 1), None, Fraction(1, 4), None),
    ],
)
def test_skew_and_its_bound(
    ready: tuple[int, int], given: str | None, now: Fraction, bound: Fraction | None
) -> None:
    found = skew_of(rbg(ready, skew=given), "together")
    assert found is not None
    assert (found.now, found.bound) == (now, bound)
    assert skew_of(rbg(ready), "apart") is None


def test_a_group_that_comes_up_has_no_skew() -> None:
    """Its roles become ready as they do: nothing holds them to a bound."""
    group = rbg((4, 0), skew="10%")
    status = msgspec.structs.replace(group.status, current_revision="")
    group = msgspec.structs.replace(group, status=status)
    assert skew_of(group, "together") is None
    history = History()
    history.add(Moment(Objects(rbgs=[group]), NOW))
    assert history.of_rollout(group, "together") == ()


def test_the_skew_over_time() -> None:
    history = History()
    for second, ready in enumerate([(0, 0), (1, 0), (2, 0), (2, 1)]):
        at = NOW + timedelta(seconds=second)
        history.add(Moment(Objects(rbgs=[rbg(ready)]), at))
    points = history.of_rollout(rbg(), "together")
    assert [one.numbers for one in points] == [(0, 25), (12.5, 25), (25, 25), (0, 25)]
    history.add(Moment(Objects(), NOW))
    assert history.of_rollout(rbg(), "together") == ()


def test_pods_that_a_drain_takes_from_a_cordoned_node() -> None:
    history = History()
    daemon = pod("agent", owner=("DaemonSet", "agent"))

    def at(*names: str, cordoned: bool) -> Moment:
        pods = [daemon, *(pod(name) for name in names), pod("else", node="node-1")]
        return Moment(Objects(pods=pods, nodes=[node(cordoned=cordoned), node("node-1")]), NOW)

    history.add(at("a", "b", cordoned=False))
    assert history.drains == {}
    history.add(at("a", "b", cordoned=True))
    history.add(at("b", cordoned=True))
    assert history.drains["node-0"].pods == {"uid-a", "uid-b"}
    history.add(at("b", cordoned=False))
    assert history.drains == {}
