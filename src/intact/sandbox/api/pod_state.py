"""What can be read off a pod as the server keeps it; its conditions as off any other object."""

from intact.sandbox.api.objects import Json


def phase(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def is_finished(pod: Json) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_terminating(obj: Json) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def condition(obj: Json, kind: str) -> Json | None:
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Json = each
            return found
    return None


def is_true(obj: Json, kind: str) -> bool:
    """Whether the object has the condition, and it is true."""
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def is_ready(obj: Json) -> bool:
    return is_true(obj, "Ready")


def is_unschedulable(pod: Json) -> bool:
    """Whether the scheduler has found no node for it."""
    found = condition(pod, "PodScheduled")
    return not pod["spec"].get("nodeName") and found is not None and found["status"] == "False"
