"""The conditions of a budget that counts groups: reasons, and messages that name what is wrong."""

import pytest

from intact.budget.pdb.group_conditions import budget_configured, disruption_allowed
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import GroupSettings
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import Known, a_budget, a_pod, a_pod_group

PROBLEM = FieldError("metadata.annotations[x]", "y", "'y' is bad")
FULL = GroupLedger(allowed=1, available=3, desired=2, expected=3)
SPENT = GroupLedger(allowed=0, available=2, desired=3, expected=3)


def counts_of(*pods: Pod) -> GroupCounts:
    known = Known(
        pod_groups={"a": a_pod_group("a", 1, "llm"), "b": a_pod_group("b", 1, "vision")},
    )
    counts = GroupCounts(GroupSettings(), known)
    for pod in pods:
        counts.put(pod)
    return counts


@pytest.mark.parametrize(
    ("ledger", "pods", "problems", "status", "reason", "message"),
    [
        (FULL, [a_pod("p", "a")], [], "True", "SufficientReplicas", ""),
        (
            SPENT,
            [a_pod("p", "a")],
            [],
            "False",
            "InsufficientReplicas",
            "2 of 3 groups are available; the budget requires 3",
        ),
        (
            FULL,
            [a_pod("p", "new"), a_pod("q", "late")],
            [],
            "False",
            "WorkloadResolutionFailed",
            (
                "it is unknown how many pods these groups need, because their PodGroup, Workload "
                "or LeaderWorkerSet does not exist or has no gang policy: late, new"
            ),
        ),
        (FULL, [a_pod("p", "new")], [PROBLEM], "False", "SyncFailed", str(PROBLEM)),
    ],
)
def test_disruption_allowed(
    ledger: GroupLedger,
    pods: list[Pod],
    problems: list[FieldError],
    status: str,
    reason: str,
    message: str,
) -> None:
    found = disruption_allowed(ledger, counts_of(*pods), problems)
    assert found.type == "DisruptionAllowed"
    assert (found.status, found.reason, found.message) == (status, reason, message)


@pytest.mark.parametrize(
    ("pods", "problems", "status", "reason", "message"),
    [
        ([a_pod("p", "a")], [], "True", "ValidConfig", ""),
        (
            [a_pod("p", "a"), a_pod("q", "b")],
            [],
            "True",
            "MultipleWorkloadsDetected",
            (
                "the pods belong to several workloads; the budget counts all their groups "
                "together: llm, vision"
            ),
        ),
        (
            [a_pod("p", "a"), a_pod("q", "b"), a_pod("lost")],
            [],
            "False",
            "MissingWorkloadReference",
            "The PDB scope is set to 'Workload', but pods are missing the workload reference: lost",
        ),
        ([a_pod("lost")], [PROBLEM], "False", "InvalidConfig", str(PROBLEM)),
    ],
)
def test_budget_configured(
    pods: list[Pod], problems: list[FieldError], status: str, reason: str, message: str
) -> None:
    found = budget_configured(a_budget(1), counts_of(*pods), problems)
    assert found.type == "BudgetConfigured"
    assert (found.status, found.reason, found.message) == (status, reason, message)
