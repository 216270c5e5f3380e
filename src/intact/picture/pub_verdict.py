"""What a PodUnavailableBudget says to a pod that is to be evicted: the decision of the gate, made
on the stored budget."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from intact.budget.pub import conditions, decision
from intact.budget.pub.availability import is_available, is_exempt
from intact.budget.pub.decision import Decision
from intact.budget.pub.ledger import Operation, expires_at, waits_until
from intact.budget.pub.node_deadline import NodeDeadline
from intact.budget.pub.settings import UNHEALTHY_POLICY, read_settings
from intact.budget.pub.subject import Subject
from intact.budget.pub.unreadable import problem_of
from intact.model.meta import OwnerReference
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_gone
from intact.model.pub import PodUnavailableBudget
from intact.model.times import timestamp_after
from intact.model.workload import ordinal_of
from intact.picture.budget_verdict import (
    BudgetVerdict,
    allows,
    as_enforced,
    available_text,
    exhausted,
    intact_down,
    never,
    not_counted,
    not_processed,
    ready_again,
    waits,
)
from intact.picture.budgets import BudgetPicture
from intact.picture.reasons import Reason

_FREE = {
    decision.Reason.NOT_AVAILABLE: (Reason.NOT_AVAILABLE, "it is not ready: it costs nothing"),
    decision.Reason.RECORDED: (Reason.RECORDED, "it was let go already"),
    decision.Reason.RELEASED: (Reason.RELEASED, "its owner does not want it any more"),
    decision.Reason.GROUP_UNAVAILABLE: (
        Reason.GROUP_UNAVAILABLE,
        "its group is down already: it costs nothing",
    ),
    decision.Reason.NODE_DEADLINE: (Reason.NODE_DEADLINE, "its node must be empty by now"),
    decision.Reason.SURPLUS: (Reason.SURPLUS, "its group has more pods than it needs"),
}
_NOT_ASKED = ("NotGated", conditions.NOT_SELECTED, conditions.UNINSTALLED)
"""Reasons of Working: the API server does not ask Intact about the pods."""


def judge_pub(
    found: BudgetPicture,
    pod: DetailedPod,
    owners: Iterable[OwnerReference],
    leading: bool | None,
    now: datetime,
    deadline: NodeDeadline | None = None,
) -> BudgetVerdict:
    """`owners` are above the pod, nearest first; `leading` says whether an Intact is up; the
    deadline is that of the pod's node."""
    budget = found.budget
    assert isinstance(budget, PodUnavailableBudget)
    if free := _not_held(found, budget, pod):
        return free
    if leading is False:
        return intact_down(found)
    subject = replace(_subject(found, pod, list(owners)), deadline=deadline)
    decided = decision.decide(budget, subject, Operation.EVICT, now)
    return as_enforced(_explained(found, budget, subject, decided, now))


def holds_nothing(found: BudgetPicture) -> BudgetVerdict | None:
    """What the budget says if the API server does not ask Intact about its pods; else None."""
    if found.intact is False:
        return allows(found, Reason.NOT_HELD, found.not_working)
    working = found.condition
    if working is not None and working.status == "False" and working.reason in _NOT_ASKED:
        return allows(found, Reason.NOT_HELD, "it holds nothing", working.message)
    return None


def unreadable(found: BudgetPicture, budget: PodUnavailableBudget) -> BudgetVerdict:
    text = f"the budget cannot be read: {problem_of(budget)}"
    return never(found, Reason.UNREADABLE, text, f"{found.reference} is corrected")


def total_unknown(found: BudgetPicture) -> BudgetVerdict | None:
    """What the budget says if nothing tells how many units there should be; else None."""
    said = found.condition_of(conditions.TOTAL_UNKNOWN)
    return not_counted(found, said.message) if said is not None and said.status == "True" else None


