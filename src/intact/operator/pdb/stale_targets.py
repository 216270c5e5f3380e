"""Sets the condition DisruptionTarget to False on pods that were not disrupted after all.

A component that is about to delete a pod (the Eviction API, the scheduler, ...) sets that condition
first. If the pod still exists two minutes later, the condition is stale, and set to False, as
Kubernetes' own disruption controller does it. Pods that are finished, and pods that their kubelet
terminates, keep it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from intact.budget.pdb.pods import DELETION_TIMEOUT
from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, NotFound
from intact.kube.queue import Queue
from intact.kube.resources import untyped
from intact.kube.store import Key, Store, key_of
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.times import parse_time, timestamp

CONDITION = "DisruptionTarget"
_BY_KUBELET = "TerminationByKubelet"
_WHOLE_PODS = untyped("", "v1", "pods", "Pod")


class StaleTargets:
    def __init__(
        self,
        client: Client,
        pods: Store[Pod],
        queue: Queue[Key],
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
    ) -> None:
        self.cleared = 0
        self._client = client
        self._pods = pods
        self._queue = queue
        self._now = now
        self._leads = leads

    def mark(self, pod: Pod) -> None:
        """Look at the pod soon if it may have the condition."""
        if _is_target(pod):
            self._queue.add(key_of(pod))

    def mark_all(self) -> None:
        for pod in self._pods:
            self.mark(pod)

    async def reconcile(self, key: Key) -> None:
        pod = self._pods.get(*key)
        if pod is None or not _is_target(pod) or not self._leads():
            return
        # The stores keep neither times nor reasons of conditions: only this module needs them.
        try:
            found = await self._client.get(_WHOLE_PODS, pod.metadata.name, pod.metadata.namespace)
        except NotFound:
            return
        condition = _stale(found)
        if condition is None:
            return
        since = parse_time(condition["lastTransitionTime"])
        wait = (since + DELETION_TIMEOUT - self._now()).total_seconds()
        if wait > 0:
            self._queue.add_after(key, wait)
            return
        try:
            await self._clear(found, condition)
        except NotFound:
            return
        except Conflict:
            self._queue.retry(key)

    async def _clear(self, pod: dict[str, Any], condition: dict[str, Any]) -> None:
        meta = pod["metadata"]
        cleared = {
            "type": CONDITION,
            "status": "False",
            "reason": None,
            "message": None,
            "lastTransitionTime": timestamp(self._now()),
        }
        if "observedGeneration" in condition:
            cleared["observedGeneration"] = meta.get("generation", 0)
        body = {
            "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
            "status": {"conditions": [cleared]},
        }
        await self._client.patch(
            _WHOLE_PODS,
            body,
            meta["name"],
            meta["namespace"],
            type=PatchType.STRATEGIC,
            subresource="status",
        )
        self.cleared += 1


def _is_target(pod: Pod) -> bool:
    if is_gone(pod):
        return False
    for condition in pod.status.conditions:
        if condition.type == CONDITION:
            return condition.status == "True"
    return False


def _stale(pod: dict[str, Any]) -> dict[str, Any] | None:
    """The condition, if it is one to set to False."""
    if "deletionTimestamp" in pod["metadata"]:
        return None
    status = pod.get("status", {})
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    for condition in status.get("conditions", ()):
        if condition["type"] == CONDITION and condition["status"] == "True":
            found: dict[str, Any] = condition
            return None if condition.get("reason") == _BY_KUBELET else found
    return None
