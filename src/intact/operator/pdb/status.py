"""The body of a status write to a PodDisruptionBudget."""

from collections.abc import Mapping
from typing import Any

import msgspec

from intact.budget.pdb.annotations import COUNTERS
from intact.budget.pdb.replica_fields import replicas_of
from intact.model.pdb import PdbStatus, PodDisruptionBudget


def status_patch(
    budget: PodDisruptionBudget, status: PdbStatus, annotations: Mapping[str, str | None]
) -> dict[str, Any]:
    """A merge patch for the status subresource. The API server stores it only if the budget has not
    changed since.

    A PUT would have to repeat all labels and annotations: the API server stores those of a
    PodDisruptionBudget with its status, and so removes what is left out.
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
    """All fields but disruptedPods, with those that Kubernetes requires even where they are
    empty."""
    written = {
        "observedGeneration": status.observed_generation,
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "conditions": [_condition(one) for one in msgspec.to_builtins(status.conditions)],
    }
    replicas = zip(COUNTERS, replicas_of(status), strict=True)
    return written | {name: number for name, number in replicas if number is not None}


def _condition(condition: dict[str, Any]) -> dict[str, Any]:
    return {"reason": "", "message": ""} | condition
