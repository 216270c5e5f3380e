"""Findings about budgets that cover the same pods. Each pair is named once, at the second."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from intact.budget.pub.validation import validate
from intact.budget.selectors import Selector, check_selector
from intact.model.listing import listed
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject
from intact.picture.findings.finding import Finding, Severity, found


def about_overlaps(subjects: Sequence[Subject]) -> Iterator[Finding]:
    by_namespace: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        by_namespace[subject.budget.namespace].append(subject)
    for one, other in (pair for each in by_namespace.values() for pair in combinations(each, 2)):
        if one.pdb is not None and other.pdb is not None:
            yield from _two_pdbs(one, other)
        elif one.pub is not None and other.pub is not None:
            yield from _two_pubs(one, other)
        else:
            yield from _both_kinds(one, other)


def _shared(one: Subject, other: Subject) -> list[str]:
    uids = {pod.metadata.uid for pod in one.pods}
    return sorted(pod.metadata.name for pod in other.pods if pod.metadata.uid in uids)


def _two_pdbs(one: Subject, other: Subject) -> Iterator[Finding]:
    action = "Keep one of them, or make the selectors disjoint."
    if shared := _shared(one, other):
        message = (
            f"{one.budget.reference} and {other.budget.reference} select the same pods: the API "
            f"server refuses to evict them (500), and a drain never ends: {listed(shared)}"
        )
        yield found(rules.TWO_PDBS, other.about, message, action, "spec.selector")
    elif not one.pods and not other.pods and _selectors_overlap(one, other):
        message = (
            f"{one.budget.reference} and {other.budget.reference} have selectors that overlap: the "
            "API server would refuse to evict a pod of both (500)"
        )
        warning = Severity.WARNING
        yield found(rules.TWO_PDBS, other.about, message, action, "spec.selector", warning)


def _selectors_overlap(one: Subject, other: Subject) -> bool:
    selectors = [each.budget.budget.spec.selector for each in (one, other)]
    usable = [Selector(each) for each in selectors if each is not None and not check_selector(each)]
    return len(usable) == 2 and usable[0].overlaps(usable[1])


def _two_pubs(one: Subject, other: Subject) -> Iterator[Finding]:
    assert one.pub is not None
    assert other.pub is not None
    action = "Keep one of them: each of them must allow a disruption."
    for error in validate(other.pub, [one.pub]).errors:
        if error not in other.errors:
            yield found(rules.OVERLAPPING_PUBS, other.about, str(error), action, error.path)
            return
    if shared := _shared(one, other):
        message = (
            f"{one.budget.reference} and {other.budget.reference} cover the same pods: "
            f"{listed(shared)}"
        )
        warning = Severity.WARNING
        yield found(rules.OVERLAPPING_PUBS, other.about, message, action, "spec", warning)


def _both_kinds(one: Subject, other: Subject) -> Iterator[Finding]:
    if shared := _shared(one, other):
        message = (
            f"{one.budget.reference} and {other.budget.reference} cover the same pods: an eviction "
            f"spends both: {listed(shared)}"
        )
        action = "Nothing, if both are meant; the stricter one decides."
        yield found(rules.BOTH_KINDS, other.about, message, action, "spec")
