"""What a PodDisruptionBudget counts: pods, or groups."""

from intact.model.pdb import PodDisruptionBudget

SCOPE_LABEL = "intact.dev/budget-scope"
POD_SCOPE = "Pod"
GROUP_SCOPES = ("Workload", "PodGroup")
"""KEP-5682's word, and its word of today."""


def scope_of(budget: PodDisruptionBudget) -> str:
    """As written: the label, or, where a server knows it, the field. An empty label is a value, and
    not one of those that are known."""
    label = budget.metadata.labels.get(SCOPE_LABEL)
    return label if label is not None else budget.spec.budget_scope or POD_SCOPE


def counts_pods(budget: PodDisruptionBudget) -> bool:
    """Whether it is a budget as Kubernetes knows it. A scope that is not known is not: it must
    fail closed, and not silently count pods."""
    return scope_of(budget) == POD_SCOPE
