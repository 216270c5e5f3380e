"""The conditions of a PodUnavailableBudget."""

from collections.abc import Collection
from datetime import datetime

from intact.budget.pub.decision import timestamp
from intact.model.meta import Condition

WORKING = "Working"
GROUP_LABELS_MISSING = "GroupLabelsMissing"
MIN_READY_UNREACHABLE = "MinReadyReplicasUnreachable"
TOTAL_UNKNOWN = "TotalUnknown"


OURS = frozenset({WORKING, GROUP_LABELS_MISSING, MIN_READY_UNREACHABLE, TOTAL_UNKNOWN})


def merge(
    old: list[Condition],
    wanted: list[Condition],
    generation: int,
    now: datetime,
    ours: Collection[str] = OURS,
) -> list[Condition]:
    """The next conditions. A transition time moves only with the status; of ours, those that are
    no longer wanted go; others' stay."""
    known = {condition.type: condition for condition in old}
    merged = [condition for condition in old if condition.type not in ours]
    for condition in wanted:
        before = known.get(condition.type)
        moved = before is None or before.status != condition.status
        since = timestamp(now) if before is None or moved else before.last_transition_time
        merged.append(
            Condition(
                type=condition.type,
                status=condition.status,
                reason=condition.reason,
                message=condition.message,
                last_transition_time=since,
                observed_generation=generation,
            )
        )
    return merged


def working(gated: bool, problem: str) -> Condition:
    if problem:
        return Condition(type=WORKING, status="False", reason="TotalUnknown", message=problem)
    if not gated:
        message = "the API server does not ask the gate about this namespace yet"
        return Condition(type=WORKING, status="False", reason="NotGated", message=message)
    return Condition(type=WORKING, status="True", reason="Gated", message="pods are held")


def group_labels_missing(names: list[str], key: str) -> Condition:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    message = f"pods without the label {key} are protected one by one: {shown}"
    return Condition(
        type=GROUP_LABELS_MISSING, status="True", reason="PodsWithoutLabel", message=message
    )


def min_ready_unreachable(need: int, largest: int) -> Condition:
    message = f"minReadyReplicas is {need}, and no group has more than {largest} pods"
    return Condition(
        type=MIN_READY_UNREACHABLE, status="True", reason="GroupsTooSmall", message=message
    )


def total_unknown(problem: str) -> Condition:
    return Condition(type=TOTAL_UNKNOWN, status="True", reason="ScaleNotAvailable", message=problem)
