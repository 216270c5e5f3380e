"""Findings about the object itself: its fields, its keys."""

from collections.abc import Iterator

from intact.budget.keys import PUB, without_effect
from intact.budget.pdb.ineffective import ineffective
from intact.budget.pdb.scope import SCOPE_LABEL, asks_by_field
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject
from intact.picture.findings.finding import Finding, found


def about_object(subject: Subject) -> Iterator[Finding]:
    yield from _invalid(subject)
    yield from _keys(subject)
    yield from _ignored_amount(subject)
    yield from _kep_field(subject)


def _invalid(subject: Subject) -> Iterator[Finding]:
    for error in subject.errors:
        action = "Correct the field; until then the budget allows nothing, or is refused."
        yield found(rules.INVALID, subject.about, str(error), action, error.path)


def _keys(subject: Subject) -> Iterator[Finding]:
    if subject.pdb is not None:
        told = ineffective(subject.pdb)
    else:
        meta = subject.budget.budget.metadata
        told = without_effect(PUB, meta.labels, meta.annotations)
    for text in told:
        action = "Correct or remove it."
        yield found(rules.WITHOUT_EFFECT, subject.about, text, action, _path(subject, text))


def _path(subject: Subject, text: str) -> str:
    """Of the key that a sentence is about."""
    meta = subject.budget.budget.metadata
    for place, keys in (("labels", meta.labels), ("annotations", meta.annotations)):
        for key in keys:
            if f"the {place[:-1]} {key} " in text:
                return f"metadata.{place}[{key}]"
    return "metadata"


def _ignored_amount(subject: Subject) -> Iterator[Finding]:
    if subject.pub is None or subject.budget.in_groups or len(subject.amounts) < 2:
        return
    amounts = subject.amounts
    message = (
        f"maxUnavailable is {amounts['maxUnavailable']} and minAvailable is "
        f"{amounts['minAvailable']}: maxUnavailable wins, and minAvailable has no effect"
    )
    action = "Remove the one that is not meant."
    yield found(rules.AMOUNT_IGNORED, subject.about, message, action, "spec.minAvailable")


def _kep_field(subject: Subject) -> Iterator[Finding]:
    if subject.pdb is None or not asks_by_field(subject.pdb) or subject.pdb.server_decides:
        return
    if subject.live:  # a server that stores the field knows it
        return
    message = (
        f"spec.budgetScope is {subject.pdb.spec.budget_scope}: only an API server with KEP-5682 "
        "has this field; others refuse or drop it, and count pods"
    )
    action = f"On a stock server use the label {SCOPE_LABEL}: `intact translate -f FILE`."
    yield found(rules.KEP_FIELD, subject.about, message, action, "spec.budgetScope")
