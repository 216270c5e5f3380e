"""Which pod is next, and which waits for what."""

from typing import Any

import pytest

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.reasons import Refusals
from intact.sandbox.scheduler.waiting import WaitingPods
from tests.support.scheduling import Books, info


def waiting() -> WaitingPods:
    return WaitingPods(lambda: None)


def test_a_higher_priority_is_first_then_who_came_first() -> None:
    pods = waiting()
    for name, priority in (("a", 0), ("b", 0), ("c", 10)):
        pods.put(info(name), priority)
    popped = [pods.pop() for _ in range(4)]
    assert [pod.name if pod else "" for pod in popped] == ["c", "a", "b", ""]


def test_a_pod_that_was_dropped_or_changed_is_not_popped_as_it_was() -> None:
    pods = waiting()
    for name in ("a", "b"):
        pods.put(info(name), 0)
    pods.drop("uid-a")
    pods.put(info("b", labels={"x": "y"}), 0)
    found = pods.pop()
    assert found is not None
    assert found.labels == {"x": "y"}
    assert len(pods) == 1


def refusals(reason: str, *, resolvable: bool) -> Refusals:
    found = Refusals()
    found.add((reason,), resolvable=resolvable)
    return found


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        (refusals(reasons.UNSCHEDULABLE, resolvable=False), ["nodes_changed"]),
        (refusals("Insufficient cpu", resolvable=True), ["nodes_changed", "pod_left"]),
        (refusals("Insufficient cpu", resolvable=False), ["nodes_changed"]),
        (refusals(reasons.AFFINITY, resolvable=False), ["nodes_changed", "pod_placed"]),
        (
            refusals(reasons.SPREAD, resolvable=True),
            ["nodes_changed", "pod_left", "pod_leaves", "pod_placed"],
        ),
    ],
)
def test_a_pod_waits_for_a_change_that_could_help_it(why: Refusals, changes: list[str]) -> None:
    node = Books("x").accounts.nodes["x"]
    for change in ("nodes_changed", "pod_left", "pod_leaves", "pod_placed"):
        pods = waiting()
        pods.put(info("a"), 0)
        assert pods.pop()
        pods.set_aside("uid-a", why)
        assert pods.pop() is None
        getattr(pods, change)(*([node] if change == "pod_left" else []))
        assert bool(pods.pop()) == (change in changes), change


def test_waking_says_that_something_is_next() -> None:
    calls: list[None] = []
    pods = WaitingPods(lambda: calls.append(None))
    pods.put(info("a"), 0)
    assert len(calls) == 1
    pods.pop()
    pods.set_aside("uid-a", refusals("Insufficient cpu", resolvable=True))
    pods.pod_placed()
    assert len(calls) == 1
    pods.pod_left(Books("x").accounts.nodes["x"])
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("node", "reason", "tried"),
    [
        ({"allocatable": {"cpu": "2"}}, "Insufficient cpu", True),
        ({"allocatable": {"cpu": "1"}}, "Insufficient cpu", False),
        ({"allocatable": {"cpu": "2"}, "unschedulable": True}, "Insufficient cpu", False),
        ({"allocatable": {"cpu": "1"}}, reasons.ANTI_AFFINITY, True),
    ],
)
def test_a_pod_without_room_waits_for_room_on_a_node_that_may_take_it(
    node: dict[str, Any], reason: str, tried: bool
) -> None:
    pods = waiting()
    pods.put(info("a", requests={"cpu": "2"}), 0)
    pods.pop()
    pods.set_aside("uid-a", refusals(reason, resolvable=True))
    pods.pod_left(Books("x", **node).accounts.nodes["x"])
    assert bool(pods.pop()) == tried
