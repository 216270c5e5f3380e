"""The arithmetic of a PodDisruptionBudget, and what becomes of its conditions."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pdb.pods import (
    count,
    desired_healthy,
    fail_safe,
    is_up_to_date,
    look_again,
    needs_controllers,
)
from intact.model.meta import Condition
from intact.model.pdb import PdbMeta, PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod, PodMeta

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OLD = "2026-01-01T10:00:00Z"


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"min_available": 3}, 7, 3),
        ({"min_available": 0}, 7, 0),
        ({"min_available": "28%"}, 11, 4),
        ({"min_available": "28%"}, 22, 7),
        ({"min_available": "34%"}, 3, 2),
        ({"min_available": "100%"}, 7, 7),
        ({"min_available": "0%"}, 7, 0),
        ({"max_unavailable": 2}, 7, 5),
        ({"max_unavailable": 9}, 7, 0),
        ({"max_unavailable": "30%"}, 7, 4),
        ({"max_unavailable": "30%"}, 3, 2),
        ({"max_unavailable": "100%"}, 7, 0),
        ({"max_unavailable": "0%"}, 7, 7),
        ({}, 0, 0),
    ],
)
def test_desired_healthy(spec: dict[str, Any], expected: int, desired: int) -> None:
    assert desired_healthy(PdbSpec(**spec), expected) == desired


@given(st.integers(0, 100), st.integers(0, 10**9))
def test_percentages_round_up_exactly(percent: int, expected: int) -> None:
    share = ceil(Fraction(percent * expected, 100))
    assert desired_healthy(PdbSpec(min_available=f"{percent}%"), expected) == share
    assert desired_healthy(PdbSpec(max_unavailable=f"{percent}%"), expected) == expected - share


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"min_available": 1}, False),
        ({"min_available": "1%"}, True),
        ({"max_unavailable": 1}, True),
        ({"max_unavailable": "1%"}, True),
        ({}, False),
    ],
)
def test_which_budgets_depend_on_controllers(spec: dict[str, Any], needed: bool) -> None:
    assert needs_controllers(PdbSpec(**spec)) == needed


def budget(status: PdbStatus | None = None, **spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=PdbMeta(name="b", namespace="ns", generation=4),
        spec=PdbSpec(**spec),
        status=status or PdbStatus(),
    )


@pytest.mark.parametrize(
    ("healthy", "expected", "allowed"), [(5, 5, 2), (3, 5, 0), (1, 5, 0), (5, 0, 0)]
)
def test_disruptions_allowed(healthy: int, expected: int, allowed: int) -> None:
    status = count(
        budget(min_available=3), healthy=healthy, expected=expected, disrupted={}, now=NOW
    )
    assert status.disruptions_allowed == allowed
    assert status.observed_generation == 4
    [condition] = status.conditions
    assert condition == Condition(
        type="DisruptionAllowed",
        status="True" if allowed else "False",
        reason="SufficientPods" if allowed else "InsufficientPods",
        last_transition_time="2026-01-01T12:00:00Z",
        observed_generation=4,
    )


def verdict(status: str, reason: str, message: str = "") -> Condition:
    return Condition(
        type="DisruptionAllowed",
        status=status,
        reason=reason,
        message=message,
        last_transition_time=OLD,
        observed_generation=3,
    )


OTHER = Condition(type="Other", status="True", reason="R", last_transition_time=OLD)


def test_the_time_of_the_condition_moves_only_with_its_status() -> None:
    known = PdbStatus(conditions=[verdict("False", "SyncFailed", "text"), OTHER])
    same = count(
        budget(known, min_available=3), healthy=3, expected=3, disrupted={}, now=NOW
    ).conditions
    assert [one.type for one in same] == ["DisruptionAllowed", "Other"]
    assert (same[0].reason, same[0].message) == ("InsufficientPods", "")
    assert same[0].last_transition_time == OLD
    assert same[1] == OTHER
    flipped = count(
        budget(known, min_available=3), healthy=4, expected=4, disrupted={}, now=NOW
    ).conditions
    assert flipped[0].last_transition_time == "2026-01-01T12:00:00Z"


def test_fail_safe_changes_nothing_but_what_is_allowed() -> None:
    known = PdbStatus(
        observed_generation=3,
        disruptions_allowed=2,
        current_healthy=5,
        desired_healthy=3,
        expected_pods=5,
        disrupted_pods={"p": OLD},
        conditions=[OTHER, verdict("True", "SufficientPods")],
    )
    status = fail_safe(budget(known, min_available=3), "no matches", NOW)
    assert status.disruptions_allowed == 0
    assert (status.observed_generation, status.current_healthy) == (3, 5)
    assert (status.desired_healthy, status.expected_pods) == (3, 5)
    assert status.disrupted_pods == {"p": OLD}
    assert status.conditions == [
        OTHER,
        Condition(
            type="DisruptionAllowed",
            status="False",
            reason="SyncFailed",
            message="no matches",
            last_transition_time="2026-01-01T12:00:00Z",
            observed_generation=3,
        ),
    ]


def test_what_is_worth_a_write() -> None:
    one = count(budget(min_available=3), healthy=4, expected=4, disrupted={}, now=NOW)
    later = NOW + timedelta(hours=1)
    again = count(budget(one, min_available=3), healthy=4, expected=4, disrupted={}, now=later)
    assert is_up_to_date(one, again)
    for other in (
        count(budget(one, min_available=2), healthy=4, expected=4, disrupted={}, now=NOW),
        count(budget(one, min_available=3), healthy=5, expected=4, disrupted={}, now=NOW),
        count(budget(one, min_available=3), healthy=4, expected=5, disrupted={}, now=NOW),
        count(budget(one, min_available=3), healthy=4, expected=4, disrupted={"p": OLD}, now=NOW),
        fail_safe(budget(one), "problem", NOW),
    ):
        assert not is_up_to_date(one, other)
    failed = fail_safe(budget(one), "problem", NOW)
    assert is_up_to_date(failed, fail_safe(budget(failed), "problem", later))
    assert not is_up_to_date(failed, fail_safe(budget(failed), "another", later))


def pod(name: str, *, terminating: bool = False) -> Pod:
    stamp = OLD if terminating else None
    return Pod(metadata=PodMeta(name=name, namespace="ns", uid=name, deletion_timestamp=stamp))


def test_an_entry_ends_exactly_after_two_minutes() -> None:
    pods = {"p": pod("p"), "q": pod("q"), "gone": None, "ending": pod("ending", terminating=True)}
    at = "2026-01-01T11:58:00Z"
    disrupted = dict.fromkeys([*pods, "unknown"], at)
    found = look_again(disrupted, pods.get, NOW)
    assert found.kept == {"p": at, "q": at}
    assert found.next_check == NOW
    assert found.overdue == ()
    found = look_again(disrupted, pods.get, NOW + timedelta(microseconds=1))
    assert found.kept == {}
    assert found.next_check is None
    assert [one.metadata.name for one in found.overdue] == ["p", "q"]


@pytest.mark.parametrize("zeros", ["0", "00", "0" * 5000])
def test_zeros_in_front_of_a_percentage_are_taken_as_kubernetes_takes_them(zeros: str) -> None:
    assert desired_healthy(PdbSpec(min_available=f"{zeros}5%"), 100) == 5
    assert desired_healthy(PdbSpec(max_unavailable=f"{zeros}5%"), 100) == 95
    assert desired_healthy(PdbSpec(max_unavailable=f"{zeros}0%"), 100) == 100
