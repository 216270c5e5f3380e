"""Nodes whose kubelet has fallen silent: their state is unknown, and their pods are not ready.

As the node lifecycle controller does it. There are no leases here: the monitor asks whether a
kubelet has stopped, and gives it as long to come back as a lease would.
"""

from collections.abc import Callable
from contextlib import suppress

from intact.kube.client import PatchType
from intact.kube.errors import NotFound
from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import condition, is_ready
from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.resources import NODES, PODS
from intact.sandbox.kubelet.kubelets import Kubelets

GRACE = 50.0
"""Seconds of silence after which a node is lost: --node-monitor-grace-period."""
_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeMonitor(Controller):
    kind = "nodes"

    def __init__(self, shared: Shared, kubelets: Kubelets) -> None:
        super().__init__(shared)
        self._kubelets = kubelets

    def follow(self) -> list[Callable[[], None]]:
        return [self._kubelets.on_stop(self._stopped)]

    def _stopped(self, node: str) -> None:
        self.queue.add_after(("", node), GRACE)

    async def reconcile(self, obj: Json) -> None:
        name = obj["metadata"]["name"]
        silent = self._kubelets.silence(name)
        if silent is not None and silent >= GRACE and _ready(obj) != "Unknown":
            await self._lose(obj)
        elif _ready(obj) in ("False", "Unknown"):
            for pod in self.shared.pods_by_node.of(name):
                await self._mark(pod)

    async def _lose(self, node: Json) -> None:
        now = timestamp(self.now())
        known = {each["type"]: each for each in (node.get("status") or {}).get("conditions") or ()}
        lost = [
            {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": now,
                "lastHeartbeatTime": (known.get(kind) or {}).get("lastHeartbeatTime") or now,
            }
            for kind in _CONDITIONS
        ]
        await self.shared.client.patch(
            NODES,
            {"status": {"conditions": lost}},
            node["metadata"]["name"],
            type=PatchType.STRATEGIC,
            subresource="status",
        )

    async def _mark(self, pod: Json) -> None:
        """Not ready, whatever its containers do."""
        if not is_ready(pod):
            return
        unready = {
            "type": "Ready",
            "status": "False",
            "lastTransitionTime": timestamp(self.now()),
        }
        meta = pod["metadata"]
        with suppress(NotFound):
            await self.shared.client.patch(
                PODS,
                {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [unready]}},
                meta["name"],
                meta["namespace"],
                type=PatchType.STRATEGIC,
                subresource="status",
            )


def _ready(node: Json) -> str:
    return str((condition(node, "Ready") or {}).get("status", ""))
