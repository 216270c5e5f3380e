"""Nodes: what a kubelet says of its own, and new ones for the sandbox."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.kubelet.annotations import MANAGED_NODE

PLENTY = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
"""What a node has that does not say it."""
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def new_node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
) -> Json:
    """A node with a kubelet. What it has is `PLENTY`, but for what `allocatable` says."""
    key, value = MANAGED_NODE
    has = {**PLENTY, **(allocatable or {})}
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **(labels or {}),
            },
            "annotations": {key: value},
        },
        "spec": {},
        "status": {"allocatable": has, "capacity": dict(has)},
    }
    if taints:
        node["spec"]["taints"] = list(taints)
    return node


def is_managed(node: Json) -> bool:
    key, value = MANAGED_NODE
    return bool((node["metadata"].get("annotations") or {}).get(key) == value)


def ready_status(node: Json, address: str, now: datetime) -> Json:
    """The status of a node whose kubelet works."""
    status = dict(node.get("status") or {})
    moment = timestamp(now)
    known = {each["type"]: each for each in status.get("conditions") or ()}
    wanted = [
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        *((kind, "False", reason, message) for kind, reason, message in _PRESSURES),
    ]
    for kind, value, reason, message in wanted:
        old = known.get(kind) or {}
        since = old.get("lastTransitionTime") if old.get("status") == value else None
        known[kind] = {
            "type": kind,
            "status": value,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": moment,
            "lastTransitionTime": since or moment,
        }
    status["conditions"] = list(known.values())
    status.setdefault(
        "addresses",
        [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ],
    )
    for name in ("allocatable", "capacity"):
        status.setdefault(name, dict(PLENTY))
    return status
