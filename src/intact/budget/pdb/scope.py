"""What a PodDisruptionBudget counts: pods, or groups."""

from intact.model.pdb import PodDisruptionBudget

SCOPE_LABEL = "intact.dev/budget-scope"
POD_SCOPE = "Pod"
GROUP_SCOPES = ("Workload", "PodGroup")
"""The first word of KEP-5682, and its present one."""


def scope_of(budget: PodDisruptionBudget) -> str:
    """As written: the label, or the field where the API server has it. An empty label is a value,
    and an unknown one."""
    label = budget.metadata.labels.get(SCOPE_LABEL)
    return label if label is not None else budget.spec.budget_scope or POD_SCOPE


def counts_pods(budget: PodDisruptionBudget) -> bool:
    """Whether it is a budget as Kubernetes itself knows it. One with an unknown scope is not: it
    must fail closed instead of silently counting pods."""
    return scope_of(budget) == POD_SCOPE
