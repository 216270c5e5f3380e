"""The gate's decision.

Two rules:
- Everything that decides whether a pod may go lives in this file.
- A decision is a function of the budget object, the pod and the operation. It returns the answer
  and the next status. An allowance counts only once that status is stored under the old resource
  version; a gate that loses this race decides again on the fresh object.

| the pod | cost |
|---|---|
| terminating, finished | free |
| not ready | free (*) |
| already in the ledger (same UID) | free while its record stands (**), then denied until it ends |
| of an owner that wants no pods any more, or not this one after a scale-in | free, recorded |
| of an owner that wants pods again, but wanted none when last counted | denied until counted |
| in a group that is already unavailable | free, recorded (*) |
| was let go before and is still here | denied for a while: other pods go first |
| in a group that only records make unavailable | free while these stand, recorded (**) |
| in a group with surplus (available pods > need) | free, recorded, surplus - 1 |
| any other | 1 unit, recorded; no unit left: denied |
| of a node that must be empty by now, and would be denied | recorded, over the budget (***) |

(*) With the unhealthy policy IfHealthyBudget only while as many units are available as the budget
requires, but for groups that the budget itself let go: a drain must end. A pod that is not ready
may still be changed in place, which may be what mends it.

(**) The recorded pods are still here and may stay. If the group was not paid for, because it was
down when they were recorded, and is up by now but for the records, it must be one that the budget
can spare now.

(***) With the setting `intact.dev/node-deadlines: Ignore` it stays denied. A budget that cannot be
read or is not counted yet denies it, too.

As long as no group has as many pods as it needs, no pod is in a group: each is a unit of its own.

The gate also records the eviction and the update of a pod that is not ready. Between its answer and
the eviction, or between the update and the restart that follows, the pod may turn ready, and the
recount must not count it then. A deletion has no such gap: the gate decides it on the very object
that the API server deletes. `ledger` says what is written for a pod that is recorded already.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import msgspec

from intact.budget.pub.denial_texts import (
    being_repaired_text,
    exhausted_text,
    held_text,
    not_processed_text,
    outlook_text,
    stayed_text,
    unhealthy_text,
    unreadable_text,
)
from intact.budget.pub.ledger import (
    Operation,
    expires_at,
    is_another_attempt,
    is_sure,
    make_record,
    stands,
    waits_until,
    with_record,
)
from intact.budget.pub.node_deadline import NodeDeadline
from intact.budget.pub.settings import (
    NodeDeadlines,
    UnhealthyPolicy,
    read_settings,
    rules_of,
)
from intact.budget.pub.subject import Subject
from intact.budget.pub.unreadable import problem_of
from intact.model.pub import (
    UNREADABLE,
    Ledger,
    LedgerRecord,
    PodUnavailableBudget,
    PubStatus,
)
from intact.model.times import past_time, timestamp_after


class Reason(StrEnum):
    """Why a decision is as it is; a label of a metric."""

    NOT_AVAILABLE = "NotAvailable"
    RECORDED = "AlreadyRecorded"
    RELEASED = "Released"
    GROUP_UNAVAILABLE = "GroupUnavailable"
    SURPLUS = "Surplus"
    BUDGET = "Budget"
    NODE_DEADLINE = "NodeDeadline"
    EXHAUSTED = "BudgetExhausted"
    UNHEALTHY = "BudgetUnhealthy"
    STAYED = "NotGone"
    NOT_PROCESSED = "NotProcessed"
    LIVE_COUNT = "LiveCount"
    UNWRITABLE = "BudgetNotWritable"
    UNREADABLE = "BudgetUnreadable"


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: Reason
    message: str = ""
    status: PubStatus | None = None
    """What must be stored before the allowance counts; None if nothing has to be."""


def decide(
    budget: PodUnavailableBudget,
    pod: Subject,
    operation: Operation,
    now: datetime,
    live_available: int | None = None,
    live_without: int | None = None,
) -> Decision:
    """May this pod go now?

    `live_available` is the gate's own count of available units, including this pod's;
    `live_without` is the same count without this pod. The stricter of the live count and the
    stored status decides.
    """
    decision = _decide(budget, pod, operation, now, live_available, live_without)
    if decision.allowed or pod.deadline is None or decision.reason in _NOT_DECIDED:
        return decision
    return _at_deadline(budget, pod, pod.deadline, operation, now, decision)


def _decide(
    budget: PodUnavailableBudget,
    pod: Subject,
    operation: Operation,
    now: datetime,
    live_available: int | None,
    live_without: int | None,
) -> Decision:
    """What the budget says, whatever becomes of the pod's node."""
    status = budget.status
    if pod.ended:
        return Decision(True, Reason.NOT_AVAILABLE)
    if denial := _not_decidable(budget):
        return denial
    if record := status.ledger.pods.get(pod.uid):
        return _decide_again(budget, pod, record, operation, now, live_available)
    if not status.ledger.reached:  # no group has as many pods as it needs: each pod is a unit
        pod = replace(pod, group=None)
    if decision := _not_wanted(budget, pod, operation, now):
        return decision
    if denial := _hold_unhealthy(budget, pod, operation, live_available):
        return denial
    if not pod.available:
        return _not_available(budget, pod, operation, now)
    if pod.group in status.ledger.unavailable_groups:
        return _in_unavailable_group(budget, pod, operation, now, live_available)
    if denial := _had_its_turn(budget, pod, operation, now):
        return denial
    if live_available == live_without and (free := _from_surplus(status, pod, operation, now)):
        return free
    if denial := _deny(budget, pod, live_available):
        return denial
    spent = _spent(status, pod.group, now)
    return Decision(True, Reason.BUDGET, status=_recorded(spent, pod, operation, now))


