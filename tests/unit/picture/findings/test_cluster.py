"""Findings about what a budget needs of its cluster."""

from typing import Any

import pytest

from intact.picture.findings.cluster import about_cluster
from tests.support.findings import WORKLOAD, codes, pdb, pods, pub, subject

UNCOUNTED: Any = {"observedGeneration": 0}
FAILED = UNCOUNTED | {
    "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]
}
NOT_GATED = {
    "observedGeneration": 1,
    "conditions": [{"type": "Working", "status": "False", "reason": "NotGated", "message": "m"}],
}
NOT_SELECTED = {
    "observedGeneration": 1,
    "conditions": [{"type": "Working", "status": "False", "reason": "NotSelected", "message": "m"}],
}
WARN = {"intact.dev/enforcement": "Warn"}


@pytest.mark.parametrize(
    ("budget", "intact", "found"),
    [
        (pdb(maxUnavailable=1), False, []),
        (pdb(maxUnavailable=1, status=UNCOUNTED), False, [("IB502", "warning")]),
        (pdb(maxUnavailable=1, status=FAILED), False, []),
        (pub(maxUnavailable=1), False, [("IB501", "error")]),
        (pdb(maxUnavailable=1, labels=WORKLOAD), False, [("IB501", "error")]),
        (pub(maxUnavailable=1), True, []),
        (pub(maxUnavailable=1), None, []),
        (pub(maxUnavailable=1, status=UNCOUNTED), True, [("IB502", "warning")]),
        (pub(maxUnavailable=1, status=NOT_GATED), True, [("IB503", "error")]),
        (pub(maxUnavailable=1, status=NOT_SELECTED), True, [("IB503", "error")]),
        (pub(maxUnavailable=1, annotations=WARN), True, [("IB504", "note")]),
    ],
)
def test_in_a_cluster(budget: Any, intact: bool | None, found: list[tuple[str, str]]) -> None:
    assert codes(about_cluster(subject(budget, pods(3), live=True, intact=intact))) == found


def test_files_know_of_no_cluster() -> None:
    assert codes(about_cluster(subject(pub(maxUnavailable=1, status=UNCOUNTED)))) == []


def test_a_budget_of_another_product_needs_no_intact() -> None:
    found = about_cluster(
        subject(pub(maxUnavailable=1), live=True, intact=False, others_own_pubs=True)
    )
    assert codes(found) == []


@pytest.mark.parametrize(("kind", "found"), [(pub, [("IB505", "error")]), (pdb, [])])
def test_namespaces_that_are_never_gated(kind: Any, found: list[tuple[str, str]]) -> None:
    budget = kind(maxUnavailable=1, namespace="kube-system")
    assert codes(about_cluster(subject(budget, exempt=("kube-system",)))) == found
