"""Who is told that the server has gone back."""

from collections.abc import Callable

from intact.kube.history import History
from intact.kube.resources import NAMESPACES, PODS
from intact.model.meta import ObjectMeta
from intact.model.places import Namespace


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


def at(version: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name="n", resource_version=version))


def test_the_newest_of_a_kind_is_remembered_until_the_server_goes_back() -> None:
    history = History()
    for version in ("7", "9", "8"):
        history.learn(NAMESPACES, at(version))
    assert history.learned_after(NAMESPACES, "8") == at("9")
    assert history.learned_after(NAMESPACES, "9") is None
    assert history.learned_after(PODS, "8") is None
    history.went_back()
    assert history.learned_after(NAMESPACES, "8") is None
