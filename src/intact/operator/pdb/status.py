"""Writing the status of a PodDisruptionBudget."""

from typing import Any

import msgspec

from intact.model.pdb import PdbStatus, PodDisruptionBudget


def status_patch(
    budget: PodDisruptionBudget, status: PdbStatus, annotations: dict[str, str | None]
) -> dict[str, Any]:
    """A merge patch for the status subresource, which counts only if the budget has not changed.

    A PUT would have to repeat all labels and annotations: of a PodDisruptionBudget the server
    stores those with the status, and so takes away what is left out.
    """
    written = status_fields(status)
    if status.disrupted_pods != budget.status.disrupted_pods:
        gone = dict.fromkeys(budget.status.disrupted_pods)
        written["disruptedPods"] = gone | status.disrupted_pods
    metadata: dict[str, Any] = {"resourceVersion": budget.metadata.resource_version}
    changed = {
        key: text
        for key, text in annotations.items()
        if budget.metadata.annotations.get(key) != text
    }
    if changed:
        metadata["annotations"] = changed
    return {"metadata": metadata, "status": written}


def status_fields(status: PdbStatus) -> dict[str, Any]:
    """All but disruptedPods, with what Kubernetes requires also where it is empty."""
    return {
        "observedGeneration": status.observed_generation,
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "conditions": [_condition(one) for one in msgspec.to_builtins(status.conditions)],
    }


def replicas_text(*, allowed: int, healthy: int, desired: int, expected: int) -> str:
    """The counters of KEP-5682, in the unit of the budget."""
    counters = {
        "disruptionsAllowedReplicas": allowed,
        "currentHealthyReplicas": healthy,
        "desiredHealthyReplicas": desired,
        "expectedReplicas": expected,
    }
    return msgspec.json.encode(counters).decode()


def _condition(condition: dict[str, Any]) -> dict[str, Any]:
    return {"reason": "", "message": ""} | condition
