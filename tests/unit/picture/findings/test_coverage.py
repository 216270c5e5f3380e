"""Findings about the pods that a budget covers."""

from typing import Any

import pytest

from intact.picture.findings.coverage import about_coverage
from intact.picture.findings.facts import Target, TargetState
from tests.support.findings import codes, pdb, pods, pub, subject

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
KEY = Target("apps", "apps", "Deployment", "web")


def aimed() -> Any:
    return pub(maxUnavailable=1, selector=None, targetRef=TARGET)


@pytest.mark.parametrize(
    ("budget", "number", "in_cluster", "in_files"),
    [
        (pdb(), 1, [], []),
        (pdb(), 0, [("IB201", "warning")], [("IB201", "note")]),
        (pdb(selector=None), 1, [("IB202", "error")], [("IB202", "error")]),
        (pdb(selector={}), 1, [("IB205", "warning")], [("IB205", "warning")]),
        (pub(selector={}), 1, [], []),
        (aimed(), 0, [("IB201", "warning")], [("IB203", "note")]),
    ],
)
def test_what_a_budget_covers(
    budget: Any, number: int, in_cluster: list[Any], in_files: list[Any]
) -> None:
    assert codes(about_coverage(subject(budget, pods(number), live=True))) == in_cluster
    assert codes(about_coverage(subject(budget, pods(number)))) == in_files


@pytest.mark.parametrize(
    ("state", "in_cluster", "in_files"),
    [
        (TargetState("there is none of that name"), ("IB203", "error"), ("IB203", "warning")),
        (TargetState(replicas=0), ("IB204", "note"), ("IB204", "note")),
        (TargetState(replicas=3), ("IB201", "warning"), ("IB201", "warning")),
    ],
)
def test_what_is_known_of_a_target(state: TargetState, in_cluster: Any, in_files: Any) -> None:
    targets = {KEY: state}
    assert codes(about_coverage(subject(aimed(), live=True, targets=targets))) == [in_cluster]
    assert codes(about_coverage(subject(aimed(), targets=targets))) == [in_files]


def test_the_selector_is_named() -> None:
    labels = {
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
    }
    [found] = about_coverage(subject(pdb(selector=labels)))
    assert "selects app=x, tier In a b," in found.message
