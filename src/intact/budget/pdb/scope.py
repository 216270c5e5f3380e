"""What a PodDisruptionBudget counts: pods, or groups."""

from intact.model.pdb import PodDisruptionBudget

SCOPE_LABEL = "intact.dev/budget-scope"
POD_SCOPE = "Pod"
GROUP_SCOPES = ("Workload", "PodGroup")
"""The first word of KEP-5682, and its present one."""


def scope_of(budget: PodDisruptionBudget) -> str:
    """As written: the field, where the API server has it and it says more than the default; else
    the label. An empty label is a value, and an unknown one."""
    field = budget.spec.budget_scope
    if field is not None and field != POD_SCOPE:
        return field
    label = budget.metadata.labels.get(SCOPE_LABEL)
    return label if label is not None else POD_SCOPE


def asks_by_field(budget: PodDisruptionBudget) -> bool:
    """Whether the field of KEP-5682 asks for groups. Then the API server itself decides, by the
    groups that it knows."""
    return budget.spec.budget_scope in GROUP_SCOPES


def counts_pods(budget: PodDisruptionBudget) -> bool:
    """Whether it is a budget as Kubernetes itself knows it. One with an unknown scope is not: it
    must fail closed instead of silently counting pods."""
    return scope_of(budget) == POD_SCOPE
