"""The kinds of a server that has KEP-5682, with its feature gate MultiPodPDBs on.

PodDisruptionBudgets have the fields that a stock server drops. Workloads may have the shape of the
KEP, which is that of Kubernetes 1.35 and a number of replicas, or that of 1.36.
"""

from dataclasses import replace

from intact.sandbox.api.builtin import POD_DISRUPTION_BUDGETS
from intact.sandbox.api.failures import FieldError, unsupported_value
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, encode, lookup
from intact.sandbox.api.pod_groups import POD_GROUPS, WORKLOADS, policy_errors

_SCOPES = ("Pod", "PodGroup", "Workload")


def _budget_errors(budget: Json) -> list[FieldError]:
    scope = lookup(budget, "spec.budgetScope")
    if scope is None or scope in _SCOPES:
        return []
    return [unsupported_value("spec.budgetScope", encode(scope).decode(), _SCOPES)]


def _workload_errors(workload: Json) -> list[FieldError]:
    groups = lookup(workload, "spec.podGroups")
    if not groups:
        assert WORKLOADS.errors is not None
        return WORKLOADS.errors(workload)
    return [
        error
        for index, group in enumerate(groups)
        for error in policy_errors(group.get("policy") or {}, f"spec.podGroups[{index}].policy")
    ]


def _zeros() -> Json:
    fields = [path.removeprefix("status.") for path in POD_DISRUPTION_BUDGETS.unknown]
    return dict.fromkeys((field for field in fields if "." not in field), 0)


WITH_BUDGET_SCOPE: tuple[Kind, ...] = (
    replace(
        POD_DISRUPTION_BUDGETS,
        zero_status={**POD_DISRUPTION_BUDGETS.zero_status, **_zeros()},
        unknown=(),
        errors=_budget_errors,
    ),
    replace(WORKLOADS, more_versions=("v1alpha1",), errors=_workload_errors),
    POD_GROUPS,
)
"""Besides the default kinds, or in their place."""
