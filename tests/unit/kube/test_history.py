"""Who is told that the server has gone back."""

from collections.abc import Callable

from intact.kube.history import History


def test_all_that_follow_are_told_until_they_do_not() -> None:
    history = History()
    told: list[str] = []
    stop = history.follow(lambda: told.append("a"))
    history.follow(lambda: told.append("b"))
    history.went_back()
    stop()
    history.went_back()
    assert told == ["a", "b", "b"]


def test_one_that_stops_when_it_is_told_keeps_none_from_being_told() -> None:
    history = History()
    told: list[str] = []
    stops: list[Callable[[], None]] = []

    def stop() -> None:
        told.append("a")
        stops.pop()()

    stops.append(history.follow(stop))
    history.follow(lambda: told.append("b"))
    history.went_back()
    assert told == ["a", "b"]
