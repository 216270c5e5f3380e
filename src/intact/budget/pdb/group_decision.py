"""The gate of a PodDisruptionBudget that counts groups: the decision at a write of its status.

Two rules:
- Everything that decides whether an eviction may go on lives in this file.
- A decision is a function of the stored budget, what is to be stored, and the gate's live counts.
  It returns the answer and what is stored instead. The API server stores it by compare-and-swap: an
  eviction that loses that race comes back to the gate with the fresh object.

The API server stores an eviction before it carries it out: it takes one from disruptionsAllowed and
puts the pod's name into disruptedPods.

| the pod | cost |
|---|---|
| already in disruptedPods, and not a younger one of the same name | free |
| without a group, or in a group whose need is unknown, or a need that no group has had the pods for | denied |
| not ready, or in a group that is already unavailable | free, recorded; without `AlwaysAllow` only while enough groups are available, or if an eviction made the group unavailable |
| in a group with surplus (healthy pods > need) | free, recorded, surplus - 1 |
| any other | 1 group, recorded; none left: denied |

The stored counts and the live counts may differ: the stricter ones hold, and are stored.
"""  # noqa: E501

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from intact.budget.pdb.group_conditions import (
    INSUFFICIENT_REPLICAS,
    SUFFICIENT_REPLICAS,
    available_text,
    insufficient_text,
    never_allows,
)
from intact.budget.pdb.group_counts import Counted
from intact.budget.pdb.group_recount import ALWAYS_ALLOW, is_enforced, is_free, may_go
from intact.budget.pdb.group_settings import check_settings, rules_of
from intact.budget.pdb.pod_counts import is_healthy
from intact.budget.pdb.pods import DISRUPTION_ALLOWED
from intact.model.conditions import merge
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.listing import listed
from intact.model.meta import Condition
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.times import parse_time


