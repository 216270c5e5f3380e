"""What a pod requests of its node.

| of | counts |
|---|---|
| containers and sidecars | their sum |
| an init container | itself and the sidecars before it, if that is more than the sum |
| the pod (`spec.resources`) | instead of the above, for cpu, memory and huge pages |
| `spec.overhead` | on top |
| a resize in place | the largest of what is wanted, allocated and in use |
"""

from collections.abc import Mapping

from intact.sandbox.api.objects import Json
from intact.sandbox.scheduler.quantities import amount

Resources = dict[str, int]
"""By name; cpu in thousandths."""

LEAST = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""What kube-scheduler counts, for scores alone, of a container that requests nothing."""


def amounts(quantities: Mapping[str, object] | None) -> Resources:
    return {name: amount(name, each) for name, each in (quantities or {}).items()}


def pod_requests(pod: Json, least: Mapping[str, int] | None = None) -> Resources:
    """With `least`, a container without a request counts with that much."""
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = {
        each["name"]: each
        for name in ("containerStatuses", "initContainerStatuses")
        for each in status.get(name) or ()
        if "resources" in each
    }
    infeasible = _is_infeasible(status)
    total: Resources = {}
    for container in spec.get("containers") or ():
        _add(total, _of_container(container, statuses, least, infeasible=infeasible))
    sidecars: Resources = {}
    highest: Resources = {}
    for container in spec.get("initContainers") or ():
        is_sidecar = container.get("restartPolicy") == "Always"
        known = statuses if is_sidecar else {}
        own = _of_container(container, known, least, infeasible=infeasible)
        if is_sidecar:
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            _add(own, sidecars)
        _raise_to(highest, own)
    _raise_to(total, highest)
    for name, quantity in ((spec.get("resources") or {}).get("requests") or {}).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = amount(name, quantity)
    _add(total, amounts(spec.get("overhead")))
    return total


def _of_container(
    container: Json, statuses: Json, least: Mapping[str, int] | None, *, infeasible: bool
) -> Resources:
    wanted = amounts((container.get("resources") or {}).get("requests"))
    status = statuses.get(container["name"])
    if status is not None:
        held = amounts((status["resources"] or {}).get("requests"))
        _raise_to(held, amounts(status.get("allocatedResources")))
        if infeasible:
            wanted = held
        else:
            _raise_to(wanted, held)
    for name, number in (least or {}).items():
        wanted.setdefault(name, number)
    return wanted


def _is_infeasible(status: Json) -> bool:
    return any(
        each["type"] == "PodResizePending" and each.get("reason") == "Infeasible"
        for each in status.get("conditions") or ()
    )


def _add(total: Resources, more: Mapping[str, int]) -> None:
    for name, number in more.items():
        total[name] = total.get(name, 0) + number


def _raise_to(total: Resources, least: Mapping[str, int]) -> None:
    for name, number in least.items():
        if number > total.get(name, 0):
            total[name] = number
