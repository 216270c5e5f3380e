"""What the API server answers to an eviction because of PodDisruptionBudgets.

It looks at them after the admission webhooks, so the gate of a PodUnavailableBudget looks first: a
unit is not spent on an eviction that a PodDisruptionBudget refuses anyway.

| the pod | the API server |
|---|---|
| pending, terminating, finished | asks no budget |
| under several budgets | refuses (500) |
| not ready, and the budget lets such pods go | takes nothing |
| under a budget that counts groups by its field | looks at the group (KEP-5682): what it answers is not known here |
| any other | takes one of `disruptionsAllowed`; refuses if none is left or none was counted yet |
"""  # noqa: E501

from collections.abc import Sequence
from enum import StrEnum

from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import has_condition, is_gone

MOST_DISRUPTED_PODS = 2000
"""More entries of disruptedPods, and the API server refuses."""


def counts_for(pod: Pod) -> bool:
    """Whether the API server asks the budgets of this pod at all."""
    return not is_gone(pod) and pod.status.phase != "Pending"


def is_free(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Whether the budget lets the pod go because it is not ready."""
    if has_condition(pod, "Ready"):
        return False
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    return status.current_healthy >= status.desired_healthy > 0


class Refused(StrEnum):
    """Why the API server refuses."""

    SEVERAL = "Several"
    NOT_PROCESSED = "NotProcessed"
    TOO_MANY = "TooMany"
    EXHAUSTED = "Exhausted"


def refused(pod: Pod, budgets: Sequence[PodDisruptionBudget], under_way: int = 0) -> Refused | None:
    """Whether the API server would refuse the eviction. `budgets` cover the pod; `under_way` are
    evictions of other pods that the only one of them does not show yet."""
    if not budgets or not counts_for(pod):
        return None
    if len(budgets) > 1:
        return Refused.SEVERAL
    [budget] = budgets
    if is_free(pod, budget):
        return None
    status = budget.status
    if status.observed_generation < budget.metadata.generation:
        return Refused.NOT_PROCESSED
    if len(status.disrupted_pods) > MOST_DISRUPTED_PODS:
        return Refused.TOO_MANY
    if status.disruptions_allowed <= under_way and not budget.server_decides:
        return Refused.EXHAUSTED
    return None


def refusal(pod: Pod, budgets: Sequence[PodDisruptionBudget], under_way: int = 0) -> str:
    """The same in words; empty if the API server would not refuse."""
    why = refused(pod, budgets, under_way)
    if why is None:
        return ""
    whose = f"Pod {pod.metadata.name} cannot be evicted now:"
    if why is Refused.SEVERAL:
        names = " and ".join(sorted(budget.metadata.name for budget in budgets))
        return (
            f"{whose} the PodDisruptionBudgets {names} cover it, and the API server evicts no pod "
            "that has several."
        )
    [budget] = budgets
    status, name = budget.status, f"the PodDisruptionBudget {budget.metadata.name}"
    match why:
        case Refused.NOT_PROCESSED:
            return f"{whose} {name} is still being processed."
        case Refused.TOO_MANY:
            return f"{whose} {name} waits for {len(status.disrupted_pods)} pods to go."
        case Refused.EXHAUSTED:
            return (
                f"{whose} {name} needs {status.desired_healthy} healthy pods and has "
                f"{status.current_healthy}."
            )
