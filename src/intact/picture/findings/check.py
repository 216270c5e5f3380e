"""All findings about the budgets of a picture."""

from collections.abc import Iterable

from intact.picture.findings.amounts import about_amounts
from intact.picture.findings.cluster import about_cluster
from intact.picture.findings.coverage import about_coverage
from intact.picture.findings.facts import Facts, subjects
from intact.picture.findings.finding import Finding, Severity
from intact.picture.findings.groups import about_groups
from intact.picture.findings.objects import about_object
from intact.picture.findings.overlaps import about_overlaps

_ORDER = tuple(Severity)
_OF_ONE = (about_object, about_amounts, about_coverage, about_groups, about_cluster)


def check(facts: Facts) -> list[Finding]:
    """By object; of one object, the worst first."""
    every = subjects(facts)
    found = [finding for one in every for about in _OF_ONE for finding in about(one)]
    return in_order([*found, *about_overlaps(every)])


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(
        findings,
        key=lambda one: (
            one.about.namespace,
            one.about.kind,
            one.about.name,
            _ORDER.index(one.severity),
            one.code,
            one.message,
        ),
    )


def worst(findings: Iterable[Finding]) -> Severity | None:
    return min((one.severity for one in findings), key=_ORDER.index, default=None)
