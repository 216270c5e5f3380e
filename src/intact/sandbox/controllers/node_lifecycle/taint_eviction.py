"""Pods leave a node with a NoExecute taint: at once, or when they no longer tolerate it.

As the taint eviction controller does it.
"""

from collections.abc import Sequence

from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_terminating
from intact.sandbox.controllers.node_lifecycle.leaving import LeavingPods
from intact.sandbox.scheduler.taints import tolerates

_EFFECT = "NoExecute"


def stays(taints: Sequence[Json], tolerations: Sequence[Json]) -> float | None:
    """Seconds for which a pod tolerates all the taints; None: for ever."""
    used: list[Json] = []
    for taint in taints:
        found = [each for each in tolerations if tolerates(each, taint)]
        if not found:
            return 0.0
        used += found
    limits = [each["tolerationSeconds"] for each in used if "tolerationSeconds" in each]
    return float(max(min(limits), 0)) if limits else None


class TaintEvictionController(LeavingPods):
    user = "system:serviceaccount:kube-system:taint-eviction-controller"
    reason = "DeletionByTaintManager"
    message = "Taint manager: deleting due to NoExecute taint"

    def may_stay(self, pod: Json) -> float | None:
        spec = pod["spec"]
        node = spec.get("nodeName")
        taints = _executing(self.shared.api.peek("nodes", "", node)) if node else []
        if not taints or is_terminating(pod):
            return None
        return stays(taints, spec.get("tolerations") or ())

    def concerns_pods(self, old: Json | None, new: Json | None) -> bool:
        return new is not None and _executing(old) != _executing(new)

    async def remove(self, pod: Json) -> None:
        await self.mark(pod)
        await self.delete(pod)


def _executing(node: Json | None) -> list[Json]:
    taints = (node.get("spec") or {}).get("taints") if node is not None else None
    return [
        {"key": each["key"], "value": each.get("value", ""), "effect": _EFFECT}
        for each in taints or ()
        if each["effect"] == _EFFECT
    ]
