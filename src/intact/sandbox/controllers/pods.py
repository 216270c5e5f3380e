"""What controllers read off a pod, and the pods that they make from templates."""

from datetime import datetime, timedelta

from intact.model.times import parse_time
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.pod_state import condition, is_finished, is_terminating


def is_active(pod: Json) -> bool:
    """It counts towards the replicas of its owner."""
    return not is_finished(pod) and not is_terminating(pod)


def ready_since(pod: Json) -> str | None:
    """The time at which the pod became ready ("" if it does not say); None if it is not."""
    found = condition(pod, "Ready")
    if found is None or found["status"] != "True":
        return None
    return str(found.get("lastTransitionTime") or "")


def until_available(pod: Json, min_ready: int, now: datetime) -> float | None:
    """Seconds until the pod has been ready for `min_ready` seconds; None if it is not ready."""
    since = ready_since(pod)
    if since is None:
        return None
    if not min_ready:
        return 0.0
    if not since:
        return float(min_ready)
    due = parse_time(since) + timedelta(seconds=min_ready)
    return max(0.0, (due - now).total_seconds())


def is_available(pod: Json, min_ready: int, now: datetime) -> bool:
    return until_available(pod, min_ready, now) == 0.0


def next_availability(pods: list[Json], min_ready: int, now: datetime) -> float | None:
    """Seconds until the next of the ready pods is available; None if there is none to wait for."""
    waits = [until_available(pod, min_ready, now) for pod in pods] if min_ready else []
    return min((wait for wait in waits if wait), default=None)


def owner_reference(owner: Json) -> Json:
    """As the controller of an object writes it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of(template: Json, owner: Json) -> Json:
    """A new pod of the owner, which the caller may change."""
    given = copied(template)
    meta = {
        name: value
        for name, value in (given.get("metadata") or {}).items()
        if name in ("labels", "annotations", "finalizers")
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner['metadata']['name']}-",
            **meta,
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": given.get("spec") or {},
    }
