"""Findings about what a budget needs of its cluster. Files say nothing of that."""

from collections.abc import Iterator

from intact.budget.enforcement import Enforcement
from intact.budget.pdb.group_conditions import GROUPS_NOT_HELD
from intact.budget.pdb.pods import DISRUPTION_ALLOWED, SYNC_FAILED
from intact.budget.pub.conditions import NOT_SELECTED
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject
from intact.picture.findings.finding import Finding, found

_SELF_TOLD = ("NotGated", NOT_SELECTED, "Uninstalled", GROUPS_NOT_HELD)
"""Reasons for which a budget does not work that no other rule finds."""


def about_cluster(subject: Subject) -> Iterator[Finding]:
    budget = subject.budget
    if subject.pub is None and not budget.in_groups:
        if subject.live:
            yield from _not_counted(subject)
        return
    yield from _exempt(subject)
    if budget.enforcement is not Enforcement.ENFORCE and not subject.errors:
        message = f"intact.dev/enforcement is {budget.enforcement}: denials are told, none is held"
        action = "Remove the annotation when the budget is to hold."
        field = "metadata.annotations[intact.dev/enforcement]"
        yield found(rules.TELLS_ONLY, subject.about, message, action, field)
    if not subject.live:
        return
    if budget.intact is False:
        yield from _needs_intact(subject)
        return
    yield from _not_counted(subject)
    condition = budget.condition
    if condition is not None and condition.status == "False" and condition.reason in _SELF_TOLD:
        action = "Look at the installation above: the webhooks must be registered and reachable."
        if condition.reason == NOT_SELECTED:
            action = "Ask who runs Intact for its --namespace-selector, or label the namespace."
        yield found(rules.NOT_WORKING, subject.about, condition.message, action)


def _needs_intact(subject: Subject) -> Iterator[Finding]:
    if subject.pub is not None and subject.facts.others_own_pubs:
        return
    action = "Install Intact: intact manifests | kubectl apply -f -"
    yield found(rules.NEEDS_INTACT, subject.about, subject.budget.not_working, action)


def _not_counted(subject: Subject) -> Iterator[Finding]:
    budget = subject.budget
    if budget.counted or subject.errors:
        return
    told = budget.condition_of(DISRUPTION_ALLOWED)
    if told is not None and told.reason == SYNC_FAILED:
        return  # it was looked at and cannot be counted, which another rule tells
    generation = budget.budget.metadata.generation
    message = (
        f"status.observedGeneration is {budget.budget.status.observed_generation} and the budget "
        f"is of generation {generation}: until it is counted, nothing of it may go"
    )
    by = "Intact" if subject.pub or budget.in_groups else "kube-controller-manager"
    action = f"Wait a moment; if it stays so, look into the log of {by}."
    yield found(rules.NOT_YET_COUNTED, subject.about, message, action, "status.observedGeneration")


def _exempt(subject: Subject) -> Iterator[Finding]:
    namespace = subject.budget.namespace
    if subject.pub is None or namespace not in subject.facts.exempt:
        return
    message = (
        f"Intact never holds pods of the namespace {namespace}, so that the cluster can always be "
        "repaired: the budget protects nothing"
    )
    action = "Use a PodDisruptionBudget there."
    yield found(rules.EXEMPT_NAMESPACE, subject.about, message, action, "metadata.namespace")
