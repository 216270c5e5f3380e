"""Nodes: their state as taints, which is what the rest of the cluster looks at.

As the node lifecycle controller does it. A node that is not ready also has a taint for the pods
that run on it (NoExecute): the taint eviction controller removes them.
"""

from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.resources import NODES

_PREFIX = "node.kubernetes.io"
UNSCHEDULABLE = f"{_PREFIX}/unschedulable"
_BY_CONDITION = {
    ("Ready", "False"): f"{_PREFIX}/not-ready",
    ("Ready", "Unknown"): f"{_PREFIX}/unreachable",
    ("MemoryPressure", "True"): f"{_PREFIX}/memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}/disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}/network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}/pid-pressure",
}
_LOST = frozenset(_BY_CONDITION["Ready", status] for status in ("False", "Unknown"))
_OURS = frozenset(
    {(key, "NoSchedule") for key in (UNSCHEDULABLE, *_BY_CONDITION.values())}
    | {(key, "NoExecute") for key in _LOST}
)


class NodeTaintController(Controller):
    kind = "nodes"

    async def reconcile(self, obj: Json) -> None:
        present: list[Json] = (obj.get("spec") or {}).get("taints") or []
        wanted = _wanted(obj)
        kept = [each for each in present if _pair(each) not in _OURS or _pair(each) in wanted]
        known = {_pair(each) for each in kept}
        added = [
            {"key": key, "effect": effect, "timeAdded": timestamp(self.now())}
            for key, effect in wanted
            if (key, effect) not in known
        ]
        if added or kept != present:
            meta = obj["metadata"]
            body = {
                "metadata": {"resourceVersion": meta["resourceVersion"]},
                "spec": {"taints": kept + added or None},
            }
            await self.shared.client.patch(NODES, body, meta["name"])


def _pair(taint: Json) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _wanted(node: Json) -> list[tuple[str, str]]:
    conditions = (node.get("status") or {}).get("conditions") or ()
    keys = [
        _BY_CONDITION[each["type"], each["status"]]
        for each in conditions
        if (each["type"], each["status"]) in _BY_CONDITION
    ]
    if (node.get("spec") or {}).get("unschedulable"):
        keys.append(UNSCHEDULABLE)
    return [(key, "NoSchedule") for key in keys] + [
        (key, "NoExecute") for key in keys if key in _LOST
    ]
