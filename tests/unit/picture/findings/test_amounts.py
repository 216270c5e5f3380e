"""Findings about amounts."""

from typing import Any

import pytest

from intact.picture.findings.amounts import about_amounts
from tests.support.findings import LWS, WORKLOAD, codes, pdb, pods, pub, set_pods, subject

NEVER, HELD, FREE = ("IB101", "error"), ("IB102", "error"), ("IB102", "warning")
ALL = ("IB103", "warning")
POLICY = {"groupLabelKey": f"{LWS}/group-key", "minReadyReplicas": 4}


@pytest.mark.parametrize(
    ("spec", "number", "found"),
    [
        ({"maxUnavailable": 1}, 3, []),
        ({"minAvailable": 2}, 3, []),
        ({"maxUnavailable": "10%"}, 3, []),
        ({"maxUnavailable": 0}, 3, [NEVER]),
        ({"maxUnavailable": "0%"}, 0, [NEVER]),
        ({"minAvailable": "100%"}, 0, [NEVER]),
        ({"minAvailable": 3}, 3, [NEVER]),
        ({"minAvailable": 4}, 3, [NEVER]),
        ({"minAvailable": "90%"}, 3, [NEVER]),
        ({"minAvailable": 1}, 1, [HELD]),
        ({"minAvailable": "50%"}, 1, [HELD]),
        ({"maxUnavailable": 1}, 1, [FREE]),
        ({"maxUnavailable": "50%"}, 1, [FREE]),
        ({"maxUnavailable": 3}, 3, [ALL]),
        ({"maxUnavailable": "100%"}, 0, [ALL]),
        ({"minAvailable": 0}, 3, [ALL]),
        ({"minAvailable": 5}, 0, []),
        ({"maxUnavailable": -1}, 3, []),
    ],
)
@pytest.mark.parametrize("kind", [pdb, pub])
def test_what_a_budget_can_ever_allow(
    kind: Any, spec: Any, number: int, found: list[tuple[str, str]]
) -> None:
    assert codes(about_amounts(subject(kind(**spec), pods(number)))) == found


def test_a_budget_without_amounts_allows_nothing() -> None:
    [found] = about_amounts(subject(pdb(), pods(3)))
    assert (found.code, found.field) == ("IB101", "spec")


@pytest.mark.parametrize(
    ("budget", "groups", "found"),
    [
        (pdb(maxUnavailable=1, labels=WORKLOAD), 3, []),
        (pdb(minAvailable=3, labels=WORKLOAD), 3, [NEVER]),
        (pdb(maxUnavailable=4, labels=WORKLOAD), 6, [("IB104", "warning")]),
        (pdb(maxUnavailable=4, labels=WORKLOAD), 20, [("IB104", "note")]),
        (pdb(maxUnavailable=3, labels=WORKLOAD), 6, []),
        (pdb(maxUnavailable="50%", labels=WORKLOAD), 6, []),
        (pub(maxUnavailable=1, podGroupPolicy=POLICY), 1, [FREE]),
        (pub(maxUnavailable=2, minAvailable=3, podGroupPolicy=POLICY), 3, [NEVER]),
    ],
)
def test_amounts_of_budgets_in_groups(
    budget: Any, groups: int, found: list[tuple[str, str]]
) -> None:
    assert codes(about_amounts(subject(budget, set_pods(groups, 4)))) == found


def test_the_amount_that_decides_is_named() -> None:
    budget = pub(maxUnavailable=2, minAvailable=3, podGroupPolicy=POLICY)
    [found] = about_amounts(subject(budget, set_pods(3, 4)))
    assert found.field == "spec.minAvailable"
    assert found.message == (
        "minAvailable is 3: the budget requires 3 of 3 groups to stay, so none can ever go"
    )


@pytest.mark.parametrize(
    ("spec", "owner", "found"),
    [
        ({"maxUnavailable": 1}, "DaemonSet", [("IB105", "error")]),
        ({"minAvailable": "50%"}, "Job", [("IB105", "error")]),
        ({"minAvailable": 1}, "DaemonSet", []),
        ({"maxUnavailable": 1}, "", [("IB105", "warning")]),
        ({"minAvailable": 1}, "", []),
    ],
)
def test_pods_that_kubernetes_cannot_count(
    spec: Any, owner: str, found: list[tuple[str, str]]
) -> None:
    assert codes(about_amounts(subject(pdb(**spec), pods(3, owner=owner)))) == found


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        (pdb, {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}),
        (pub, {"type": "TotalUnknown", "status": "True", "reason": "ScaleNotAvailable"}),
    ],
)
def test_a_budget_that_says_itself_that_it_cannot_be_counted(kind: Any, condition: Any) -> None:
    status = {"observedGeneration": 1, "conditions": [{**condition, "message": "no scale"}]}
    [found] = about_amounts(subject(kind(maxUnavailable=1, status=status), pods(3), live=True))
    assert found.code == "IB105"
    assert "no scale" in found.message