def _not_held(
    found: BudgetPicture, budget: PodUnavailableBudget, pod: DetailedPod
) -> BudgetVerdict | None:
    if free := holds_nothing(found):
        return free
    if is_exempt(pod):
        return allows(found, Reason.EXEMPT, "the pod has the annotation pub.kruise.io/no-protect")
    settings = read_settings(budget)
    if settings.ignores(pod.metadata.labels):
        return allows(found, Reason.EXEMPT, "its ignoredPodSelector selects the pod")
    if Operation.EVICT not in settings.operations:
        held = ", ".join(sorted(settings.operations))
        return allows(found, Reason.EXEMPT, f"it does not hold evictions, only {held}")
    return None


def _subject(found: BudgetPicture, pod: DetailedPod, owners: list[OwnerReference]) -> Subject:
    unit = found.coverage.unit_of(pod) if found.in_groups else None
    return Subject(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        available=is_available(pod),
        ended=is_gone(pod),
        group=unit.name if unit is not None else None,
        owners=tuple(owner.uid for owner in owners),
        unwanted=_unwanted(pod, owners),
    )


def _unwanted(pod: DetailedPod, owners: list[OwnerReference]) -> tuple[str, int] | None:
    """The StatefulSet above the pod, and the ordinal of its pod: whether that is wanted, the ledger
    says."""
    below = pod.metadata.name
    for owner in owners:
        if owner.kind == "StatefulSet" and (ordinal := ordinal_of(below, owner.name)) is not None:
            return owner.uid, ordinal
        below = owner.name if owner.kind == "Pod" else ""
    return None


def _explained(
    found: BudgetPicture,
    budget: PodUnavailableBudget,
    pod: Subject,
    decided: Decision,
    now: datetime,
) -> BudgetVerdict:
    if decided.allowed:
        return allows(found, *_FREE.get(decided.reason, (Reason.ALLOWED, "")))
    match decided.reason:
        case decision.Reason.UNREADABLE:
            return unreadable(found, budget)
        case decision.Reason.STAYED:
            until = _until(budget, pod, now)
            text = "it was let go and is still here: another webhook, or a budget, refuses it"
            when = f"what refuses it lets it go; other pods go first until {until}"
            return waits(found, Reason.NOT_GONE, text, when)
        case decision.Reason.UNHEALTHY:
            return _held_unhealthy(found, pod)
        case decision.Reason.EXHAUSTED | decision.Reason.LIVE_COUNT if found.total:
            return _exhausted(found, budget)
    return total_unknown(found) or not_processed(found, "Intact")


def _exhausted(found: BudgetPicture, budget: PodUnavailableBudget) -> BudgetVerdict:
    if not found.one_by_one:
        return exhausted(found)
    policy = budget.spec.pod_group_policy
    need = policy.min_ready_replicas if policy is not None else None
    text = f"{available_text(found)}; no group has the {need or 'all'} pods that it needs"
    if found.never:
        when = f"a group has {need or 'all'} pods, or {found.reference} is changed"
        return never(found, Reason.NEED_NOT_REACHED, text, when)
    return waits(found, Reason.NEED_NOT_REACHED, text, ready_again(found), found.down)


def _held_unhealthy(found: BudgetPicture, pod: Subject) -> BudgetVerdict:
    state = "its group is down" if pod.available else "the pod is not ready"
    text = f"{available_text(found)}; {state}, and {UNHEALTHY_POLICY} holds it until then"
    short = found.desired - found.current
    return waits(found, Reason.UNHEALTHY, text, _enough(found, short), found.down)


def _enough(found: BudgetPicture, short: int) -> str:
    units = f"{short} more {found.unit}{'' if short == 1 else 's'}"
    return f"{units} {'is' if short == 1 else 'are'} available"


def _until(budget: PodUnavailableBudget, pod: Subject, now: datetime) -> str:
    ledger = budget.status.ledger
    if record := ledger.pods.get(pod.uid):
        return timestamp_after(expires_at(record.at))
    if until := waits_until(ledger.stayed.get(pod.uid), Operation.EVICT, now):
        return timestamp_after(until)
    return timestamp_after(expires_at(ledger.held[pod.group or ""]))
