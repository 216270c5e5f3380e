"""What kube-apiserver does to a new pod besides defaults: the Priority and DefaultTolerationSeconds
admission plugins, and the first status."""

from intact.sandbox.api.kinds import Find
from intact.sandbox.api.objects import Json

_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ABSENT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300
_COMPUTE = ("cpu", "memory")
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def admit_pod(find: Find, pod: Json) -> None:
    """Its priority, and how long it stays on a node that is lost. A priority class that is not
    there counts as none: kube-apiserver refuses such a pod."""
    spec = pod.setdefault("spec", {})
    name = spec.get("priorityClassName")
    found = find("priorityclasses.scheduling.k8s.io", "", name) if name else None
    if found is not None:
        spec["priority"] = found["value"]
    spec.setdefault("priority", _SYSTEM.get(name or "", 0))
    policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    spec.setdefault("preemptionPolicy", policy)
    tolerations = spec.get("tolerations") or []
    for key in _ABSENT:
        if not any(_covers(each, key) for each in tolerations):
            more = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations = [*tolerations, {**more, "tolerationSeconds": _SECONDS}]
    spec["tolerations"] = tolerations


def _covers(toleration: Json, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (
        None,
        "",
        "NoExecute",
    )


def first_status(pod: Json, now: str) -> Json:
    status: Json = {"phase": "Pending", "qosClass": _quality(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        status["conditions"] = [{**gated, "message": _GATED, "lastTransitionTime": now}]
    return status


def default_requests(spec: Json) -> None:
    """A container that has a limit requests as much, if it does not say otherwise."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            container["resources"] = {
                **resources,
                "requests": {**limits, **(resources.get("requests") or {})},
            }


def _quality(spec: Json) -> str:
    """Guaranteed if every container has the same limits as requests, of cpu and memory."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    parts = [spec] if spec.get("resources") else containers
    requests = [_compute(each, "requests") for each in parts]
    limits = [_compute(each, "limits") for each in parts]
    if not any(requests) and not any(limits):
        return "BestEffort"
    guaranteed = requests == limits and all(len(each) == len(_COMPUTE) for each in limits)
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(part: Json, kind: str) -> Json:
    found = (part.get("resources") or {}).get(kind) or {}
    return {name: found[name] for name in _COMPUTE if found.get(name)}
