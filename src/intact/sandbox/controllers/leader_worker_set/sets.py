"""LeaderWorkerSets: the StatefulSet of leaders, its rolling update, the status."""

from collections.abc import Callable

from intact.kube.client import PatchType
from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_ready, is_terminating, phase
from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.leader_worker_set.kind import (
    LEADER_WORKER_SETS,
    NAME,
    REPLICAS,
    REVISION,
    WORKER_INDEX,
    Wanted,
    wanted,
)
from intact.sandbox.controllers.leader_worker_set.revisions import (
    adopt,
    forget_others,
    revision_key,
)
from intact.sandbox.controllers.leader_worker_set.rolling import Group, Leaders, begin, go_on
from intact.sandbox.controllers.leader_worker_set.stateful_sets import of_leaders
from intact.sandbox.controllers.resources import STATEFUL_SETS

_CONDITIONS = {
    "Available": ("AllGroupsReady", "All replicas are ready"),
    "UpdateInProgress": ("GroupsUpdating", "Rolling Upgrade is in progress"),
    "Progressing": ("GroupsProgressing", "Replicas are progressing"),
}


class LeaderWorkerSetController(Controller):
    kind = LEADER_WORKER_SETS.full_name

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._from_before: dict[str, None] = {}
        """The UIDs of sets that were there before this controller, and that it has not seen yet."""

    def follow(self) -> list[Callable[[], None]]:
        there = self.shared.api.objects(self.kind)
        self._from_before = {each["metadata"]["uid"]: None for each in there}
        return [
            self.shared.api.follow("statefulsets.apps", self._part_changed),
            self.shared.api.follow("pods", self._pod_changed),
        ]

    def _part_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        name = (obj["metadata"].get("labels") or {}).get(NAME)
        if name and _seen(old) != _seen(new):
            self.queue.add((obj["metadata"]["namespace"], name))

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        """Of the pods, only leaders: the StatefulSet of the workers tells of them."""
        obj = new or old
        assert obj is not None
        if (obj["metadata"].get("labels") or {}).get(WORKER_INDEX) == "0":
            self._part_changed(old, new)

    async def reconcile(self, obj: Json) -> None:
        if is_terminating(obj):
            return
        meta = obj["metadata"]
        found = self.shared.api.peek("statefulsets.apps", meta["namespace"], meta["name"])
        if meta["uid"] in self._from_before:
            if found is not None:
                await adopt(self.shared, obj, found)
            self._from_before.pop(meta["uid"], None)
        key, is_new = await revision_key(self.shared, obj, found)
        asked = wanted(obj)
        count = max(asked.replicas, found["spec"]["replicas"] if found is not None else 0)
        groups = [self._group(obj, asked, index, key) for index in range(count)]
        leaders = _next(asked, found, groups, is_new=is_new)
        if found is None or not _says(found, obj, key, leaders):
            body = of_leaders(obj, key, leaders)
            await self.shared.client.patch(
                STATEFUL_SETS,
                body,
                meta["name"],
                meta["namespace"],
                type=PatchType.APPLY,
                field_manager="lws",
                force=True,
            )
        await self._write_status(obj, asked, groups)
        if asked.partition == 0 and all(group.done for group in groups[: asked.replicas]):
            await forget_others(self.shared, obj, key)

    def _group(self, obj: Json, asked: Wanted, index: int, key: str) -> Group:
        meta = obj["metadata"]
        name = f"{meta['name']}-{index}"
        leader = self.shared.api.peek("pods", meta["namespace"], name)
        if leader is None:
            return Group()
        ready, parts = phase(leader) == "Running" and is_ready(leader), [leader]
        if asked.size > 1:
            workers = self.shared.api.peek("statefulsets.apps", meta["namespace"], name)
            if workers is None:
                return Group()
            ready = ready and _is_ready(workers)
            parts.append(workers)
        updated = all((one["metadata"].get("labels") or {}).get(REVISION) == key for one in parts)
        return Group(ready, updated)

    async def _write_status(self, obj: Json, asked: Wanted, groups: list[Group]) -> None:
        meta = obj["metadata"]
        leaders = self.shared.api.peek("statefulsets.apps", meta["namespace"], meta["name"]) or {}
        moving = groups[asked.partition : asked.replicas]
        if any(group.ready and not group.updated for group in moving):
            true = ["UpdateInProgress", "Progressing"]
        elif all(group.ready for group in groups[: asked.replicas]) and all(
            group.done for group in moving
        ):
            true = ["Available"]
        else:
            true = ["Progressing"]
        old = obj.get("status") or {}
        status = {
            "observedGeneration": meta["generation"],
            "replicas": (leaders.get("status") or {}).get("replicas", 0),
            "readyReplicas": sum(group.ready for group in groups),
            "updatedReplicas": sum(group.updated for group in groups),
            "hpaPodSelector": f"{NAME}={meta['name']},{WORKER_INDEX}=0",
            "conditions": self._conditions(old.get("conditions") or [], true),
        }
        await self.shared.write_status(LEADER_WORKER_SETS, obj, status)

    def _conditions(self, before: list[Json], true: list[str]) -> list[Json]:
        """A condition is there once it has been true."""
        known = {each["type"]: each for each in before}
        found = []
        for name in dict.fromkeys([*known, *true]):
            reason, message = _CONDITIONS[name]
            now = "True" if name in true else "False"
            since = timestamp(self.now())
            if name in known and known[name]["status"] == now:
                since = known[name]["lastTransitionTime"]
            found.append(
                {
                    "type": name,
                    "status": now,
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": since,
                }
            )
        return found


def _seen(part: Json | None) -> tuple[object, ...]:
    """What matters here of a leader, or of a StatefulSet."""
    if part is None:
        return ()
    revision = (part["metadata"].get("labels") or {}).get(REVISION)
    if part["kind"] == "Pod":
        return revision, phase(part), is_ready(part), part["metadata"]["uid"]
    status = part.get("status") or {}
    spec = part["metadata"].get("generation")
    return revision, spec, status.get("replicas"), _is_ready(part), part["metadata"]["uid"]


def _next(asked: Wanted, found: Json | None, groups: list[Group], *, is_new: bool) -> Leaders:
    """What the StatefulSet of leaders shall say."""
    if found is None:
        return Leaders(asked.partition, asked.replicas)
    rolling = (found["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    now = Leaders(rolling.get("partition", 0), found["spec"]["replicas"])
    if is_new:
        return begin(asked, now)
    before = (found["metadata"].get("annotations") or {}).get(REPLICAS)
    rescaled = before != str(asked.replicas)
    return go_on(asked, now, groups[: now.replicas], rescaled=rescaled)


def _says(found: Json, obj: Json, key: str, leaders: Leaders) -> bool:
    """Whether the StatefulSet of leaders says all this already."""
    meta, spec = found["metadata"], found["spec"]
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    return (
        (meta.get("labels") or {}).get(REVISION) == key
        and (meta.get("annotations") or {}).get(REPLICAS) == str(wanted(obj).replicas)
        and Leaders(rolling.get("partition", 0), spec["replicas"]) == leaders
    )


def _is_ready(workers: Json) -> bool:
    """All workers are there and ready, in the template that the StatefulSet has now."""
    status = workers.get("status") or {}
    counts = {status.get("replicas", 0), status.get("readyReplicas", 0)}
    settled = status.get("currentRevision", "") == status.get("updateRevision", "")
    return counts == {workers["spec"]["replicas"]} and bool(settled)
