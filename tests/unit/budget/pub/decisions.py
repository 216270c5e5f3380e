"""A budget in which nothing is used up, a pod under it, and the question whether it may go."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from intact.budget.pub.decision import Decision, decide
from intact.budget.pub.ledger import Operation
from intact.budget.pub.subject import Subject
from intact.model.meta import ObjectMeta
from intact.model.pub import (
    Ledger,
    LedgerRecord,
    PodGroupPolicy,
    PodUnavailableBudget,
    PubSpec,
    PubStatus,
)
from intact.model.times import timestamp_after

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVERY_OPERATION = list(Operation)


def record(
    name: str = "p0", operation: str = "DELETE", at: datetime = NOW, **more: Any
) -> LedgerRecord:
    return LedgerRecord(
        name=name, operation=operation, at=timestamp_after(at), resource_version="7", **more
    )


def budget(
    *,
    allowed: int = 1,
    desired: int = 9,
    total: int = 10,
    groups: bool = False,
    generation: int = 3,
    observed: int = 3,
    **ledger: Any,
) -> PodUnavailableBudget:
    current = desired + allowed
    return PodUnavailableBudget(
        metadata=ObjectMeta(name="web", generation=generation),
        spec=PubSpec(
            max_unavailable=total - desired,
            pod_group_policy=PodGroupPolicy(group_label_key="g") if groups else None,
        ),
        status=PubStatus(
            observed_generation=observed,
            unavailable_allowed=allowed,
            desired_available=desired,
            current_available=current,
            total_replicas=total,
            unavailable_replicas=total - current,
        ).with_ledger(Ledger(**({"reached": True} | ledger))),
    )


def pod(number: int = 0, **more: Any) -> Subject:
    known: dict[str, Any] = {
        "name": f"p{number}",
        "uid": f"uid-{number}",
        "resource_version": "8",
        "available": True,
    }
    return Subject(**(known | more))


def stored(old: PodUnavailableBudget, decision: Decision) -> PodUnavailableBudget:
    """The budget once the decision is stored, read again."""
    if decision.status is None:
        return old
    status = msgspec.convert(decision.status.stored_form(), PubStatus)
    return msgspec.structs.replace(old, status=status)


def ask(
    asked: PodUnavailableBudget, subject: Subject, operation: Operation = Operation.DELETE
) -> Decision:
    return decide(asked, subject, operation, NOW)
