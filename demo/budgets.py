"""The budget over all shards, of which at most one may be down: as a PodUnavailableBudget, or as a
native PodDisruptionBudget with one label."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from demo.shards import GROUP_KEY, LABELS, PODS_EACH
from demo.view import BudgetView
from intact.budget.pdb.group_settings import GROUP_LABEL_KEY, MIN_READY_REPLICAS, REPLICAS
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub.conditions import WORKING
from intact.kube.resources import PDBS, PUBS, Resource
from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget

NAME = "llm"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BudgetKind:
    """A kind of budget, and how the demo creates and reads it."""

    scenario: str
    namespace: str
    resource: Resource[Any]
    short: str
    """Its short name for kubectl."""
    body: Json
    figures: Callable[[Any], BudgetView | None]
    """None while Intact does not enforce it."""
    alone: Json | None = None
    """A patch for when Intact is gone: the budget then counts pods, not groups. None if the budget
    is nothing without Intact."""
    allows_alone: Callable[[Any], int] = lambda _budget: 0
    """How many pods it lets go once Kubernetes itself has counted it."""


def _figures_of_pub(budget: PodUnavailableBudget) -> BudgetView | None:
    status = budget.status
    if not any(each.type == WORKING and each.status == "True" for each in status.conditions):
        return None
    return BudgetView(
        allowed=status.unavailable_allowed,
        current=status.current_available,
        desired=status.desired_available,
        total=status.total_replicas,
    )


def _figures_of_pdb(budget: PodDisruptionBudget) -> BudgetView | None:
    text = budget.metadata.annotations.get(REPLICAS)
    if text is None:
        return None
    counters = json.loads(text)
    return BudgetView(
        allowed=counters["disruptionsAllowedReplicas"],
        current=counters["currentHealthyReplicas"],
        desired=counters["desiredHealthyReplicas"],
        total=counters["expectedReplicas"],
    )


def _allows_alone(budget: PodDisruptionBudget) -> int:
    counted = budget.status.observed_generation == budget.metadata.generation
    return budget.status.disruptions_allowed if counted else 0


PUB = BudgetKind(
    "drain",
    "llm-pub",
    PUBS,
    "pub",
    {
        "apiVersion": PUBS.api_version,
        "kind": PUBS.kind,
        "metadata": {"name": NAME},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "maxUnavailable": 1,
            "podGroupPolicy": {"groupLabelKey": GROUP_KEY, "minReadyReplicas": PODS_EACH},
        },
    },
    _figures_of_pub,
)

NATIVE = BudgetKind(
    "pdb",
    "llm-pdb",
    PDBS,
    "pdb",
    {
        "apiVersion": PDBS.api_version,
        "kind": PDBS.kind,
        "metadata": {
            "name": NAME,
            "labels": {SCOPE_LABEL: "Workload"},
            "annotations": {GROUP_LABEL_KEY: GROUP_KEY, MIN_READY_REPLICAS: str(PODS_EACH)},
        },
        "spec": {"selector": {"matchLabels": LABELS}, "maxUnavailable": 1},
    },
    _figures_of_pdb,
    # The best that can be said in pods: as many may go as one shard has.
    {"metadata": {"labels": {SCOPE_LABEL: None}}, "spec": {"maxUnavailable": PODS_EACH}},
    _allows_alone,
)
