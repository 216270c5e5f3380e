"""Which pods make way for a new template."""

from typing import Any

import pytest

from intact.sandbox.controllers.daemon_sets.rolling import (
    Limits,
    limits,
    replaced,
    surged,
    surplus,
)
from tests.support.objects import Json, daemon_set


def pod(name: str, state: str) -> Json:
    """State: n(ew) or o(ld), + available, - not, x on its way out."""
    meta: Json = {"name": name, "labels": {"controller-revision-hash": state[0]}}
    if "x" in state:
        meta["deletionTimestamp"] = "now"
    ready = [{"type": "Ready", "status": str("+" in state)}]
    return {"metadata": meta, "status": {"phase": "Running", "conditions": ready}}


def pods(**states: str) -> dict[str, list[Json]]:
    return {
        node: [pod(f"{node}{state}", state) for state in text.split()]
        for node, text in states.items()
    }


def available(pod: Json) -> bool:
    return bool(pod["status"]["conditions"][0]["status"] == "True")


def names(found: list[Json]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


@pytest.mark.parametrize(
    ("strategy", "wanted", "found"),
    [
        ({"type": "OnDelete"}, 10, Limits(0, 0)),
        ({"rollingUpdate": {"maxUnavailable": "25%"}}, 10, Limits(0, 3)),
        ({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "10%"}}, 11, Limits(2, 0)),
        ({"rollingUpdate": {"maxUnavailable": "0%"}}, 5, Limits(0, 1)),
        ({}, 5, Limits(0, 1)),
    ],
)
def test_amounts_are_rounded_up(strategy: Any, wanted: int, found: Limits) -> None:
    assert limits(daemon_set("w", updateStrategy=strategy), wanted) == found


@pytest.mark.parametrize(
    ("states", "unavailable", "gone"),
    [
        ({"a": "o+", "b": "o+", "c": "o+"}, 1, ["ao+"]),
        ({"a": "o+", "b": "o+", "c": "o+"}, 2, ["ao+", "bo+"]),
        ({"a": "n+", "b": "n-", "c": "o+"}, 1, []),
        ({"a": "n+", "b": "n+", "c": "o+"}, 1, ["co+"]),
        # What is not available goes at once, and counts.
        ({"a": "o-", "b": "o-", "c": "o+"}, 2, ["ao-", "bo-"]),
        # A node without a pod, or with one that is going, counts as unavailable.
        ({"a": "", "b": "o+"}, 1, []),
        ({"a": "o+x", "b": "o+"}, 1, []),
        ({"a": "o+ o+", "b": "o+"}, 1, []),
    ],
)
def test_old_pods_go_within_the_limit(
    states: dict[str, str], unavailable: int, gone: list[str]
) -> None:
    found = replaced(pods(**states), "n", unavailable, available)
    assert (names(found.delete), found.create) == (gone, [])


@pytest.mark.parametrize(
    ("states", "gone", "made"),
    [
        ({"a": "o+", "b": "o+"}, [], ["a"]),
        ({"a": "o+ n-", "b": "o+"}, [], []),
        ({"a": "o+ n+", "b": "o+"}, ["ao+"], ["b"]),
        ({"a": "o-", "b": "o+"}, [], ["a", "b"]),
        # Where the set no longer runs, a pod goes as soon as enough others are available.
        ({"a": "n+", "gone1": "o+"}, ["gone1o+"], []),
        ({"a": "n-", "gone1": "o+"}, [], []),
        ({"a": "n-", "gone1": "o-"}, ["gone1o-"], []),
    ],
)
def test_new_pods_come_beside_old_ones(
    states: dict[str, str], gone: list[str], made: list[str]
) -> None:
    found = surged(pods(**states), "n", 1, available, lambda node: not node.startswith("gone"))
    assert (names(found.delete), found.create) == (gone, made)


@pytest.mark.parametrize(
    ("states", "gone"),
    [
        ("o+", []),
        ("o+ n-", []),
        ("o+ n+", ["ao+"]),
        ("o- n-", ["ao-"]),
        ("o+ o+", ["ao+"]),
        ("n- n-", ["an-"]),
    ],
)
def test_a_node_has_one_old_and_one_new_pod_at_most(states: str, gone: list[str]) -> None:
    assert names(surplus(pods(a=states)["a"], "n", available)) == gone
