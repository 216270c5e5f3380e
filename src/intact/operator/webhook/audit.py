"""What the cluster's own audit log says of a review: the annotations of its answer.

The API server puts the webhook's name and a slash before each key, and drops what is not a
qualified name then: letters, digits, `-`, `_` and `.`, 63 of them at most. It bounds no value, so
this does. docs/reference/refusals.md lists the keys and the reasons; a test compares.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from intact.budget.enforcement import Enforcement
from intact.model.admission import AdmissionResponse
from intact.model.event import ObjectReference

LONGEST = 1024
"""Characters of a value."""
DECISION, BUDGET, REASON, GROUP = KEYS = ("decision", "budget", "reason", "group")


class Decision(StrEnum):
    ALLOWED = "allowed"
    DENIED = "denied"
    WOULD_DENY = "would-deny"
    """Allowed, though a budget that only warns or audits denies it."""


class Reason(StrEnum):
    """Why Intact refuses, where no budget's decision says it."""

    INVALID = "Invalid"
    NOT_FOUND = "NotFound"
    PROBE = "IntactProbe"
    UNDECIDED = "Undecided"
    UNWRITABLE = "BudgetNotWritable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one budget says to a request."""

    budget: ObjectReference
    decision: Decision
    reason: str
    groups: Sequence[str] = ()
    """Of the pods in question, if the budget counts groups."""


def decision_of(*, allowed: bool, mode: Enforcement) -> Decision:
    """Of one budget."""
    if allowed:
        return Decision.ALLOWED
    return Decision.DENIED if mode is Enforcement.ENFORCE else Decision.WOULD_DENY


def annotated(
    answer: AdmissionResponse, findings: Collection[Finding] = (), reason: str = ""
) -> AdmissionResponse:
    """The same answer with what decided it: the budgets that said so, or else the reason."""
    decision = Decision.DENIED
    if answer.allowed:
        would_deny = any(each.decision is Decision.WOULD_DENY for each in findings)
        decision = Decision.WOULD_DENY if would_deny else Decision.ALLOWED
    deciding = [each for each in findings if each.decision is decision]
    values: dict[str, list[str]] = {
        DECISION: [decision],
        BUDGET: [_named(each.budget) for each in deciding],
        REASON: [each.reason for each in deciding] or [reason],
        GROUP: [group for each in deciding for group in each.groups],
    }
    annotations = {key: _joined(each) for key, each in values.items() if any(each)}
    return msgspec.structs.replace(answer, audit_annotations=annotations)


def _named(budget: ObjectReference) -> str:
    return f"{budget.kind}/{budget.namespace}/{budget.name}"


def _joined(values: Iterable[str]) -> str:
    """Each once, in their order."""
    text = ", ".join(dict.fromkeys(filter(None, values)))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
