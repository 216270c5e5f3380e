"""Units are down while fewer of their pods are available than they need."""

import pytest

from intact.picture.coverage import Unit
from intact.sandbox.rehearsal.tracker import Tracker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock) -> Tracker:
    """Two groups of two pods, both up."""
    made = Tracker(clock)
    for name in ("red", "blue"):
        for number in range(2):
            made.put(f"{name}-{number}", Unit(name, 2), available=True)
    made.begin(None)
    return made


def test_units_that_are_up(tracker: Tracker, clock: Clock) -> None:
    clock.now = 10
    tracker.end()
    assert (tracker.expected, tracker.down, tracker.most_down) == (2, 0, 0)
    assert tracker.seconds_at(1) == 0


def test_a_unit_breaks_with_the_first_pod_and_is_whole_with_the_last(
    tracker: Tracker, clock: Clock
) -> None:
    clock.now = 10
    tracker.put("red-0", Unit("red", 2), available=False)
    clock.now = 12
    tracker.remove("red-0")
    tracker.remove("red-1")
    clock.now = 15
    tracker.put("red-2", Unit("red", 2), available=True)
    assert tracker.down == 1
    clock.now = 20
    tracker.put("red-3", Unit("red", 2), available=True)
    clock.now = 30
    tracker.end()
    red = tracker.units["red"]
    assert (red.breaks, red.down_for, red.since) == (1, 10, None)
    assert (tracker.most_down, tracker.seconds_at(1)) == (1, 10)


def test_the_most_units_that_are_down_at_once(tracker: Tracker, clock: Clock) -> None:
    for moment, pod in ((10, "red-0"), (12, "blue-0")):
        clock.now = moment
        tracker.put(pod, Unit(pod[:-2], 2), available=False)
    clock.now = 15
    tracker.put("red-0", Unit("red", 2), available=True)
    clock.now = 21
    tracker.end()
    assert tracker.most_down == 2
    assert tracker.seconds_at(2) == 3
    assert tracker.seconds_at(1) == 11
    assert tracker.units["blue"].down_for == 9


def test_what_was_before_does_not_count(clock: Clock) -> None:
    made = Tracker(clock)
    made.put("a", Unit("a", 1), available=True)
    made.put("a", Unit("a", 1), available=False)
    clock.now = 100
    made.begin(3)
    clock.now = 105
    made.end()
    assert (made.units["a"].breaks, made.units["a"].down_for) == (0, 5)
    assert (made.most_down, made.seconds_at(3)) == (3, 5)


def test_units_above_the_expected_make_up_for_none_but_the_missing(
    tracker: Tracker, clock: Clock
) -> None:
    tracker.put("green-0", Unit("green", 1), available=True)
    assert tracker.down == 0
    tracker.put("red-0", Unit("red", 2), available=False)
    assert tracker.down == 0
    tracker.put("blue-0", Unit("blue", 2), available=False)
    assert tracker.down == 1
    assert clock.now == 0
