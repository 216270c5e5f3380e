"""What an API server refuses in a PodDisruptionBudget, for callers without one."""

from intact.budget.selectors import check_selector
from intact.model.amounts import check_amount
from intact.model.field_error import FieldError
from intact.model.labels import is_label_key, is_label_value
from intact.model.meta import LabelSelector
from intact.model.pdb import PdbSpec, PodDisruptionBudget

_POLICIES = ("IfHealthyBudget", "AlwaysAllow")


def pdb_errors(budget: PodDisruptionBudget) -> list[FieldError]:
    spec = budget.spec
    return [*_amounts(spec), *_policy(spec), *_selector(spec.selector)]


def _amounts(spec: PdbSpec) -> list[FieldError]:
    amounts = {"maxUnavailable": spec.max_unavailable, "minAvailable": spec.min_available}
    found = [
        FieldError(f"spec.{name}", amount, problem)
        for name, amount in amounts.items()
        if amount is not None and (problem := check_amount(_plain(amount)))
    ]
    if None not in amounts.values():
        message = "minAvailable and maxUnavailable cannot be both set"
        found.append(FieldError("spec", None, message))
    return found


def _plain(amount: int | str) -> int | str:
    """Kubernetes takes a percentage with zeros in front."""
    return amount.lstrip("0").rjust(2, "0") if isinstance(amount, str) and amount else amount


def _policy(spec: PdbSpec) -> list[FieldError]:
    policy = spec.unhealthy_pod_eviction_policy
    if policy is None or policy in _POLICIES:
        return []
    message = f"{policy!r} is not one of {', '.join(_POLICIES)}"
    return [FieldError("spec.unhealthyPodEvictionPolicy", policy, message)]


def _selector(selector: LabelSelector | None) -> list[FieldError]:
    if selector is None:
        return []
    path = "spec.selector"
    found = [FieldError(f"{path}.{at}", None, message) for at, message in check_selector(selector)]
    for key, value in selector.match_labels.items():
        if not is_label_key(key):
            found.append(FieldError(f"{path}.matchLabels", key, f"{key!r} is not a label key"))
        if not is_label_value(value):
            message = f"{value!r} is not a label value"
            found.append(FieldError(f"{path}.matchLabels.{key}", value, message))
    return found
