"""What the scheduler writes: where pods go, why they wait, and which have to go for them."""

import logging
import random
from collections.abc import Callable
from datetime import datetime

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.events import EventRecorder
from intact.model.event import ObjectReference
from intact.model.times import timestamp
from intact.sandbox.api import pod_state
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.controller import Key
from intact.sandbox.controllers.pod_groups import POD_GROUPS
from intact.sandbox.controllers.resources import PODS
from intact.sandbox.scheduler.pods import PodInfo
from intact.sandbox.scheduler.reasons import Refusals

NAME = "default-scheduler"
_USER = "system:kube-scheduler"
_GROUP_SCHEDULED = "PodGroupScheduled"
_log = logging.getLogger(__name__)


class Answers:
    def __init__(self, api: MemoryApi, clock: Callable[[], datetime]) -> None:
        self._api = api
        self._clock = clock
        self._client = Client(
            api.as_user(_USER), rng=random.Random(0), on_warning=lambda _text: None
        )
        self._events = EventRecorder(self._client, NAME, NAME, now=clock)

    async def run(self) -> None:
        """Write events, until cancelled."""
        await self._events.run()

    async def bind(self, pod: PodInfo, node: str) -> bool:
        """Whether the pod has the node now."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await self._client.create_subresource(PODS, pod.name, pod.namespace, "binding", body)
        except KubeError as error:
            _log.warning("cannot bind %s/%s to %s: %s", pod.namespace, pod.name, node, error)
            return False
        return True

    async def report(self, pod: PodInfo, refusals: Refusals) -> None:
        """Why the pod waits, unless it says so already."""
        current = self._api.peek("pods", pod.namespace, pod.name)
        if current is None or current["metadata"]["uid"] != pod.uid:
            return
        status = current.get("status") or {}
        message = refusals.message(preempts=pod.spec.get("preemptionPolicy") != "Never")
        known = pod_state.condition(current, "PodScheduled") or {}
        if (
            known.get("status") == "False"
            and known.get("message") == message
            and status.get("nominatedNodeName", "") == refusals.nominated
        ):
            return
        regarding = ObjectReference(
            api_version="v1", kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid
        )
        self._events.record(regarding, "Warning", "FailedScheduling", message)
        condition: Json = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "observedGeneration": current["metadata"].get("generation", 1),
        }
        if known.get("status") != "False":
            condition["lastTransitionTime"] = timestamp(self._clock())
        nominated = refusals.nominated or None
        await self._patch(pod, {"conditions": [condition], "nominatedNodeName": nominated})

    async def evict(self, victim: PodInfo) -> None:
        """Delete a pod whose room another one needs."""
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{NAME}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": timestamp(self._clock()),
        }
        await self._patch(victim, {"conditions": [condition]})
        try:
            await self._client.delete(PODS, victim.name, victim.namespace, uid=victim.uid)
        except (NotFound, Conflict):
            return  # it is gone
        except KubeError as error:
            _log.warning("cannot preempt %s/%s: %s", victim.namespace, victim.name, error)

    async def report_group(self, key: Key, *, scheduled: bool) -> None:
        group = self._api.peek(POD_GROUPS.full_name, *key)
        if group is None:
            return
        known = (group.get("status") or {}).get("conditions") or ()
        status = str(scheduled)
        if any(each["type"] == _GROUP_SCHEDULED and each["status"] == status for each in known):
            return
        condition = {
            "type": _GROUP_SCHEDULED,
            "status": status,
            "reason": "Scheduled" if scheduled else "Unschedulable",
            "message": "" if scheduled else "pod group is unschedulable",
            "lastTransitionTime": timestamp(self._clock()),
        }
        patch = {"status": {"conditions": [condition]}}
        try:
            await self._client.patch(POD_GROUPS, patch, key[1], key[0], subresource="status")
        except KubeError as error:
            _log.warning("cannot write whether %s/%s is scheduled: %s", *key, error)

    async def _patch(self, pod: PodInfo, status: Json) -> None:
        body = {"metadata": {"uid": pod.uid}, "status": status}
        where = pod.name, pod.namespace
        try:
            await self._client.patch(
                PODS, body, *where, subresource="status", type=PatchType.STRATEGIC
            )
        except (NotFound, Conflict):
            return  # it is gone
        except KubeError as error:
            _log.warning("cannot write the status of %s/%s: %s", pod.namespace, pod.name, error)
