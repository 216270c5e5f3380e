"""Budgets that are stored and cannot be worked on.

The CRD and `validation` refuse them, but one may be stored all the same: under an earlier CRD, or
without Intact's webhook. Such a budget holds its pods and says why; it neither vanishes nor allows
anything. If it cannot be read which pods are its own, it holds all pods of its namespace.
"""

from intact.budget.selectors import check_selector
from intact.model.amounts import MOST_REPLICAS, check_amount
from intact.model.pub import PodUnavailableBudget, PubSpec

_COVERS = ("spec", "spec.selector", "spec.targetRef")


def problem_of(budget: PodUnavailableBudget) -> str:
    """Why the budget cannot be worked on, with the field; empty if it can."""
    if budget.problems:
        return budget.problems[0]
    return _amounts(budget.spec) or _need(budget.spec) or _covered(budget.spec)


def covers_everything(budget: PodUnavailableBudget) -> bool:
    """Whether it cannot be read which pods the budget covers."""
    unread = {problem.partition(":")[0] for problem in budget.problems}
    return not unread.isdisjoint(_COVERS) or bool(_covered(budget.spec))


def _amounts(spec: PubSpec) -> str:
    amounts = {"maxUnavailable": spec.max_unavailable, "minAvailable": spec.min_available}
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    if not given:
        return "spec: neither maxUnavailable nor minAvailable is set"
    for name, amount in given.items():
        if problem := check_amount(amount):
            return f"spec.{name}: {problem}"
    return ""


def _need(spec: PubSpec) -> str:
    policy = spec.pod_group_policy
    need = policy.min_ready_replicas if policy is not None else None
    if need is None or 1 <= need <= MOST_REPLICAS:
        return ""
    return f"spec.podGroupPolicy.minReadyReplicas: {need} is not from 1 to {MOST_REPLICAS}"


def _covered(spec: PubSpec) -> str:
    if target := spec.target_ref:
        named = target.api_version and target.kind and target.name
        return "" if named else "spec.targetRef: apiVersion, kind and name must be set"
    if spec.selector is None:
        return ""
    for path, message in check_selector(spec.selector):
        return f"spec.selector.{path}: {message}"
    return ""
