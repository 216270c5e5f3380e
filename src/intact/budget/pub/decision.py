"""The gate's decision.

Two rules:
- Everything that decides whether a pod may go lives in this file.
- A decision is a function of the budget object, the pod and the operation. It returns the answer
  and the next status; an allowance counts only once that status is stored under the old resource
  version. Whoever loses that race decides again on the fresh object.

| the pod | cost |
|---|---|
| not ready, terminating, finished | free |
| already in the ledger (same UID) | free, nothing written |
| of an owner that wants no pods any more | free, recorded |
| in a group that is already unavailable | free, recorded |
| in a group with surplus (available pods > need) | free, recorded, surplus - 1 |
| any other | 1 unit, recorded; no unit left: denied |

Of a pod that is not ready, an eviction and an update are recorded as well: between the gate's
answer and the eviction, or between the update and the restart that it brings, the pod may turn
ready, and the recount must not count it then. A deletion is decided on the very object that it
deletes, so there is no such gap.

A pod that is in the ledger is recorded anew if it is updated (what it waits for has changed) or has
been so far: only a deletion's record surely stands for a while, however old this copy of the budget
is, for nothing but the pod's end or its time clears it. From then on it is a deletion's record.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from intact.model.listing import listed
from intact.model.pub import (
    UNREADABLE,
    ContainerMark,
    Ledger,
    LedgerRecord,
    PodUnavailableBudget,
    PubStatus,
)
from intact.model.times import parse_time, timestamp_after

RECORD_LIFETIME = timedelta(seconds=30)
"""How long an admitted operation may take to be seen. After it the unit is given back."""
RENEW_AFTER = timedelta(seconds=10)
"""A pod that is asked for again after so long gets its record renewed."""


class Operation(StrEnum):
    DELETE = "DELETE"
    EVICT = "EVICT"
    UPDATE = "UPDATE"


class Reason(StrEnum):
    """Why a decision is as it is; a label of a metric."""

    NOT_AVAILABLE = "NotAvailable"
    RECORDED = "AlreadyRecorded"
    RELEASED = "Released"
    GROUP_UNAVAILABLE = "GroupUnavailable"
    SURPLUS = "Surplus"
    BUDGET = "Budget"
    EXHAUSTED = "BudgetExhausted"
    NOT_PROCESSED = "NotProcessed"
    LIVE_COUNT = "LiveCount"
    UNWRITABLE = "BudgetNotWritable"


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod in question, as the gate knows it."""

    name: str
    uid: str
    resource_version: str
    available: bool
    ended: bool = False
    """Terminating or finished."""
    group: str | None = None
    """None if the budget counts pods, or the pod has no group."""
    owners: tuple[str, ...] = ()
    """UIDs of the owners above it, nearest first."""
    containers: dict[str, ContainerMark] | None = None
    as_of: str | None = None
    """What the last recount had seen when the pod was read; None if it does not matter."""


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: Reason
    message: str = ""
    status: PubStatus | None = None
    """What must be stored, written out, before the allowance counts; None if nothing has to be."""


def decide(
    budget: PodUnavailableBudget,
    pod: Subject,
    operation: Operation,
    now: datetime,
    live_available: int | None = None,
    live_without: int | None = None,
) -> Decision:
    """May this pod go now?

    `live_available` is the gate's own count of available units, this pod's among them, and
    `live_without` what it would be without this pod; the stricter of this and the stored status
    counts.
    """
    status = budget.status
    ledger = status.ledger
    if pod.ended:
        return Decision(True, Reason.NOT_AVAILABLE)
    if status.observed_generation < budget.metadata.generation or ledger is UNREADABLE:
        return Decision(False, Reason.NOT_PROCESSED, _not_processed(budget))
    updates = operation is Operation.UPDATE
    written = _recorded(ledger, pod, operation, now)
    if record := ledger.pods.get(pod.uid):
        stands = record.operation != Operation.UPDATE and now - parse_time(record.at) < RENEW_AFTER
        return Decision(
            True,
            Reason.RECORDED,
            status=None if stands and not updates else status.with_ledger(written),
        )
    if any(owner in ledger.released for owner in pod.owners):
        return Decision(True, Reason.RELEASED, status=status.with_ledger(written))
    if not pod.available:
        late = updates or operation is Operation.EVICT
        if late and pod.as_of not in (None, ledger.seen):
            return Decision(False, Reason.NOT_PROCESSED, _not_processed(budget))
        return Decision(
            True, Reason.NOT_AVAILABLE, status=status.with_ledger(written) if late else None
        )
    if pod.group is not None:
        if pod.group in ledger.unavailable_groups:
            return Decision(True, Reason.GROUP_UNAVAILABLE, status=status.with_ledger(written))
        surplus = ledger.surplus.get(pod.group, 0)
        if surplus and live_without == live_available:
            left = {**ledger.surplus, pod.group: surplus - 1}
            written = msgspec.structs.replace(
                written, surplus={group: count for group, count in left.items() if count}
            )
            return Decision(True, Reason.SURPLUS, status=status.with_ledger(written))
    return _spend(budget, pod, written, live_available)


