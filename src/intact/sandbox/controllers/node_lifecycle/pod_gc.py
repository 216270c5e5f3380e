"""Pods whose node is not there any more: after a while they are Failed, and removed by force.

As the pod garbage collector of kube-controller-manager does it.
"""

from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished
from intact.sandbox.controllers.node_lifecycle.leaving import LeavingPods

QUARANTINE = 40.0
"""Seconds that a node has to come back."""


class PodGarbageController(LeavingPods):
    user = "system:serviceaccount:kube-system:pod-garbage-collector"
    reason = "DeletionByPodGC"
    message = "PodGC: node no longer exists"

    def may_stay(self, pod: Json) -> float | None:
        node = pod["spec"].get("nodeName")
        is_orphan = node and self.shared.api.peek("nodes", "", node) is None
        return QUARANTINE if is_orphan else None

    def concerns_pods(self, old: Json | None, new: Json | None) -> bool:
        return old is not None and new is None

    async def remove(self, pod: Json) -> None:
        if not is_finished(pod):
            await self.mark(pod, phase="Failed")
        await self.delete(pod, grace_period_seconds=0)
