"""The conditions of a PodUnavailableBudget."""

from intact.model.listing import listed
from intact.model.meta import Condition

WORKING = "Working"
GROUP_LABELS_MISSING = "GroupLabelsMissing"
MIN_READY_UNREACHABLE = "MinReadyReplicasUnreachable"
TOTAL_UNKNOWN = "TotalUnknown"


OURS = frozenset({WORKING, GROUP_LABELS_MISSING, MIN_READY_UNREACHABLE, TOTAL_UNKNOWN})


def working(gated: bool, problem: str) -> Condition:
    if problem:
        return Condition(type=WORKING, status="False", reason="TotalUnknown", message=problem)
    if not gated:
        message = "the API server does not ask Intact about the pods of this namespace yet"
        return Condition(type=WORKING, status="False", reason="NotGated", message=message)
    message = "the API server asks Intact before a pod of this namespace goes"
    return Condition(type=WORKING, status="True", reason="Gated", message=message)


def group_labels_missing(names: list[str], key: str) -> Condition:
    message = f"each pod without the label {key} counts as a unit of its own: {listed(names)}"
    return Condition(
        type=GROUP_LABELS_MISSING, status="True", reason="PodsWithoutLabel", message=message
    )


def min_ready_unreachable(need: int, largest: int) -> Condition:
    message = (
        f"minReadyReplicas is {need}, but no group has more than {largest} pods: "
        "no group can be available"
    )
    return Condition(
        type=MIN_READY_UNREACHABLE, status="True", reason="GroupsTooSmall", message=message
    )


def total_unknown(problem: str) -> Condition:
    return Condition(type=TOTAL_UNKNOWN, status="True", reason="ScaleNotAvailable", message=problem)