_NOT_DECIDED = (Reason.NOT_PROCESSED, Reason.UNREADABLE)


def _at_deadline(
    budget: PodUnavailableBudget,
    pod: Subject,
    deadline: NodeDeadline,
    operation: Operation,
    now: datetime,
    denial: Decision,
) -> Decision:
    """Of a pod that the budget denies."""
    status, name = budget.status, budget.metadata.name
    is_ignored = read_settings(budget).node_deadlines is NodeDeadlines.IGNORE
    if is_ignored or not deadline.has_come(now):
        return replace(denial, message=f"{denial.message}{outlook_text(deadline, is_ignored)}")
    if not status.ledger.reached:
        pod = replace(pod, group=None)
    is_down = pod.group is not None and pod.group in status.ledger.unavailable_groups
    if pod.available and not is_down and pod.uid not in status.ledger.pods:
        status = _spent(status, pod.group, now)
    message = f"Pod {pod.name} goes although the budget {name} denies it: its {deadline.text}."
    written = _recorded(status, pod, operation, now)
    return Decision(True, Reason.NODE_DEADLINE, message, written)


def _not_wanted(
    budget: PodUnavailableBudget, pod: Subject, operation: Operation, now: datetime
) -> Decision | None:
    """Of a pod of an owner that, when it was last counted, wanted none."""
    status = budget.status
    if pod.available and any(uid in status.ledger.released for uid in pod.wanted_by):
        return Decision(False, Reason.NOT_PROCESSED, not_processed_text(budget))
    if not _is_released(status.ledger, pod):
        return None
    gone = replace(pod, group=None)  # its group is not expected back for its sake
    return Decision(True, Reason.RELEASED, status=_recorded(status, gone, operation, now))


def _is_released(ledger: Ledger, pod: Subject) -> bool:
    """Whether the scale of an owner has no place for the pod any more. The last recount and the
    gate must agree: either may know an older scale."""
    if any(uid in ledger.released and uid not in pod.wanted_by for uid in pod.owners):
        return True
    if pod.unwanted is None or pod.unwanted[0] not in ledger.scaled_in:
        return False
    first, after = ledger.scaled_in[pod.unwanted[0]]
    return not first <= pod.unwanted[1] < after


