"""What the rules ask about one budget."""

from typing import Any

import pytest

from intact.picture.findings.facts import Target
from tests.support.findings import LWS, WORKLOAD, pdb, pods, pub, set_pods, subject


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ((pdb(maxUnavailable=1), pods(3)), 3),
        ((pdb(maxUnavailable=1),), None),
        ((pdb(maxUnavailable=1, labels=WORKLOAD), set_pods(2, 4)), 2),
        ((pub(maxUnavailable=1, protectTotalReplicas=9), pods(3)), 9),
        (
            (
                pdb(
                    maxUnavailable=1,
                    labels=WORKLOAD,
                    annotations={"intact.dev/expected-replicas": "5"},
                ),
                set_pods(2, 4),
            ),
            5,
        ),
    ],
)
def test_the_total_of_a_budget_in_files(given: Any, total: int | None) -> None:
    assert subject(*given).total == total


def test_the_total_in_a_cluster_is_what_was_counted() -> None:
    budget = pdb(maxUnavailable=1, status={"observedGeneration": 1, "expectedPods": 7})
    assert subject(budget, pods(3), live=True).total == 7


def test_the_total_of_a_budget_that_nobody_counts_are_its_pods() -> None:
    assert subject(pub(maxUnavailable=1), pods(3), live=True, intact=False).total == 3


def test_pods_of_unknown_number_have_no_total() -> None:
    assert subject(pdb(maxUnavailable=1), pods(1), uncounted={"web-0"}).total is None


def test_the_label_of_the_groups() -> None:
    policy = {"groupLabelKey": f"{LWS}/group-key"}
    assert subject(pub(maxUnavailable=1, podGroupPolicy=policy)).group_label_key.endswith("key")
    assert subject(pdb(maxUnavailable=1)).group_label_key == ""


def test_the_target() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    found = subject(pub(maxUnavailable=1, selector=None, targetRef=target))
    assert found.target == Target("apps", "apps", "Deployment", "web")
