"""StatefulSets: pods with a name each, made upwards and taken downwards.

| policy | pods are made and deleted |
|---|---|
| OrderedReady | one after the other, each once those below it are available |
| Parallel | all at once; an update goes pod by pod nevertheless |
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from intact.kube.errors import ApiError
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_ready, is_terminating, phase
from intact.sandbox.controllers.amounts import rounded_down
from intact.sandbox.controllers.batches import create_all, delete_all
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.pods import is_available, next_availability
from intact.sandbox.controllers.resources import STATEFUL_SETS
from intact.sandbox.controllers.revisions import (
    is_observed,
    latest_revision,
    revisions_of,
    template_of,
    truncate_history,
)
from intact.sandbox.controllers.stateful_pods import new_pod, ordinal, revision_of, start_of


class StatefulSetController(Controller):
    kind = "statefulsets.apps"
    makes_pods = True

    def follow(self) -> list[Callable[[], None]]:
        return [self.follow_owned()]

    async def reconcile(self, obj: Json) -> None:
        revisions = await self._revisions(obj)
        refusal = None
        if not is_terminating(obj):
            try:
                await self._act(obj, revisions)
            except ApiError as error:
                refusal = error
        pods = list(self._pods(obj).values())
        await self.shared.write_status(STATEFUL_SETS, obj, self._status(obj, pods, revisions))
        live = {revisions.current_name, revisions.update_name, *map(revision_of, pods)}
        limit = obj["spec"].get("revisionHistoryLimit", 10)
        await truncate_history(self.shared, obj, live, limit)
        if refusal is not None:
            raise refusal
        self.again_after(obj, next_availability(pods, _min_ready(obj), self.now()))

    async def _revisions(self, obj: Json) -> "_Revisions":
        status = obj.get("status", {})
        seen = status.get("updateRevision", "").rpartition("-")[2] if is_observed(obj) else ""
        latest = await latest_revision(self.shared, obj, seen=seen)
        named = status.get("currentRevision")
        known = revisions_of(self.shared, obj)
        current = [each for each in known if each["metadata"]["name"] == named]
        return _Revisions(
            current[0] if current else latest.revision, latest.revision, latest.collisions
        )

    def _pods(self, obj: Json) -> dict[int, Json]:
        """By ordinal."""
        numbered = ((ordinal(pod, obj), pod) for pod in self.shared.pods.of(obj))
        return {number: pod for number, pod in numbered if number is not None}

    async def _act(self, obj: Json, revisions: "_Revisions") -> None:
        if obj["spec"].get("podManagementPolicy") == "Parallel":
            await self._scale_at_once(obj, revisions)
        elif not await self._scale_in_order(obj, revisions):
            return
        if (obj["spec"].get("updateStrategy") or {}).get("type") != "OnDelete":
            await self._update(obj, revisions)

    async def _scale_at_once(self, obj: Json, revisions: "_Revisions") -> None:
        pods, wanted = self._pods(obj), _wanted(obj)
        there = [pods[number] for number in wanted if number in pods]
        await delete_all(self.shared, [pod for pod in there if _has_ended(pod)])
        missing = [number for number in wanted if number not in pods]
        await create_all(self.shared, [partial(_pod, obj, revisions, number) for number in missing])
        condemned = [pods[number] for number in _condemned(pods, wanted)]
        await delete_all(self.shared, [pod for pod in condemned if not is_terminating(pod)])

    async def _scale_in_order(self, obj: Json, revisions: "_Revisions") -> bool:
        """One step. Whether none was needed: all pods are there, available, and none too many."""
        pods, wanted = self._pods(obj), _wanted(obj)
        for number in wanted:
            pod = pods.get(number)
            if pod is None:
                await create_all(self.shared, [partial(_pod, obj, revisions, number)])
                return False
            if _has_ended(pod):
                await self.shared.delete_pod(pod)
            if not self._is_up(obj, pod):
                return False
        condemned = [pods[number] for number in _condemned(pods, wanted)]
        if not condemned:
            return True
        highest = condemned[0]
        unavailable = [pod for pod in condemned if not self._is_up(obj, pod)]
        if not is_terminating(highest) and (highest not in unavailable or len(unavailable) == 1):
            await self.shared.delete_pod(highest)
        return False

    def _is_up(self, obj: Json, pod: Json | None) -> bool:
        return (
            pod is not None
            and phase(pod) == "Running"
            and not is_terminating(pod)
            and is_available(pod, _min_ready(obj), self.now())
        )

    async def _update(self, obj: Json, revisions: "_Revisions") -> None:
        """Delete pods of an old revision from the highest ordinal down to the partition, as many as
        may be unavailable."""
        pods, wanted = self._pods(obj), _wanted(obj)
        rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        moving = [pods.get(number) for number in reversed(wanted[rolling.get("partition", 0) :])]
        if "maxUnavailable" in rolling:
            most = max(1, rounded_down(rolling["maxUnavailable"], len(wanted)))
            down = sum(not self._is_up(obj, pods.get(number)) for number in wanted)
            old = [pod for pod in moving if pod is not None and _is_old(pod, revisions)]
            await delete_all(self.shared, old[: max(0, most - down)])
            return
        for pod in moving:
            if pod is not None and _is_old(pod, revisions):
                await self.shared.delete_pod(pod)
                return
            if not self._is_up(obj, pod):
                return

    def _status(self, obj: Json, pods: list[Json], revisions: "_Revisions") -> Json:
        running = [pod for pod in pods if phase(pod) == "Running" and is_ready(pod)]
        staying = [revision_of(pod) for pod in pods if not is_terminating(pod)]
        ready, now = len(running), self.now()
        current = staying.count(revisions.current_name)
        updated = staying.count(revisions.update_name)
        current_name = revisions.current_name
        strategy = (obj["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
        complete = updated == ready == len(pods) == obj["spec"]["replicas"]
        if strategy == "RollingUpdate" and complete:
            current, current_name = updated, revisions.update_name
        counts = {"readyReplicas": ready, "currentReplicas": current, "updatedReplicas": updated}
        return {
            "observedGeneration": obj["metadata"]["generation"],
            "replicas": len(pods),
            **{name: count for name, count in counts.items() if count},
            "currentRevision": current_name,
            "updateRevision": revisions.update_name,
            "collisionCount": revisions.collisions,
            "availableReplicas": sum(is_available(pod, _min_ready(obj), now) for pod in running),
        }


@dataclass(frozen=True, slots=True)
class _Revisions:
    current: Json
    """What pods below the partition have."""
    update: Json
    collisions: int

    @property
    def current_name(self) -> str:
        return str(self.current["metadata"]["name"])

    @property
    def update_name(self) -> str:
        return str(self.update["metadata"]["name"])


def _min_ready(obj: Json) -> int:
    return int(obj["spec"].get("minReadySeconds", 0))


def _wanted(obj: Json) -> range:
    start = start_of(obj)
    return range(start, start + obj["spec"]["replicas"])


def _condemned(pods: dict[int, Json], wanted: range) -> list[int]:
    """The highest first."""
    return sorted((number for number in pods if number not in wanted), reverse=True)


def _has_ended(pod: Json) -> bool:
    """It is replaced once it is gone."""
    return is_finished(pod) and not is_terminating(pod)


def _is_old(pod: Json, revisions: _Revisions) -> bool:
    return revision_of(pod) != revisions.update_name and not is_terminating(pod)


def _pod(obj: Json, revisions: _Revisions, number: int) -> Json:
    """A pod that is missing gets the revision that its place in the rollout has."""
    strategy = obj["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        kept = rolling.get("partition", 0)
    elif strategy.get("type") == "RollingUpdate":
        kept = obj.get("status", {}).get("currentReplicas", 0)
    else:
        kept = 0
    chosen = revisions.current if number < start_of(obj) + kept else revisions.update
    return new_pod(obj, template_of(chosen), chosen["metadata"]["name"], number)
