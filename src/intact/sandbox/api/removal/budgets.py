"""What a PodDisruptionBudget answers to an eviction. Budget objects in, budget objects out."""

from intact.sandbox.api.failures import Failure, forbidden, too_many_requests
from intact.sandbox.api.objects import Json
from intact.sandbox.api.selectors import label_selector

_CANNOT = "Cannot evict pod as it would violate the pod's disruption budget."
_MOST_DISRUPTED_PODS = 2000


def selects(budget: Json, labels: dict[str, str]) -> bool:
    try:
        return label_selector(budget.get("spec", {}).get("selector"))(labels)
    except ValueError:
        return False


def _is_ready(pod: Json) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in pod.get("status", {}).get("conditions") or ()
    )


def is_free(pod: Json, budget: Json) -> bool:
    """A pod that does not serve costs nothing, if the budget's policy says so."""
    if _is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def still_processed(name: str) -> Failure:
    message = f"The disruption budget {name} is still being processed by the server."
    return too_many_requests(
        _CANNOT, [{"reason": "DisruptionBudget", "message": message}], retry_after=10
    )


def decremented(budget: Json, pod: str, now: str) -> Json:
    """The budget with one disruption taken. Raises the evictor's answer if there is none."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        raise still_processed(name)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise forbidden("policy", "poddisruptionbudget", name, why)
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("policy", "poddisruptionbudget", name, why)
    if allowed == 0:
        cause = {"reason": "DisruptionBudget", "message": _why_not(name, status)}
        raise too_many_requests(_CANNOT, [cause])
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        _say_insufficient(status, now)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    return budget


def _why_not(name: str, status: Json) -> str:
    condition = _condition(status) or {}
    message = condition.get("message") if condition.get("status") == "False" else ""
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    base = f"The disruption budget {name}"
    if message and condition.get("reason") == "SyncFailed":
        return f"{base} does not allow evicting pods currently because it failed sync: {message}"
    if healthy <= desired:
        return f"{base} needs {desired} healthy pods and has {healthy} currently"
    if message:
        reason = condition.get("reason")
        return f"{base} does not allow evicting pods currently ({reason}): {message}"
    return f"{base} does not allow evicting pods currently"


def _condition(status: Json) -> Json | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionAllowed":
            found: Json = condition
            return found
    return None


def _say_insufficient(status: Json, now: str) -> None:
    condition = _condition(status)
    if condition is None:
        condition = {"type": "DisruptionAllowed"}
        status.setdefault("conditions", []).append(condition)
    if condition.get("status") != "False":
        condition["lastTransitionTime"] = now
    condition |= {
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": status.get("observedGeneration", 0),
    }