def _hold_unhealthy(
    budget: PodUnavailableBudget, pod: Subject, operation: Operation, live_available: int | None
) -> Decision | None:
    """The denial of a pod that would be free, if the unhealthy policy holds it now."""
    status = budget.status
    is_down = pod.group is not None and pod.group in status.ledger.unavailable_groups
    if pod.available and not is_down:
        return None
    if read_settings(budget).unhealthy is UnhealthyPolicy.ALWAYS_ALLOW:
        return None
    is_repair = operation is Operation.UPDATE and not pod.available
    if is_repair or pod.group in status.ledger.let_go:
        return None
    available = _least_available(status, live_available)
    if available >= status.desired_available:
        return None
    return Decision(False, Reason.UNHEALTHY, unhealthy_text(budget, pod, available))


def _not_available(
    budget: PodUnavailableBudget, pod: Subject, operation: Operation, now: datetime
) -> Decision:
    """Of a pod that is not available itself."""
    status = budget.status
    if operation is Operation.DELETE:
        return Decision(True, Reason.NOT_AVAILABLE)
    if pod.as_of not in (None, status.ledger.seen):
        return Decision(False, Reason.NOT_PROCESSED, not_processed_text(budget))
    return Decision(True, Reason.NOT_AVAILABLE, status=_recorded(status, pod, operation, now))


def _from_surplus(
    status: PubStatus, pod: Subject, operation: Operation, now: datetime
) -> Decision | None:
    if pod.group is None or not status.ledger.surplus.get(pod.group):
        return None
    less = _without_surplus(status, pod.group)
    return Decision(True, Reason.SURPLUS, status=_recorded(less, pod, operation, now))


def _had_its_turn(
    budget: PodUnavailableBudget, pod: Subject, operation: Operation, now: datetime
) -> Decision | None:
    if until := waits_until(budget.status.ledger.stayed.get(pod.uid), operation, now):
        return Decision(False, Reason.STAYED, stayed_text(budget, pod, until))
    return None


def _in_unavailable_group(
    budget: PodUnavailableBudget,
    pod: Subject,
    operation: Operation,
    now: datetime,
    live_available: int | None,
) -> Decision:
    """Of an available pod. If its group would be available, were it not for records, the recorded
    pods are still here, and may stay."""
    assert pod.group is not None
    status, since = budget.status, budget.status.ledger.held.get(pod.group)
    if since is None:
        written = _recorded(status, pod, operation, now)
        return Decision(True, Reason.GROUP_UNAVAILABLE, status=written)
    if denial := _had_its_turn(budget, pod, operation, now):
        return denial
    if past_time(since, now) != since:
        return Decision(False, Reason.NOT_PROCESSED, being_repaired_text(budget))
    if not stands(since, now):
        return Decision(False, Reason.STAYED, held_text(budget, pod, expires_at(since)))
    if pod.group not in status.ledger.let_go:
        # It was down when its records were made, so it cost nothing. Now it would.
        available = _least_available(status, live_available)
        if available < status.desired_available:
            return Decision(False, Reason.EXHAUSTED, exhausted_text(budget, pod, available))
        status = _paid_for(status, pod.group)
    written = _recorded(status, pod, operation, now, at=since)
    return Decision(True, Reason.GROUP_UNAVAILABLE, status=written)


def _paid_for(status: PubStatus, group: str) -> PubStatus:
    """A unit for this group, which counts as unavailable already."""
    let_go = [*status.ledger.let_go, group]
    return status.with_ledger(msgspec.structs.replace(status.ledger, let_go=let_go))


def _least_available(status: PubStatus, live_available: int | None) -> int:
    """Units that are available for sure, without those that their owners do not want any more."""
    available = max(0, status.current_available - status.ledger.idle)
    return available if live_available is None else min(available, live_available)


def _not_decidable(budget: PodUnavailableBudget) -> Decision | None:
    """The denial of everything, if the budget cannot be read or is not processed yet."""
    if problem := problem_of(budget):
        return Decision(False, Reason.UNREADABLE, unreadable_text(budget, problem))
    if not _is_processed(budget):
        return Decision(False, Reason.NOT_PROCESSED, not_processed_text(budget))
    return None


