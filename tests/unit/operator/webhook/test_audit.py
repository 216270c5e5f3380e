"""What answers say for the audit log."""

import re

import msgspec
import pytest

from intact.budget.enforcement import Enforcement
from intact.model.admission import AdmissionResponse
from intact.model.event import ObjectReference
from intact.operator.webhook.audit import KEYS, LONGEST, Decision, Finding, annotated, decision_of
from intact.operator.webhook.responses import ALLOWED, denied

DENIED = denied("no unit is left")


def finding(name: str, decision: Decision, reason: str, *groups: str) -> Finding:
    kind = "PodUnavailableBudget"
    return Finding(ObjectReference(kind=kind, namespace="ns", name=name), decision, reason, groups)


A = finding("a", Decision.ALLOWED, "Budget", "red")
B = finding("b", Decision.ALLOWED, "Surplus")
NO = finding("c", Decision.DENIED, "BudgetExhausted", "blue")
MAYBE = finding("d", Decision.WOULD_DENY, "LiveCount", "red")
CASES: dict[str, tuple[AdmissionResponse, list[Finding], str, dict[str, str]]] = {
    "no budget": (ALLOWED, [], "", {"decision": "allowed"}),
    "budgets that allow": (
        ALLOWED,
        [A, B],
        "",
        {
            "decision": "allowed",
            "budget": "PodUnavailableBudget/ns/a, PodUnavailableBudget/ns/b",
            "reason": "Budget, Surplus",
            "group": "red",
        },
    ),
    "the budget that denies, not those that do not": (
        DENIED,
        [A, MAYBE, NO],
        "",
        {
            "decision": "denied",
            "budget": "PodUnavailableBudget/ns/c",
            "reason": "BudgetExhausted",
            "group": "blue",
        },
    ),
    "a budget that would deny": (
        ALLOWED,
        [A, MAYBE],
        "",
        {
            "decision": "would-deny",
            "budget": "PodUnavailableBudget/ns/d",
            "reason": "LiveCount",
            "group": "red",
        },
    ),
    "no decision": (DENIED, [A], "Undecided", {"decision": "denied", "reason": "Undecided"}),
}


@pytest.mark.parametrize(("answer", "findings", "reason", "said"), CASES.values(), ids=CASES)
def test_annotations_say_what_decided(
    answer: AdmissionResponse, findings: list[Finding], reason: str, said: dict[str, str]
) -> None:
    found = annotated(answer, findings, reason)
    assert msgspec.to_builtins(found)["auditAnnotations"] == said
    assert msgspec.structs.replace(found, audit_annotations={}) == answer


def test_what_is_said_twice_is_said_once() -> None:
    found = annotated(ALLOWED, [finding(name, Decision.ALLOWED, "Budget", "red") for name in "ab"])
    assert (found.audit_annotations["reason"], found.audit_annotations["group"]) == (
        "Budget",
        "red",
    )


def test_values_are_bounded() -> None:
    many = [finding(f"b-{number}", Decision.DENIED, "NotGone") for number in range(200)]
    value = annotated(DENIED, many).audit_annotations["budget"]
    assert len(value) == LONGEST
    assert value.endswith("...")


@pytest.mark.parametrize("key", KEYS)
def test_the_api_server_takes_the_keys(key: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", key)


@pytest.mark.parametrize(
    ("allowed", "mode", "decision"),
    [
        (True, Enforcement.ENFORCE, Decision.ALLOWED),
        (True, Enforcement.AUDIT, Decision.ALLOWED),
        (False, Enforcement.ENFORCE, Decision.DENIED),
        (False, Enforcement.WARN, Decision.WOULD_DENY),
        (False, Enforcement.AUDIT, Decision.WOULD_DENY),
    ],
)
def test_the_mode_says_what_becomes_of_a_denial(
    allowed: bool, mode: Enforcement, decision: Decision
) -> None:
    assert decision_of(allowed=allowed, mode=mode) is decision
