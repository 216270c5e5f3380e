"""What a PodDisruptionBudget answers to an eviction."""

from typing import Any

import pytest

from intact.sandbox.api.failures import Failure
from intact.sandbox.api.objects import Json
from intact.sandbox.api.removal.budgets import decremented, is_free, selects

NOW = "2026-01-01T00:00:00Z"


def budget(policy: str = "", **status: Any) -> Json:
    spec: Json = {"selector": {"matchLabels": {"app": "a"}}}
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    shown = {"observedGeneration": 1, "desiredHealthy": 2, "currentHealthy": 2} | status
    return {"metadata": {"name": "b", "generation": 1}, "spec": spec, "status": shown}


def pod(ready: str) -> Json:
    return {"status": {"conditions": [{"type": "Ready", "status": ready}]}}


def test_a_budget_selects_by_its_selector() -> None:
    assert selects(budget(), {"app": "a", "more": "x"})
    assert not selects(budget(), {"app": "b"})
    assert not selects({"spec": {"selector": {"matchExpressions": [{"key": "a"}]}}}, {})


@pytest.mark.parametrize(
    ("found", "of", "free"),
    [
        (pod("True"), budget("AlwaysAllow"), False),
        (pod("False"), budget("AlwaysAllow", currentHealthy=0), True),
        (pod("False"), budget(), True),
        (pod("False"), budget(currentHealthy=1), False),
        (pod("False"), budget(desiredHealthy=0), False),
        ({}, budget(), True),
    ],
)
def test_a_pod_that_is_not_ready_may_be_free(found: Json, of: Json, free: bool) -> None:
    assert is_free(found, of) is free


def test_an_eviction_takes_one_disruption_and_is_recorded() -> None:
    status = decremented(budget(disruptionsAllowed=2), "p", NOW)["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (1, {"p": NOW})
    assert "conditions" not in status


def test_the_last_disruption_changes_the_condition() -> None:
    [condition] = decremented(budget(disruptionsAllowed=1), "p", NOW)["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionAllowed", "False")
    assert condition["reason"] == "InsufficientPods"


@pytest.mark.parametrize(
    ("status", "code", "why"),
    [
        ({"observedGeneration": 0}, 429, "is still being processed"),
        ({}, 429, "needs 2 healthy pods and has 2 currently"),
        ({"currentHealthy": 3}, 429, "does not allow evicting pods currently"),
        ({"disruptionsAllowed": -1}, 403, "disruptions allowed is negative"),
        ({"disruptedPods": {str(n): NOW for n in range(2001)}}, 403, "DisruptedPods map too big"),
    ],
)
def test_a_budget_that_denies_says_why(status: Json, code: int, why: str) -> None:
    with pytest.raises(Failure) as caught:
        decremented(budget(**status), "p", NOW)
    causes = caught.value.status["details"].get("causes") or [{"message": str(caught.value)}]
    assert (caught.value.code, why in causes[0]["message"]) == (code, True)
