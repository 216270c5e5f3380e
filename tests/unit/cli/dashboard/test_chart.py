"""Lines over time."""

from datetime import timedelta

import pytest

from intact.cli.dashboard.chart import HEIGHT, TOP, chart
from intact.cli.dashboard.history import Point
from tests.support.pictures import NOW

POINTS = [Point(NOW, (2, 1)), Point(NOW + timedelta(seconds=5), (1, 1))]


def test_a_number_holds_until_it_changes() -> None:
    found = chart(POINTS, NOW + timedelta(seconds=10))
    assert found is not None
    assert found.lines == [
        "0.0,10.0 300.0,10.0 300.0,65.0 600,65.0",
        "0.0,65.0 300.0,65.0 300.0,65.0 600,65.0",
    ]
    assert (found.least, found.most, found.lasted, found.cursor) == (1, 2, "10s", None)


@pytest.mark.parametrize(
    ("numbers", "bottom"),
    [
        ([(180, 176, 180), (176, 176, 184)], 168),
        ([(40, 39, 40), (39, 39, 40)], 36),
        ([(2000, 1999, 2000)], 1996),
        ([(180, 176, 180), (0, 176, 180)], 0),
        ([(16, 15, 16), (15, 15, 16)], 0),
    ],
)
def test_of_many_units_those_are_shown_that_make_a_difference(
    numbers: list[tuple[float, ...]], bottom: float
) -> None:
    points = [Point(NOW + timedelta(seconds=at), one) for at, one in enumerate(numbers)]
    found = chart(points, NOW + timedelta(seconds=9))
    assert found is not None
    assert found.bottom == bottom
    heights = [float(one.split(",")[1]) for line in found.lines for one in line.split()]
    assert min(heights) == TOP
    assert max(heights) <= HEIGHT
    assert bottom == 0 or max(heights) - TOP > 20


def test_nothing_is_known_yet() -> None:
    assert chart([], NOW) is None


def test_a_bound_that_was_added_later_has_a_line_from_then_on() -> None:
    points = [Point(NOW, (0.0,)), Point(NOW + timedelta(seconds=5), (0.0, 25.0))]
    found = chart(points, NOW + timedelta(seconds=10), most=100)
    assert found is not None
    assert found.lines[1] == "300.0,92.5 600,92.5"
    assert (found.bottom, found.most) == (0, 100)


def test_the_place_in_a_film() -> None:
    found = chart(POINTS, NOW + timedelta(seconds=10), at=NOW + timedelta(seconds=4))
    assert found is not None
    assert found.cursor == 240.0
