"""Findings about the pods that a budget covers."""

from collections.abc import Iterator

from intact.budget.selectors import check_selector
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject, TargetState
from intact.picture.findings.finding import Finding, Severity, found


def about_coverage(subject: Subject) -> Iterator[Finding]:
    selector = subject.budget.budget.spec.selector
    if subject.target is not None:
        yield from _target(subject)
        return
    if selector is None:
        if subject.pdb is not None:
            message = "spec.selector is not set: the budget covers no pods and protects nothing"
            action = "Set spec.selector.matchLabels to labels of the pods."
            yield found(rules.NO_SELECTOR, subject.about, message, action, "spec.selector")
        return
    if check_selector(selector):
        return
    if not selector.match_labels and not selector.match_expressions and subject.pdb is not None:
        message = "spec.selector is empty: the budget covers every pod of its namespace"
        action = "Name the labels of the pods that are meant."
        yield found(rules.WHOLE_NAMESPACE, subject.about, message, action, "spec.selector")
    if not subject.pods:
        yield _no_pods(subject, f"spec.selector selects {_labels(subject)}")


def _labels(subject: Subject) -> str:
    selector = subject.budget.budget.spec.selector
    assert selector is not None
    parts = [f"{key}={value}" for key, value in selector.match_labels.items()]
    parts += [
        f"{one.key} {one.operator} {' '.join(one.values)}".strip()
        for one in selector.match_expressions
    ]
    return ", ".join(parts) or "everything"


def _no_pods(subject: Subject, given: str) -> Finding:
    if subject.live:
        message = f"{given}, and no pod of the namespace has that: the budget protects nothing"
        action = "Compare it with the labels of the pods: kubectl get pods --show-labels."
        return found(rules.NO_PODS, subject.about, message, action, "spec.selector")
    message = f"{given}, and no workload in these files makes such pods; others may"
    action = "If the workload is in these files, compare the labels of its pod template."
    return found(rules.NO_PODS, subject.about, message, action, "spec.selector", Severity.NOTE)


def _target(subject: Subject) -> Iterator[Finding]:
    target = subject.target
    assert target is not None
    if subject.pods or not target.kind or not target.name:
        return
    state = subject.facts.targets.get(target)
    if state is None and subject.live:
        state = TargetState()
    named = f"spec.targetRef names the {target.kind} {target.name}"
    if state is None:
        message = f"{named}, which is not in these files; it may be elsewhere"
        action = "If it is in these files, compare apiVersion, kind, name and namespace."
        note = Severity.NOTE
        yield found(rules.NO_TARGET, subject.about, message, action, "spec.targetRef", note)
    elif state.problem:
        message = f"{named}: {state.problem}; the budget protects nothing"
        action = "Correct apiVersion, kind or name, or use a selector."
        severity = None if subject.live else Severity.WARNING
        yield found(rules.NO_TARGET, subject.about, message, action, "spec.targetRef", severity)
    elif state.replicas == 0:
        message = f"{named}, which wants 0 replicas: there is nothing to protect"
        action = "Nothing, if it is meant to be scaled up again."
        yield found(rules.SCALED_TO_ZERO, subject.about, message, action, "spec.targetRef")
    else:
        message = f"{named}, which has no pods: the budget holds nothing yet"
        action = "Find out why it has none: kubectl describe it."
        yield found(rules.NO_PODS, subject.about, message, action, "spec.targetRef")
