"""What waits, and what it waits for: in one line for a budget, with its units that are down."""

from collections.abc import Iterable

from intact.cli.drain.units import allowed
from intact.cli.output import counted
from intact.model.listing import listed
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_terminating
from intact.picture.budgets import BudgetPicture
from intact.picture.units import UnitPicture


def waits_for(budget: BudgetPicture, said: str) -> str:
    """`said` are the last words of the server about it: they count where its numbers do not explain
    the refusal."""
    if budget.never and allowed(budget) <= 0:
        return budget.never
    if not budget.counted or allowed(budget) > 0 or budget.current > budget.desired:
        return said or budget.not_working or "the server refuses, and does not say why"
    units = f"{budget.current} of {counted(budget.total, budget.unit)}"
    return (
        f"{units} {'is' if budget.current == 1 else 'are'} available, it requires {budget.desired}"
    )


def blocks(budget: BudgetPicture, said: str) -> list[str]:
    """What stands between a budget and the pods that wait for it, at the end of a drain."""
    return [
        f"{budget.reference} in {budget.namespace}: {waits_for(budget, said)}",
        *(f"  {_down(unit)}" for unit in budget.down[:_MOST]),
        *([f"  and {len(budget.down) - _MOST} more"] if len(budget.down) > _MOST else []),
    ]


_MOST = 5


def _down(unit: UnitPicture) -> str:
    what = f"group {unit.name}" if unit.is_group else f"pod {unit.name}"
    if not unit.pods:
        return f"{what} is gone, and expected back"
    since = f" since {unit.since}" if unit.since else ""
    return f"{what} is down{since}: {_missing(unit.missing)}"


def _missing(pods: Iterable[DetailedPod]) -> str:
    found = [f"{pod.metadata.name} {_state(pod)}" for pod in pods]
    return listed(found, 3) or "it was let go, and is not seen to go yet"


def _state(pod: DetailedPod) -> str:
    if is_terminating(pod):
        return "is terminating"
    for one in pod.status.conditions:
        if one.type == "PodScheduled" and one.status == "False":
            return f"is {pod.status.phase or 'Pending'}: {one.message or one.reason}"
    return "is not ready" if pod.status.phase == "Running" else f"is {pod.status.phase}"
