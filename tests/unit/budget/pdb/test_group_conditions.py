"""The conditions of a budget that counts groups: reasons, and messages that name what is wrong."""

from typing import Any

import msgspec
import pytest

from intact.budget.pdb.group_conditions import (
    budget_configured,
    disruption_allowed,
    is_working,
    never_allows,
    told_never_allows,
)
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import GroupSettings, check_settings
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger
from intact.model.meta import Condition
from intact.model.pdb import PdbMeta, PdbSpec, PdbStatus, PodDisruptionBudget
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
    found = disruption_allowed(ledger, counts_of(*pods), problems, {})
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
    found = budget_configured(a_budget(1), FULL, counts_of(*pods), problems, {})
    assert found.type == "BudgetConfigured"
    assert (found.status, found.reason, found.message) == (status, reason, message)


def test_needs_that_no_group_reaches_are_told_with_both_numbers() -> None:
    counts, unproven = counts_of(a_pod("p", "a")), {8: 4, 9: 1}
    text = (
        "groups need 8 pods, and the largest has 4: nothing of them may go until one has 8; "
        "groups need 9 pods, and the largest has 1: nothing of them may go until one has 9"
    )
    found = budget_configured(a_budget(1), FULL, counts, [], unproven)
    assert (found.status, found.reason, found.message) == ("False", "NeedNotReached", text)
    found = disruption_allowed(SPENT, counts, [], unproven)
    assert (found.status, found.reason, found.message) == ("False", "NeedNotReached", text)
    # Groups with another need may go all the same.
    assert disruption_allowed(FULL, counts, [], unproven).reason == "SufficientReplicas"


@pytest.mark.parametrize(
    ("spec", "expected", "never"),
    [
        ({"max_unavailable": 0}, 0, True),
        ({"max_unavailable": 0}, 4, True),
        ({"max_unavailable": "0%"}, 4, True),
        ({"max_unavailable": 1}, 1, False),
        ({"max_unavailable": "1%"}, 4, False),
        ({"min_available": "100%"}, 0, True),
        ({"min_available": "100%"}, 4, True),
        ({"min_available": "99%"}, 4, True),
        ({"min_available": "75%"}, 4, False),
        ({"min_available": 1}, 1, True),
        ({"min_available": 1}, 0, False),
        ({"min_available": 1}, 2, False),
        ({"min_available": 2147483647}, 0, False),
        ({}, 0, True),
        ({}, 4, True),
        ({"max_unavailable": 1, "expected_replicas": "0"}, 0, True),
        ({"max_unavailable": 1, "expected_replicas": "2"}, 2, False),
    ],
)
def test_a_budget_that_can_never_allow_anything(
    spec: dict[str, int | str], expected: int, never: bool
) -> None:
    found = never_allows(a_budget(**spec), expected)  # type: ignore[arg-type]
    assert ("never allows a disruption" in found) == bool(found) == never


def test_a_budget_that_never_allows_anything_is_told_and_not_misconfigured() -> None:
    ledger = GroupLedger(available=3, desired=3, expected=3)
    found = budget_configured(a_budget("100%"), ledger, counts_of(), [], {})
    assert (found.status, found.reason, found.message) == (
        "True",
        "NeverAllows",
        (
            "the budget requires 3 groups to be available, of 3 that there should be, so it never "
            "allows a disruption: change it, or scale up"
        ),
    )


@pytest.mark.parametrize("amount", [-1, 2**31, "x", "", "101%"])
def test_a_malformed_amount_is_none_that_never_allows_anything(amount: int | str) -> None:
    assert never_allows(a_budget(amount), 3) == never_allows(a_budget(amount), 0) == ""


def test_a_key_without_effect_is_told() -> None:
    budget = a_budget(1, min_ready_replica="2")
    found = budget_configured(budget, FULL, counts_of(), [], {})
    assert (found.status, found.reason) == ("False", "WithoutEffect")
    assert "did you mean intact.dev/min-ready-replicas?" in found.message


def test_however_many_keys_have_no_effect_the_api_takes_the_condition() -> None:
    many: dict[str, Any] = {f"min_ready_replica{number}": "2" for number in range(1000)}
    found = budget_configured(a_budget(1, **many), FULL, counts_of(), [], {})
    assert found.message.count("has no effect") == 20
    assert len(found.message) < 8000


@pytest.mark.parametrize("value", ["x" * 100_000, "\N{GRINNING FACE}" * 20_000])
def test_however_long_a_bad_value_is_the_api_takes_the_condition(value: str) -> None:
    budget = a_budget(1, min_ready_replicas=value)
    found = budget_configured(budget, FULL, counts_of(), check_settings(budget), {})
    assert found.reason == "InvalidConfig"
    assert "min-ready-replicas" in found.message
    assert len(found.message.encode()) <= 32768


def told(
    allowed: str, configured: str, status: str = "True", *, seen: int = 1
) -> PodDisruptionBudget:
    """A budget with these reasons in its status."""
    conditions = [
        Condition(type="DisruptionAllowed", status="True", reason=allowed),
        Condition(type="BudgetConfigured", status=status, reason=configured),
    ]
    return PodDisruptionBudget(
        metadata=PdbMeta(name="b", namespace="ns", generation=1),
        spec=PdbSpec(max_unavailable=1),
        status=PdbStatus(observed_generation=seen, conditions=conditions),
    )


EMPTY = GroupLedger()


@pytest.mark.parametrize(
    ("budget", "counted", "works"),
    [
        (told("SufficientReplicas", "ValidConfig"), FULL, True),
        (told("InsufficientReplicas", "MultipleWorkloadsDetected"), SPENT, True),
        (told("SufficientReplicas", "WithoutEffect", "False"), FULL, True),
        (told("SufficientReplicas", "ValidConfig"), EMPTY, None),
        (told("SufficientReplicas", "ValidConfig"), None, False),
        (told("SufficientReplicas", "ValidConfig", seen=0), FULL, False),
        (told("SufficientReplicas", "MissingWorkloadReference", "False"), FULL, False),
        (told("SyncFailed", "InvalidConfig", "False"), EMPTY, False),
        (told("WorkloadResolutionFailed", "ValidConfig"), FULL, False),
        (PodDisruptionBudget(metadata=PdbMeta(name="b", namespace="ns")), FULL, False),
    ],
    ids=[
        *("valid", "spent", "a key without effect", "no groups", "not counted", "an older spec"),
        *("pods without group", "invalid", "a group unknown", "no conditions"),
    ],
)
def test_whether_a_budget_works(
    budget: PodDisruptionBudget, counted: GroupLedger | None, works: bool | None
) -> None:
    assert is_working(budget, counted) is works


def test_a_need_that_no_group_reaches_never_lets_one_go() -> None:
    assert told_never_allows(told("NeedNotReached", "NeedNotReached", "False"), FULL)
    assert not told_never_allows(told("InsufficientReplicas", "ValidConfig"), SPENT)


def test_amounts_never_allow_also_where_a_condition_says_something_else() -> None:
    budget = told("InsufficientReplicas", "MissingWorkloadReference", "False")
    strict = msgspec.structs.replace(budget, spec=PdbSpec(max_unavailable=0))
    assert told_never_allows(strict, FULL)
    assert told_never_allows(strict, None)
    assert not told_never_allows(budget, None)
