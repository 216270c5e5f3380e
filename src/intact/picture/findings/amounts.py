"""Findings about amounts: what a budget can ever allow, and what it ever holds."""

from collections.abc import Iterator, Sequence

from intact.budget.pdb.pods import (
    DISRUPTION_ALLOWED,
    SYNC_FAILED,
    desired_healthy,
    needs_controllers,
)
from intact.budget.pub.conditions import TOTAL_UNKNOWN
from intact.budget.pub.recount import desired_of
from intact.model.amounts import desired_available
from intact.model.listing import listed
from intact.model.pod import Pod
from intact.model.pod_state import controller_of
from intact.picture.findings import rules
from intact.picture.findings.facts import Subject
from intact.picture.findings.finding import Finding, Severity, found

_ANY = 1_000_000
"""A number of units beyond every amount that is meant."""
_UNSCALED = frozenset({"DaemonSet", "Job", "Node", "Pod"})
"""Controllers of pods that have no scale."""


def about_amounts(subject: Subject) -> Iterator[Finding]:
    if subject.errors:
        return
    if uncounted := list(_uncounted(subject)):
        yield from uncounted
        if any(one.severity is Severity.ERROR for one in uncounted):
            return
    if why := _never(subject):
        yield found(
            rules.NEVER_ALLOWS,
            subject.about,
            why,
            "Change the amount, or scale up: as it is, a drain of a node with its pods never ends.",
            _field(subject),
        )
    elif subject.total == 1:
        yield _one_replica(subject)
    elif why := _everything(subject):
        yield found(
            rules.ALLOWS_ALL,
            subject.about,
            why,
            "Lower maxUnavailable, or raise minAvailable, so that some stay.",
            _field(subject),
        )
    else:
        yield from _larger_than_group(subject)


def desired(subject: Subject, total: int) -> int:
    """Units that must stay of so many."""
    if subject.pub is not None:
        return desired_of(subject.pub.spec, total)
    assert subject.pdb is not None
    return desired_healthy(subject.pdb.spec, total)


def _field(subject: Subject) -> str:
    """Of the amount that decides: in groups both hold, else maxUnavailable wins."""
    amounts = subject.amounts
    if not amounts:
        return "spec"
    name = "maxUnavailable" if "maxUnavailable" in amounts else "minAvailable"
    if len(amounts) == 2 and subject.budget.in_groups:
        total = subject.total or _ANY
        alone = desired_available(amounts["maxUnavailable"], None, total, both=True)
        name = name if alone >= desired(subject, total) else "minAvailable"
    return f"spec.{name}"


def _given(subject: Subject) -> str:
    """`maxUnavailable is 1`."""
    name = _field(subject).removeprefix("spec.")
    return f"{name} is {subject.amounts[name]}"


def _never(subject: Subject) -> str:
    unit, total = subject.budget.unit, subject.total
    if not subject.amounts:
        return f"neither maxUnavailable nor minAvailable is set: no {unit} can ever go"
    if desired(subject, _ANY) >= _ANY:
        return f"{_given(subject)}: no {unit} can ever go"
    if total is None or total < 2 or desired(subject, total) < total:
        return ""
    return (
        f"{_given(subject)}: the budget requires {desired(subject, total)} of "
        f"{subject.units(total)} to stay, so none can ever go"
    )


def _one_replica(subject: Subject) -> Finding:
    unit = subject.budget.unit
    if desired(subject, 1) >= 1:
        message = (
            f"{_given(subject)} and there is one {unit}: it can never go, and a drain of its node "
            "never ends"
        )
        action = "Scale up to two or more, or delete the budget and plan for the outage."
        severity = Severity.ERROR
    else:
        message = (
            f"{_given(subject)} and there is one {unit}: it may go at any time, and nothing is held"
        )
        action = "Scale up to two or more; a budget cannot protect a single replica."
        severity = Severity.WARNING
    return found(rules.ONE_REPLICA, subject.about, message, action, _field(subject), severity)


def _everything(subject: Subject) -> str:
    total = subject.total
    if desired(subject, _ANY) <= 0:
        return f"{_given(subject)}: all {subject.budget.unit}s may go at once"
    if total is None or desired(subject, total) > 0:
        return ""
    return f"{_given(subject)} and there are {subject.units(total)}: all of them may go at once"


def _larger_than_group(subject: Subject) -> Iterator[Finding]:
    """Who writes pods where groups are counted allows many times what he means."""
    amount = subject.amounts.get("maxUnavailable")
    sizes = [len(group.pods) for group in subject.groups]
    size = max(sizes, default=0)
    if not isinstance(amount, int) or not subject.budget.in_groups or size < 2 or amount < size:
        return
    total = subject.total or len(sizes)
    message = (
        f"maxUnavailable is {amount} and counts groups; a group has {size} pods, so up to "
        f"{amount * size} pods may go at once"
    )
    action = "If you mean pods of one group, write 1; if you mean so many groups, all is well."
    severity = Severity.WARNING if 2 * amount >= total else Severity.NOTE
    yield found(
        rules.LARGER_THAN_GROUP, subject.about, message, action, "spec.maxUnavailable", severity
    )


def _uncounted(subject: Subject) -> Iterator[Finding]:
    if subject.pub is not None:
        told = subject.budget.condition_of(TOTAL_UNKNOWN)
        if told is not None and told.status == "True":
            action = "Set spec.protectTotalReplicas, or a targetRef to a workload with a scale."
            yield found(rules.NOT_COUNTED, subject.about, told.message, action, "spec")
        return
    assert subject.pdb is not None
    told = subject.budget.condition_of(DISRUPTION_ALLOWED)
    action = "Set minAvailable to a number in place of maxUnavailable or a percentage."
    if not subject.budget.in_groups and told is not None and told.reason == SYNC_FAILED:
        message = f"the pods cannot be counted, so that none can go: {told.message}"
        yield found(rules.NOT_COUNTED, subject.about, message, action, _field(subject))
        return
    if subject.budget.in_groups or not needs_controllers(subject.pdb.spec):
        return
    if unscaled := _owned_by(subject, _UNSCALED):
        kinds = sorted({owner.kind for pod in unscaled if (owner := controller_of(pod))})
        message = (
            f"{_given(subject)} and pods belong to a {listed(kinds)}, which has no scale: "
            f"Kubernetes cannot count them and lets none go: {_names(unscaled)}"
        )
        yield found(rules.NOT_COUNTED, subject.about, message, action, _field(subject))
    elif bare := [pod for pod in subject.pods if controller_of(pod) is None]:
        message = (
            f"{_given(subject)} and pods have no controller, so that Kubernetes does not expect "
            f"them: {_names(bare)}"
        )
        severity = Severity.WARNING
        yield found(rules.NOT_COUNTED, subject.about, message, action, _field(subject), severity)


def _owned_by(subject: Subject, kinds: frozenset[str]) -> list[Pod]:
    owned = ((pod, controller_of(pod)) for pod in subject.pods)
    return [pod for pod, owner in owned if owner is not None and owner.kind in kinds]


def _names(pods: Sequence[Pod]) -> str:
    return listed(sorted(pod.metadata.name for pod in pods))