class Reason(StrEnum):
    """The rule that decided; a label of a metric."""

    RECORDED = "AlreadyRecorded"
    NOT_READY = "NotAvailable"
    GROUP_UNAVAILABLE = "GroupUnavailable"
    SURPLUS = "Surplus"
    BUDGET = "Budget"
    EXHAUSTED = "BudgetExhausted"
    UNHEALTHY = "BudgetUnhealthy"
    NOT_PROCESSED = "NotProcessed"
    LIVE_COUNT = "LiveCount"
    INVALID = "InvalidConfig"
    UNRESOLVED = "GroupUnknown"
    UNPROVEN = "NeedNotReached"


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod that is to be evicted, as the gate knows it."""

    name: str
    uid: str
    at: str
    """When the API server allowed the eviction, by its own clock."""
    healthy: bool
    group: str | None
    need: int | None
    """None if it is unknown."""
    recorded: bool
    """Whether an entry of disruptedPods stands for this pod already."""
    version: str
    """The resource version of the pod that the gate looks at."""


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: Reason
    message: str = ""
    status: PdbStatus | None = None
    ledger: GroupLedger | None = None


def evicted_names(old: PdbStatus, new: PdbStatus) -> list[str]:
    """The pod that is evicted: the new name or time. If nothing is new, a pod is evicted again in
    the same second: any pod with the latest time may be meant."""
    before, after = old.disrupted_pods, new.disrupted_pods
    changed = [name for name, at in after.items() if before.get(name) != at]
    if changed or not after:
        return changed
    last = max(map(parse_time, after.values()))
    return [name for name, at in after.items() if parse_time(at) == last]


def problem_of(budget: PodDisruptionBudget, ledger: GroupLedger | None) -> Verdict | None:
    """Why no pod at all may go; None if the decision depends on the pod."""
    name = budget.metadata.name
    if problems := check_settings(budget):
        text = "; ".join(map(str, problems))
        return Verdict(False, Reason.INVALID, f"The disruption budget {name} is invalid: {text}")
    if (
        ledger is None
        or ledger.rules != rules_of(budget)
        or budget.status.observed_generation < budget.metadata.generation
    ):
        return still_processed(budget)
    if ledger.leaving:
        return still_processed(budget, "it is to stop counting groups")
    return None


def still_processed(budget: PodDisruptionBudget, why: str = "") -> Verdict:
    message = f"The disruption budget {budget.metadata.name} is still being processed"
    message += f": {why}" if why else ""
    return Verdict(False, Reason.NOT_PROCESSED, f"{message}; try again in a moment.")


def decide(
    budget: PodDisruptionBudget,
    ledger: GroupLedger,
    pod: Subject,
    live: Counted,
    now: datetime,
) -> Verdict:
    """May this pod go now? `live` counts as if recorded pods did not exist."""
    if pod.recorded:
        return _allow(budget, ledger, pod, Reason.RECORDED, now)
    if pod.group is None or pod.need is None:
        return _unresolved(budget, pod)
    if pod.need not in ledger.proven:
        return _unproven(budget, pod)
    available = min(ledger.available, live.available)
    free = is_free(budget.spec, ledger, pod.group, available)
    if not pod.healthy:
        if free:
            if remaining := ledger.let_go.get(pod.group):
                let_go = {**ledger.let_go, pod.group: remaining - 1}
                ledger = msgspec.structs.replace(ledger, let_go=let_go)
            return _allow(budget, ledger, pod, Reason.NOT_READY, now)
        return Verdict(False, Reason.UNHEALTHY, _unhealthy(budget, ledger, pod, live))
    if live.available <= ledger.desired and _breaks(pod.group, live):
        message = _exhausted(budget, ledger, pod, live, live.available)
        spent = ledger.allowed <= 0 and not ledger.surplus.get(pod.group)
        return Verdict(False, Reason.EXHAUSTED if spent else Reason.LIVE_COUNT, message)
    if not free and (pod.group in ledger.unavailable or pod.group in live.unavailable):
        return Verdict(False, Reason.UNHEALTHY, _unhealthy(budget, ledger, pod, live))
    if pod.group in ledger.unavailable:
        left = {**ledger.unavailable, pod.group: max(0, ledger.unavailable[pod.group] - 1)}
        taken = msgspec.structs.replace(ledger, unavailable=left)
        return _allow(budget, taken, pod, Reason.GROUP_UNAVAILABLE, now)
    if ledger.surplus.get(pod.group) and pod.group in live.surplus:
        left = {**ledger.surplus, pod.group: ledger.surplus[pod.group] - 1}
        left = {group: number for group, number in left.items() if number}
        taken = msgspec.structs.replace(ledger, surplus=left)
        return _allow(budget, taken, pod, Reason.SURPLUS, now)
    return _spend(budget, ledger, pod, live, now)


def overrule(
    budget: PodDisruptionBudget, ledger: GroupLedger, pod: Subject, denial: Verdict, now: datetime
) -> Verdict:
    """The same denial, with what is stored where denials are not enforced: the pod goes, and the
    ledger says what that has cost."""
    group, unavailable = pod.group, ledger.unavailable
    if pod.healthy and group is not None and pod.need is not None:
        if group in unavailable:
            left = {**unavailable, group: max(0, unavailable[group] - 1)}
            ledger = msgspec.structs.replace(ledger, unavailable=left)
        else:
            ledger = _without_one(ledger, group, pod.need)
    gone = _allow(budget, ledger, pod, denial.reason, now)
    return Verdict(False, denial.reason, denial.message, gone.status, gone.ledger)


def as_the_server(budget: PodDisruptionBudget, pod: Pod, verdict: Verdict) -> Verdict:
    """The same verdict, unless the API server refuses the pod before it asks the gate: at 0
    disruptionsAllowed it lets only such pods go that are not ready."""
    status, policy = budget.status, budget.spec.unhealthy_pod_eviction_policy
    if not verdict.allowed or status.disruptions_allowed > 0:
        return verdict
    enough = status.current_healthy >= status.desired_healthy > 0
    if not is_healthy(pod) and (enough or policy == ALWAYS_ALLOW):
        return verdict
    name, found = pod.metadata.name, f"the disruption budget {budget.metadata.name}"
    if at := status.disrupted_pods.get(name):
        message = (
            f"Pod {name} cannot go now: its eviction was allowed at {at} and has not happened, and "
            f"{found} lets no other pod go. It waits until the pod has gone, or for two minutes."
        )
    else:
        message = (
            f"Pod {name} cannot go now: it is not ready, and {found} has no healthy pod that may "
            f"go. Set unhealthyPodEvictionPolicy: {ALWAYS_ALLOW} to let pods go that are not ready."
        )
    return Verdict(False, Reason.EXHAUSTED, message)


def _breaks(group: str, live: Counted) -> bool:
    """Whether the group becomes unavailable with one pod less, by the live counts."""
    return group not in live.unavailable and group not in live.surplus


def _spend(
    budget: PodDisruptionBudget, ledger: GroupLedger, pod: Subject, live: Counted, now: datetime
) -> Verdict:
    assert pod.group is not None
    assert pod.need is not None
    if ledger.allowed <= 0:
        message = _exhausted(budget, ledger, pod, live, ledger.available)
        return Verdict(False, Reason.EXHAUSTED, message)
    return _allow(budget, _without_one(ledger, pod.group, pod.need), pod, Reason.BUDGET, now)


def _without_one(ledger: GroupLedger, group: str, need: int) -> GroupLedger:
    """With a group less: one of its pods goes, and it becomes unavailable."""
    surplus = {**ledger.surplus}
    healthy = need + surplus.pop(group, 0)
    needs = {**ledger.needs, need: ledger.needs.get(need, 0) - 1}
    return msgspec.structs.replace(
        ledger,
        unavailable={**ledger.unavailable, group: healthy - 1},
        let_go={**ledger.let_go, group: 0},
        surplus=surplus,
        needs={need: number for need, number in needs.items() if number > 0},
        allowed=max(0, ledger.allowed - 1),
        available=max(0, ledger.available - 1),
    )


def _allow(
    budget: PodDisruptionBudget, ledger: GroupLedger, pod: Subject, reason: Reason, now: datetime
) -> Verdict:
    record = GroupRecord(uid=pod.uid, group=pod.group or "", version=pod.version)
    ledger = msgspec.structs.replace(ledger, pods={**ledger.pods, pod.name: record})
    old = budget.status
    counted = pod.healthy and reason is not Reason.RECORDED
    allowed = may_go(budget.spec, ledger)
    if not is_enforced(budget):
        allowed = max(1, old.disruptions_allowed - counted)
    status = msgspec.structs.replace(
        old,
        disruptions_allowed=allowed,
        current_healthy=max(0, old.current_healthy - counted),
        disrupted_pods={**old.disrupted_pods, pod.name: pod.at},
        conditions=_conditions(old, ledger, now),
    )
    return Verdict(True, reason, status=status, ledger=ledger)


def _conditions(old: PdbStatus, ledger: GroupLedger, now: datetime) -> list[Condition]:
    """With the condition that an eviction may change."""
    for condition in old.conditions:
        if (condition.type, condition.reason) == (DISRUPTION_ALLOWED, SUFFICIENT_REPLICAS):
            if ledger.allowed:
                break
            spent = msgspec.structs.replace(
                condition,
                status="False",
                reason=INSUFFICIENT_REPLICAS,
                message=insufficient_text(ledger),
            )
            return merge(old.conditions, [spent], condition.observed_generation, now)
    return old.conditions


def _unresolved(budget: PodDisruptionBudget, pod: Subject) -> Verdict:
    name = budget.metadata.name
    if pod.group is None:
        message = (
            f"Pod {pod.name} belongs to no group, but the disruption budget {name} counts groups: "
            "give the pod a reference to its group, or exclude it from the budget's selector."
        )
    else:
        message = (
            f"Pod {pod.name} of group {pod.group!r} cannot go now: it is unknown how many pods the "
            f"group needs. The disruption budget {name} waits for its PodGroup, Workload or "
            "LeaderWorkerSet."
        )
    return Verdict(False, Reason.UNRESOLVED, message)


def _unproven(budget: PodDisruptionBudget, pod: Subject) -> Verdict:
    message = (
        f"Pod {pod.name} of group {pod.group!r} cannot go now: its group needs {pod.need} pods, "
        f"and no group under the disruption budget {budget.metadata.name} has had so many. Correct "
        "the need, or wait until a group has them."
    )
    return Verdict(False, Reason.UNPROVEN, message)


def _exhausted(
    budget: PodDisruptionBudget, ledger: GroupLedger, pod: Subject, live: Counted, available: int
) -> str:
    found = available_text(available, ledger, f"the disruption budget {budget.metadata.name}")
    waits_for = _waits_for(budget, ledger, live)
    return f"Pod {pod.name} of group {pod.group!r} cannot go now: {found}. {waits_for}"


def _unhealthy(
    budget: PodDisruptionBudget, ledger: GroupLedger, pod: Subject, live: Counted
) -> str:
    available = min(ledger.available, live.available)
    found = available_text(available, ledger, f"the disruption budget {budget.metadata.name}")
    why = (
        "its group is unavailable, and pods of such groups go"
        if pod.healthy
        else "it is not ready, and such pods go"
    )
    return (
        f"Pod {pod.name} of group {pod.group!r} cannot go now: {why} only while enough groups are "
        f"available. {found}. {_waits_for(budget, ledger, live)}"
    )


def _waits_for(budget: PodDisruptionBudget, ledger: GroupLedger, live: Counted) -> str:
    if ledger.desired >= ledger.expected > 0 or never_allows(budget, ledger.expected):
        return "It never allows a disruption: change the budget, or scale up first."
    waiting: Mapping[str, object] = {**ledger.unavailable, **live.unavailable, **ledger.absent}
    if waiting:
        return f"It waits for {listed(sorted(waiting))} to be ready again."
    return "It waits for groups to become ready."
