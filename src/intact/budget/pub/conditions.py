"""The conditions of a PodUnavailableBudget."""

from collections.abc import Iterable
from dataclasses import dataclass

from intact.budget.enforcement import Enforcement
from intact.model.listing import listed
from intact.model.meta import Condition
from intact.model.pub import PodUnavailableBudget, TargetReference

WORKING = "Working"
UNREADABLE = "Unreadable"
"""A reason of Working, and of an event."""
GROUP_LABELS_MISSING = "GroupLabelsMissing"
MIN_READY_UNREACHABLE = "MinReadyReplicasUnreachable"
TOTAL_UNKNOWN = "TotalUnknown"
OVERLAPPING = "Overlapping"
NEVER_ALLOWS = "NeverAllows"
KEYS_WITHOUT_EFFECT = "KeysWithoutEffect"

UNINSTALLED = "Uninstalled"
"""The reason of `Working` after `intact uninstall`."""

OURS = frozenset(
    {
        WORKING,
        GROUP_LABELS_MISSING,
        MIN_READY_UNREACHABLE,
        TOTAL_UNKNOWN,
        OVERLAPPING,
        NEVER_ALLOWS,
        KEYS_WITHOUT_EFFECT,
    }
)


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a budget has no pods."""

    reason: str
    message: str
    status: str = "False"
    """Unknown where nothing need be wrong: only pods will show whether the budget is as meant."""


def no_pods(covered: str) -> Absence:
    message = f"there are no pods of {covered}: the budget holds nothing yet"
    return Absence("NoPods", message, "Unknown")


def kind_not_served(target: TargetReference) -> Absence:
    message = (
        f"the API server serves no {target.kind} in {target.api_version}, which targetRef names: "
        "the budget holds nothing"
    )
    return Absence("KindNotServed", message)


def kind_not_readable(target: TargetReference, error: str) -> Absence:
    message = f"Intact cannot read {target.kind} in {target.api_version}: {error}"
    return Absence("KindNotReadable", message)


def workload_not_found(target: TargetReference) -> Absence:
    message = f"there is no {target.kind} {target.name}, which targetRef names"
    return Absence("WorkloadNotFound", f"{message}: the budget holds nothing")


def working(
    gated: bool,
    problem: str,
    absence: Absence | None = None,
    *,
    one_by_one: bool = False,
    enforcement: Enforcement = Enforcement.ENFORCE,
) -> Condition:
    """`absence` is None if the budget has pods."""
    if problem:
        return Condition(type=WORKING, status="False", reason="TotalUnknown", message=problem)
    if absence is not None and (gated or absence.status == "False"):
        return Condition(
            type=WORKING, status=absence.status, reason=absence.reason, message=absence.message
        )
    if not gated:
        message = "the API server does not ask Intact about the pods of this namespace yet"
        return Condition(type=WORKING, status="False", reason="NotGated", message=message)
    message = "the API server asks Intact before a pod of this namespace goes"
    if one_by_one:
        message += "; pods are held one by one until a group has the pods that it needs"
    if enforcement is not Enforcement.ENFORCE:
        message += f"; by its enforcement {enforcement}, the budget tells of denials and holds none"
    return Condition(type=WORKING, status="True", reason="Gated", message=message)


def is_working(budget: PodUnavailableBudget) -> bool | None:
    """Whether the last recount found that the budget holds its pods as it says; False while its
    present spec has not been counted, None while it has no pods to hold."""
    if budget.status.observed_generation < budget.metadata.generation:
        return False
    found = _status_of(budget, WORKING)
    return None if found == "Unknown" else found == "True"


def told_never_allows(budget: PodUnavailableBudget) -> bool:
    """Whether the last recount found that no unit can ever go."""
    return _status_of(budget, NEVER_ALLOWS) == "True"


def _status_of(budget: PodUnavailableBudget, kind: str) -> str:
    return next((one.status for one in budget.status.conditions if one.type == kind), "")


NOT_SELECTED = "NotSelected"
"""The reason of `Working` in a namespace that Intact's operator leaves out."""
HOLDS_NOTHING_HERE = (
    "the labels of this namespace are not those of the namespaces in which Intact holds budgets "
    "(its --namespace-selector): the budget holds nothing"
)
EXEMPT = ("kube-system",)
"""Namespaces in which no budget holds pods: a cluster must come up without Intact."""


def holds_nothing_in(namespace: str) -> str:
    """Of a namespace that is not among those in which Intact holds budgets."""
    if namespace in EXEMPT:
        return f"Intact holds no pods of {namespace}: the budget counts them and holds nothing"
    return HOLDS_NOTHING_HERE


def not_selected(namespace: str) -> Condition:
    message = holds_nothing_in(namespace)
    return Condition(type=WORKING, status="False", reason=NOT_SELECTED, message=message)


def unreadable(problem: str) -> Condition:
    """Of a budget that cannot be worked on."""
    message = f"the budget holds its pods and allows nothing, because it cannot be read: {problem}"
    return Condition(type=WORKING, status="False", reason=UNREADABLE, message=message)


def group_labels_missing(names: list[str], key: str) -> Condition:
    message = f"each pod without the label {key} counts as a unit of its own: {listed(names)}"
    return Condition(
        type=GROUP_LABELS_MISSING, status="True", reason="PodsWithoutLabel", message=message
    )


def unreachable(need: int, largest: int) -> str:
    """Why a budget in groups holds pods."""
    return (
        f"minReadyReplicas is {need}, but no group has more than {largest} pods: no group can be "
        "available, so the budget holds its pods one by one"
    )


def min_ready_unreachable(need: int, largest: int) -> Condition:
    return Condition(
        type=MIN_READY_UNREACHABLE,
        status="True",
        reason="GroupsTooSmall",
        message=unreachable(need, largest),
    )


def some_groups_too_small(need: int, names: list[str]) -> Condition:
    message = (
        f"minReadyReplicas is {need}, and these groups have fewer pods, so that they are never "
        f"available and their pods are free to go: {listed(names)}"
    )
    return Condition(
        type=MIN_READY_UNREACHABLE, status="True", reason="SomeGroupsTooSmall", message=message
    )


def total_unknown(problem: str) -> Condition:
    return Condition(type=TOTAL_UNKNOWN, status="True", reason="ScaleNotAvailable", message=problem)


def never_allows(why: str) -> Condition:
    return Condition(type=NEVER_ALLOWS, status="True", reason="AllMustStay", message=why)


def keys_without_effect(problems: list[str]) -> Condition:
    return Condition(
        type=KEYS_WITHOUT_EFFECT,
        status="True",
        reason="UnknownKeys",
        message="; ".join(problems[:_MOST_KEYS]),
    )


_MOST_KEYS = 20
"""The message of a condition is limited."""


def overlapping(names: Iterable[str]) -> Condition:
    message = (
        f"these budgets cover the same pods: {listed(sorted(names))}; each of them must allow a "
        "disruption. Keep one of them"
    )
    return Condition(type=OVERLAPPING, status="True", reason="SamePods", message=message)
