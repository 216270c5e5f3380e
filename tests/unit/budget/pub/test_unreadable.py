"""Which stored budgets cannot be worked on, and what these hold."""

import json
from typing import Any

import pytest

from intact.budget.pub.decision import Reason, decide
from intact.budget.pub.ledger import Operation
from intact.budget.pub.subject import Subject
from intact.budget.pub.unreadable import covers_everything, problem_of
from intact.model.pub import PodUnavailableBudget, salvage
from tests.unit.budget.pub.test_ledger import NOW

SELECTOR = {"selector": {"matchLabels": {"app": "a"}}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
NEEDS_NONE = {"groupLabelKey": "g", "minReadyReplicas": 0}
EXPRESSION = {"key": "app", "operator": "Is", "values": ["a"]}


def stored(spec: Any, status: Any = None) -> PodUnavailableBudget:
    body = {"metadata": {"name": "b", "generation": 1}, "spec": spec, "status": status}
    return salvage(json.dumps(body).encode())


# The spec, the field of its problem, and whether it is not known which pods the budget covers.
CASES: dict[str, tuple[Any, str, bool]] = {
    "a good one": (SELECTOR | {"maxUnavailable": 1}, "", False),
    "a good target": ({"targetRef": TARGET, "minAvailable": "50%"}, "", False),
    "no amount": (SELECTOR, "spec", False),
    "a fraction": (SELECTOR | {"maxUnavailable": 1.5}, "spec.maxUnavailable", False),
    "a negative amount": (SELECTOR | {"maxUnavailable": -1}, "spec.maxUnavailable", False),
    "a word": (SELECTOR | {"minAvailable": "all"}, "spec.minAvailable", False),
    "beyond 32 bits": (SELECTOR | {"minAvailable": 2**31}, "spec.minAvailable", False),
    "beyond 64 bits": (SELECTOR | {"minAvailable": 2**70}, "spec.minAvailable", False),
    "a list as an amount": (SELECTOR | {"maxUnavailable": [1]}, "spec.maxUnavailable", False),
    "a need of none": (
        SELECTOR
        | {"maxUnavailable": 1, "podGroupPolicy": {"groupLabelKey": "g", "minReadyReplicas": 0}},
        "spec.podGroupPolicy.minReadyReplicas",
        False,
    ),
    "a policy without its label": (
        SELECTOR | {"maxUnavailable": 1, "podGroupPolicy": {}},
        "spec.podGroupPolicy",
        False,
    ),
    "a selector of another shape": (
        {"selector": {"matchLabels": ["a"]}, "maxUnavailable": 1},
        "spec.selector",
        True,
    ),
    "an unknown operator": (
        {"selector": {"matchExpressions": [EXPRESSION]}, "maxUnavailable": 1},
        "spec.selector.matchExpressions[0].operator",
        True,
    ),
    "a target without a name": (
        {"targetRef": TARGET | {"name": ""}, "maxUnavailable": 1},
        "spec.targetRef",
        True,
    ),
    "a spec that is none": (5, "spec", True),
}


@pytest.mark.parametrize(("spec", "field", "everything"), CASES.values(), ids=CASES)
def test_what_cannot_be_worked_on_denies_and_names_the_field(
    spec: Any, field: str, everything: bool
) -> None:
    budget = stored(spec)
    assert problem_of(budget).partition(":")[0] == field
    assert covers_everything(budget) == everything
    pod = Subject(name="p", uid="u", resource_version="1", available=True)
    decision = decide(budget, pod, Operation.DELETE, NOW)
    assert not decision.allowed
    assert (decision.reason is Reason.UNREADABLE) == bool(field)
    assert field in decision.message


STATUS: dict[str, tuple[Any, bool]] = {
    "shown pods": ({"observedGeneration": 1, "disruptedPods": {"x": 5}}, True),
    "conditions": ({"observedGeneration": 1, "conditions": [5]}, True),
    "a counter": ({"observedGeneration": 1, "unavailableAllowed": "one"}, False),
    "the generation": ({"observedGeneration": "x"}, False),
    "all of it": (5, False),
}


@pytest.mark.parametrize(("status", "counted"), STATUS.values(), ids=STATUS)
def test_a_damaged_status_is_no_problem_of_the_budget_but_is_counted_anew(
    status: Any, counted: bool
) -> None:
    budget = stored(SELECTOR | {"maxUnavailable": 1}, status)
    assert problem_of(budget) == ""
    assert budget.damages
    assert (budget.status.observed_generation == 1) == counted
