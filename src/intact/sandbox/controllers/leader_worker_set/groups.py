"""Groups: a leader gets its workers, and a pod that ends or restarts takes its group with it."""

from collections.abc import Callable

from intact.kube.errors import NotFound
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_ready, is_terminating
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.leader_worker_set.kind import (
    EXCLUSIVE,
    LEADER_WORKER_SETS,
    NAME,
    REVISION,
    WORKER_INDEX,
    wanted,
)
from intact.sandbox.controllers.leader_worker_set.revisions import as_of
from intact.sandbox.controllers.leader_worker_set.stateful_sets import of_workers
from intact.sandbox.controllers.resources import PODS, STATEFUL_SETS


class GroupController(Controller):
    kind = "pods"

    def follow(self) -> list[Callable[[], None]]:
        return [self.follow_owned("statefulsets.apps")]

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None and NAME in (new["metadata"].get("labels") or {}):
            super()._changed(old, new)

    async def reconcile(self, obj: Json) -> None:
        meta = obj["metadata"]
        labels = meta.get("labels") or {}
        full_name = LEADER_WORKER_SETS.full_name
        found = self.shared.api.peek(full_name, meta["namespace"], labels.get(NAME, ""))
        if found is None or WORKER_INDEX not in labels:
            return
        if wanted(found).recreates and (is_terminating(obj) or _has_restarted(obj)):
            await self._end_group(obj)
        elif labels[WORKER_INDEX] == "0" and not is_terminating(obj):
            await self._make_workers(as_of(self.shared, found, labels.get(REVISION, "")), obj)

    async def _end_group(self, pod: Json) -> None:
        """By way of its leader, which is gone only after its workers."""
        meta = pod["metadata"]
        leader: Json | None = pod
        if meta["labels"][WORKER_INDEX] != "0":
            name = meta["name"].rpartition("-")[0]
            leader = self.shared.api.peek("pods", meta["namespace"], name)
        if leader is None or is_terminating(leader):
            return
        meta = leader["metadata"]
        if meta["labels"].get(REVISION) != pod["metadata"]["labels"].get(REVISION):
            return  # the leader is of a newer group already
        try:
            await self.shared.client.delete(
                PODS,
                meta["name"],
                meta["namespace"],
                propagation_policy="Foreground",
                uid=meta["uid"],
            )
        except NotFound:
            return

    async def _make_workers(self, each: Json, leader: Json) -> None:
        asked, meta = wanted(each), leader["metadata"]
        if asked.size == 1 or (asked.leader_first and not is_ready(leader)):
            return
        # Those of an earlier leader of this name are on their way out.
        if self.shared.api.peek("statefulsets.apps", meta["namespace"], meta["name"]) is not None:
            return
        body = of_workers(each, leader)
        topology = (each["metadata"].get("annotations") or {}).get(EXCLUSIVE)
        if topology:
            domain = self._domain(leader, topology)
            if domain is None:
                return
            body["spec"]["template"]["spec"]["nodeSelector"] = {topology: domain}
        await self.shared.client.create(STATEFUL_SETS, body, meta["namespace"])

    def _domain(self, leader: Json, topology: str) -> str | None:
        """Where the leader is; None if it is nowhere yet."""
        node = self.shared.api.peek("nodes", "", leader["spec"].get("nodeName", ""))
        labels = (node["metadata"].get("labels") or {}) if node is not None else {}
        return labels.get(topology)


def _has_restarted(pod: Json) -> bool:
    status = pod.get("status") or {}
    if status.get("phase") not in ("Pending", "Running"):
        return False
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    return any(each.get("restartCount", 0) > 0 for each in containers)
