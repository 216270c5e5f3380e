"""The two kinds of budget over all shards: how the demo creates and reads them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from demo.view import BudgetView
from intact.budget.pdb.group_settings import REPLICAS
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub.conditions import WORKING
from intact.kube.resources import PDBS, PUBS, Resource
from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget
from intact.sandbox.scene import budgets
from intact.sandbox.scene.shards import PODS_EACH

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


PUB = BudgetKind("drain", "llm-pub", PUBS, "pub", budgets.PUB, _figures_of_pub)

NATIVE = BudgetKind(
    "pdb",
    "llm-pdb",
    PDBS,
    "pdb",
    budgets.PDB,
    _figures_of_pdb,
    # The best that can be said in pods: as many may go as one shard has.
    {"metadata": {"labels": {SCOPE_LABEL: None}}, "spec": {"maxUnavailable": PODS_EACH}},
    _allows_alone,
)