def _spend(
    budget: PodUnavailableBudget, pod: Subject, written: Ledger, live_available: int | None
) -> Decision:
    status = budget.status
    if status.unavailable_allowed <= 0:
        return Decision(False, Reason.EXHAUSTED, _exhausted(budget, pod, status.current_available))
    if live_available is not None and live_available <= status.desired_available:
        return Decision(False, Reason.LIVE_COUNT, _exhausted(budget, pod, live_available))
    if pod.group is not None:
        written = msgspec.structs.replace(
            written, unavailable_groups=[*written.unavailable_groups, pod.group]
        )
    spent = msgspec.structs.replace(
        status,
        unavailable_allowed=status.unavailable_allowed - 1,
        current_available=max(0, status.current_available - 1),
        unavailable_replicas=status.unavailable_replicas + 1,
    )
    return Decision(True, Reason.BUDGET, status=spent.with_ledger(written))


def _recorded(ledger: Ledger, pod: Subject, operation: Operation, now: datetime) -> Ledger:
    known = ledger.pods.get(pod.uid)
    restarting = known.containers if known else {}
    # A deletion that was admitted may come at any moment, whatever else is asked for.
    deleted = known is not None and known.operation != Operation.UPDATE
    record = LedgerRecord(
        name=pod.name,
        operation=known.operation if known and deleted else operation,
        at=timestamp_after(now),
        resource_version=pod.resource_version,
        group=pod.group,
        containers=restarting | _marked_again(restarting, pod.containers or {}),
    )
    return msgspec.structs.replace(ledger, pods={**ledger.pods, pod.uid: record})


def _marked_again(
    before: dict[str, ContainerMark], now: dict[str, ContainerMark]
) -> dict[str, ContainerMark]:
    """A container that is changed once more may yet be restarted for the change before: another
    image than the one that runs now is then not the end of it. While the same one runs on, what it
    was started from is what the first mark says."""
    marks = dict(now)
    for name in now.keys() & before.keys():
        same = now[name].container_id == before[name].container_id
        image = before[name].image if same else now[name].image
        marks[name] = msgspec.structs.replace(now[name], image_id="", image=image)
    return marks


def written_out(status: PubStatus) -> PubStatus:
    """As it is stored: with the text of its ledger, and with `disruptedPods` and `unavailablePods`,
    as OpenKruise shows them: names and times."""
    disrupted: dict[str, str] = {}
    updated: dict[str, str] = {}
    ledger = status.ledger
    for record in ledger.pods.values():
        (updated if record.operation == Operation.UPDATE else disrupted)[record.name] = record.at
    shown = msgspec.structs.replace(status, disrupted_pods=disrupted, unavailable_pods=updated)
    return shown.with_ledger(ledger, written=True)


def is_expired(record: LedgerRecord, now: datetime) -> bool:
    return now - parse_time(record.at) >= RECORD_LIFETIME


def expires_at(record: LedgerRecord) -> datetime:
    return parse_time(record.at) + RECORD_LIFETIME


def _not_processed(budget: PodUnavailableBudget) -> str:
    return f"The budget {budget.metadata.name} is still being processed; try again in a moment."


def _exhausted(budget: PodUnavailableBudget, pod: Subject, available: int) -> str:
    status, name = budget.status, budget.metadata.name
    unit = "groups" if budget.spec.pod_group_policy else "pods"
    whose = f"Pod {pod.name}"
    if pod.group is not None:
        whose += f" of group {pod.group!r}"
    have = f"{available} of {status.total_replicas} {unit} available"
    need = f"{status.desired_available} must stay so"
    waits = _waits_for(status)
    return f"{whose} cannot go now: budget {name} has {have} and {need}. {waits}"


def _waits_for(status: PubStatus) -> str:
    ledger = status.ledger
    if status.desired_available >= status.total_replicas > 0:
        return "It never allows a disruption: change the budget, or scale up first."
    if ledger.unavailable_groups:
        return f"It waits for {listed(ledger.unavailable_groups)} to be ready again."
    if ledger.pods:
        names = listed(sorted(record.name for record in ledger.pods.values()))
        return f"It waits for {names} to be replaced and ready."
    return "It waits for pods to become ready."
