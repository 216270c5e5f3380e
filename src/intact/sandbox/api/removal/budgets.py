"""What a PodDisruptionBudget answers to an eviction. Budget objects in, budget objects out."""

from intact.sandbox.api.failures import Failure, forbidden, too_many_requests
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.api.selectors import label_selector

CANNOT = "Cannot evict pod as it would violate the pod's disruption budget."
_MOST_DISRUPTED_PODS = 2000


def selects(budget: Json, labels: dict[str, str]) -> bool:
    try:
        return label_selector(budget.get("spec", {}).get("selector"))(labels)
    except ValueError:
        return False


def is_free(pod: Json, budget: Json) -> bool:
    """A pod that does not serve costs nothing, if the budget's policy says so."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def still_processed(name: str) -> Failure:
    message = f"The disruption budget {name} is still being processed by the server."
    return too_many_requests(
        CANNOT, [{"reason": "DisruptionBudget", "message": message}], retry_after=10
    )


def decremented(budget: Json, pod: str, now: str) -> Json:
    """The budget with one disruption taken. Raises the evictor's answer if there is none."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    check_counted(budget)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed == 0:
        raise refused(_why_not(name, status))
    take_one(status, now, "InsufficientPods")
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    return budget


def check_counted(budget: Json) -> None:
    """Raises if the numbers of the budget are not those of its specification, or cannot be."""
    name, status = budget["metadata"]["name"], budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        raise still_processed(name)
    if status.get("disruptionsAllowed", 0) < 0:
        why = "pdb disruptions allowed is negative"
        raise forbidden("policy", "poddisruptionbudget", name, why)
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("policy", "poddisruptionbudget", name, why)


def refused(message: str) -> Failure:
    return too_many_requests(CANNOT, [{"reason": "DisruptionBudget", "message": message}])


def take_one(status: Json, now: str, reason: str) -> None:
    """One disruption less; `reason` is why there is none, if it was the last."""
    left = status["disruptionsAllowed"] - 1
    status["disruptionsAllowed"] = left
    if "disruptionsAllowedReplicas" in status:
        status["disruptionsAllowedReplicas"] = left
    if not left:
        _say_insufficient(status, now, reason)


def _why_not(name: str, status: Json) -> str:
    condition = condition_of(status) or {}
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


def condition_of(status: Json) -> Json | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionAllowed":
            found: Json = condition
            return found
    return None


def _say_insufficient(status: Json, now: str, reason: str) -> None:
    condition = condition_of(status)
    if condition is None:
        condition = {"type": "DisruptionAllowed"}
        status.setdefault("conditions", []).append(condition)
    if condition.get("status") != "False":
        condition["lastTransitionTime"] = now
    condition |= {
        "status": "False",
        "reason": reason,
        "message": "",
        "observedGeneration": status.get("observedGeneration", 0),
    }