def _is_processed(budget: PodUnavailableBudget) -> bool:
    """Whether the last recount was for the present spec and settings."""
    status = budget.status
    if status.observed_generation < budget.metadata.generation:
        return False
    ledger = status.ledger
    return ledger is not UNREADABLE and ledger.rules == rules_of(read_settings(budget))


def _decide_again(
    budget: PodUnavailableBudget,
    pod: Subject,
    record: LedgerRecord,
    operation: Operation,
    now: datetime,
    live_available: int | None,
) -> Decision:
    """The pod is recorded already."""
    if past_time(record.at, now) != record.at:
        return Decision(False, Reason.NOT_PROCESSED, being_repaired_text(budget))
    if is_another_attempt(record, _record(pod, operation, now)):
        written = _recorded(budget.status, pod, operation, now)
        return Decision(True, Reason.RECORDED, status=written)
    if not stands(record.at, now):
        return Decision(False, Reason.STAYED, stayed_text(budget, pod, expires_at(record.at)))
    if denial := _came_back(budget, pod, live_available):
        return denial
    if is_sure(record, operation):
        return Decision(True, Reason.RECORDED)
    return Decision(True, Reason.RECORDED, status=_recorded(budget.status, pod, operation, now))


def _came_back(
    budget: PodUnavailableBudget, pod: Subject, live_available: int | None
) -> Decision | None:
    """The denial of a recorded pod of a group that was down when the record was made, and that is
    up again, were it not for the record: it was free, and is one that the budget cannot spare."""
    ledger = budget.status.ledger
    if not pod.available or pod.group not in ledger.held or pod.group in ledger.let_go:
        return None
    available = _least_available(budget.status, live_available)
    if available >= budget.status.desired_available:
        return None
    return Decision(False, Reason.EXHAUSTED, exhausted_text(budget, pod, available))


def _deny(
    budget: PodUnavailableBudget, pod: Subject, live_available: int | None
) -> Decision | None:
    """The denial of a pod that costs a unit; None if a unit is left."""
    status = budget.status
    idle = status.ledger.idle
    if status.unavailable_allowed <= idle:
        message = exhausted_text(budget, pod, max(0, status.current_available - idle))
        return Decision(False, Reason.EXHAUSTED, message)
    if live_available is not None and live_available <= status.desired_available:
        return Decision(False, Reason.LIVE_COUNT, exhausted_text(budget, pod, live_available))
    return None


def _spent(status: PubStatus, group: str | None, now: datetime) -> PubStatus:
    """One unit less; in group mode it is this group."""
    ledger = status.ledger
    if group is not None:
        ledger = msgspec.structs.replace(
            ledger,
            unavailable_groups=[*ledger.unavailable_groups, group],
            let_go=[*ledger.let_go, group],
            held={**ledger.held, group: timestamp_after(now)},
        )
    return msgspec.structs.replace(
        status.with_ledger(ledger),
        unavailable_allowed=max(0, status.unavailable_allowed - 1),
        current_available=max(0, status.current_available - 1),
        unavailable_replicas=status.unavailable_replicas + 1,
    )


def _without_surplus(status: PubStatus, group: str) -> PubStatus:
    """One surplus pod of this group less."""
    surplus = {**status.ledger.surplus, group: status.ledger.surplus[group] - 1}
    left = {name: count for name, count in surplus.items() if count}
    return status.with_ledger(msgspec.structs.replace(status.ledger, surplus=left))


def _recorded(
    status: PubStatus, pod: Subject, operation: Operation, now: datetime, *, at: str = ""
) -> PubStatus:
    """With a record of the pod, as of now if no other time is given."""
    record = _record(pod, operation, now)
    if at:
        record = msgspec.structs.replace(record, at=at)
    return status.with_ledger(with_record(status.ledger, pod.uid, record))


def _record(pod: Subject, operation: Operation, now: datetime) -> LedgerRecord:
    return make_record(
        pod.name,
        operation,
        now,
        resource_version=pod.resource_version,
        group=pod.group,
        containers=pod.containers,
    )
