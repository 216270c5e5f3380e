"""Jobs: so many pods at once, until enough of them have succeeded, or too many failed."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from intact.kube.errors import ApiError, NotFound
from intact.kube.queue import Queue, work
from intact.model.times import parse_time, timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_ready, is_terminating
from intact.sandbox.controllers.batches import create_all, delete_all
from intact.sandbox.controllers.controller import Controller, Key, Shared
from intact.sandbox.controllers.jobs.counting import (
    FINALIZER,
    INDEX,
    Tally,
    backoff,
    finished_at,
    free_indexes,
    index_of,
    is_done,
    is_indexed,
    is_tracked,
    noted,
    restarts_too_often,
    tally,
    wanted,
    write_indexes,
)
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.controllers.pods import is_active, pod_of
from intact.sandbox.controllers.resources import JOBS, PODS
from intact.sandbox.controllers.scale_down import first_to_go

_ENDS = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
"""The condition of a Job that is about to end, and the one that it ends with."""

End = tuple[str, str, str]
"""Such a condition: its type, reason and message."""


class JobController(Controller):
    kind = "jobs.batch"
    makes_pods = True

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._failures: dict[str, tuple[int, datetime]] = {}
        """By UID: how many pods failed since one succeeded, and when the last one did."""
        self._orphans: Queue[Key] = Queue("orphans of Jobs", rng=random.Random(self.kind))
        """Pods whose Job is gone, to be let go."""

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(super().run(), work(self._orphans, self._let_go))

    def follow(self) -> list[Callable[[], None]]:
        return [
            self.follow_owned(),
            self.shared.api.follow("pods", self._pod_changed),
            self.shared.api.follow(self.kind, self._job_changed),
        ]

    def _pod_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is None or not is_tracked(new):
            return
        owner = controller_of(new)
        if owner is not None and self.is_own_kind(owner):
            meta = new["metadata"]
            job = self.shared.api.peek(self.kind, meta["namespace"], owner["name"])
            if job is None or job["metadata"]["uid"] != owner["uid"]:
                self._orphans.add((meta["namespace"], meta["name"]))

    def _job_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None:
            self._failures.pop(old["metadata"]["uid"], None)
            for pod in self.shared.pods.of(old):
                if is_tracked(pod):
                    self._orphans.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    async def _let_go(self, key: Key) -> None:
        pod = self.shared.api.peek("pods", *key)
        if pod is not None and is_tracked(pod):
            await self._untrack([pod])

    async def _untrack(self, pods: list[Json]) -> None:
        for pod in pods:
            meta = pod["metadata"]
            kept = [each for each in meta["finalizers"] if each != FINALIZER]
            body = {"metadata": {"uid": meta["uid"], "finalizers": kept}}
            with suppress(NotFound):
                await self.shared.client.patch(PODS, body, meta["name"], meta["namespace"])

    async def reconcile(self, obj: Json) -> None:
        if _condition(obj, *_ENDS.values()) is not None:
            return
        if is_terminating(obj):
            await self._untrack([pod for pod in self.shared.pods.of(obj) if is_tracked(pod)])
            return
        found = tally(obj, self.shared.pods.of(obj))
        self._remember(obj, found)
        end = self._end(obj, found)
        refusal = None
        try:
            await self._manage(obj, found, ending=end is not None)
        except ApiError as error:
            refusal = error
        end = end or self._success(obj, found)
        await self._count(obj, found, end)
        if refusal is not None:
            raise refusal

    def _remember(self, obj: Json, found: Tally) -> None:
        uid = obj["metadata"]["uid"]
        failures, last = self._failures.get(uid, (0, self.now()))
        if found.succeeded:
            failures = 0
        if found.failed:
            failures, last = failures + len(found.failed), max(map(finished_at, found.failed))
        self._failures[uid] = failures, last

    def _end(self, obj: Json, found: Tally) -> End | None:
        """Why the Job ends now, unless by success."""
        present = _condition(obj, *_ENDS)
        if present is not None:
            return present["type"], present["reason"], present["message"]
        spec = obj["spec"]
        pods = self.shared.pods.of(obj)
        if found.totals(obj)[1] > spec.get("backoffLimit", 6) or restarts_too_often(obj, pods):
            message = "Job has reached the specified backoff limit"
            return "FailureTarget", "BackoffLimitExceeded", message
        deadline, started = (
            spec.get("activeDeadlineSeconds"),
            obj.get("status", {}).get("startTime"),
        )
        if deadline is not None and started and not spec.get("suspend"):
            left = parse_time(started) + timedelta(seconds=deadline) - self.now()
            if left <= timedelta():
                message = "Job was active longer than specified deadline"
                return "FailureTarget", "DeadlineExceeded", message
            self.again_after(obj, left.total_seconds())
        return None

    def _success(self, obj: Json, found: Tally) -> End | None:
        active = sum(map(is_active, self.shared.pods.of(obj)))
        if not is_done(obj, active, found.totals(obj)[0]):
            return None
        message = "Reached expected number of succeeded pods"
        return "SuccessCriteriaMet", "CompletionsReached", message

    async def _manage(self, obj: Json, found: Tally, *, ending: bool) -> None:
        pods = self.shared.pods.of(obj)
        active = [pod for pod in pods if is_active(pod)]
        goal = 0 if ending else wanted(obj, len(active), found.totals(obj)[0])
        if goal < len(active):
            if is_indexed(obj):
                leaving = sorted(active, key=lambda pod: -(index_of(pod) or 0))
            else:
                leaving = first_to_go(active, (), self.now())
            await delete_all(self.shared, leaving[: len(active) - goal])
            return
        missing = goal - len(active)
        if obj["spec"].get("podReplacementPolicy") == "Failed":
            missing -= sum(map(_is_leaving, pods))
        if missing <= 0:
            return
        failures, last = self._failures[obj["metadata"]["uid"]]
        wait = (last + backoff(failures) - self.now()).total_seconds() if failures else 0.0
        if wait > 0:
            self.again_after(obj, wait)
            return
        indexes: list[int | None] = [None] * missing
        if is_indexed(obj):
            indexes = [*free_indexes(obj, pods, found.indexes)[:missing]]
        await create_all(self.shared, [partial(_new_pod, obj, index) for index in indexes])

    async def _count(self, obj: Json, found: Tally, end: End | None) -> None:
        """Write down what has finished, let it go, and count it."""
        status = self._status(obj, found, end)
        status["uncountedTerminatedPods"] = noted(obj, found)
        await self.shared.write_status(JOBS, obj, status)
        pods = self.shared.pods.of(obj)
        uids = {uid for each in status["uncountedTerminatedPods"].values() for uid in each}
        counted = [*found.succeeded, *found.failed]
        await self._untrack(
            [pod for pod in pods if is_tracked(pod) and pod["metadata"]["uid"] in uids]
            + [pod for pod in counted if pod["metadata"]["uid"] not in uids]
        )
        for name in ("succeeded", "failed"):
            number = status.get(name, 0) + len(status["uncountedTerminatedPods"].get(name, ()))
            if number:
                status[name] = number
        status["uncountedTerminatedPods"] = {}
        status["terminating"] = sum(map(_is_leaving, self.shared.pods.of(obj)))
        if end is not None and not status["terminating"]:
            kind, reason, message = end
            status["conditions"] = [
                *status["conditions"],
                self._new_condition(_ENDS[kind], "True", reason, message),
            ]
            if kind == "SuccessCriteriaMet":
                status["completionTime"] = timestamp(self.now())
        await self.shared.write_status(JOBS, obj, status)

    def _status(self, obj: Json, found: Tally, end: End | None) -> Json:
        """As it is before this look's finished pods are counted."""
        before, pods = obj.get("status", {}), self.shared.pods.of(obj)
        active = [pod for pod in pods if is_active(pod)]
        conditions = self._conditions(obj, end)
        started = before.get("startTime")
        suspended = bool(obj["spec"].get("suspend"))
        resumed = conditions != before.get("conditions") and not suspended and end is None
        if suspended:
            started = None
        elif started is None or (resumed and "conditions" in before):
            started = timestamp(self.now())
        counts = {"active": len(active), "failed": before.get("failed", 0)}
        if is_indexed(obj):
            counts["succeeded"] = len(found.indexes)
        else:
            counts["succeeded"] = before.get("succeeded", 0)
        status: Json = {name: number for name, number in counts.items() if number}
        status |= {
            "ready": sum(map(is_ready, active)),
            "terminating": sum(map(_is_leaving, pods)),
        }
        if started is not None:
            status["startTime"] = started
        if is_indexed(obj) and found.indexes:
            status["completedIndexes"] = write_indexes(found.indexes)
        if conditions:
            status["conditions"] = conditions
        return status

    def _conditions(self, obj: Json, end: End | None) -> list[Json]:
        conditions: list[Json] = list(obj.get("status", {}).get("conditions") or ())
        if end is not None:
            kind, reason, message = end
            if _condition(obj, kind) is None:
                conditions.append(self._new_condition(kind, "True", reason, message))
            return conditions
        suspended = bool(obj["spec"].get("suspend"))
        present = next((each for each in conditions if each["type"] == "Suspended"), None)
        if (present is not None and present["status"] == "True") == suspended:
            return conditions
        text = ("True", "JobSuspended", "Job suspended")
        if not suspended:
            text = ("False", "JobResumed", "Job resumed")
        others = [each for each in conditions if each is not present]
        return [*others, self._new_condition("Suspended", *text)]

    def _new_condition(self, kind: str, status: str, reason: str, message: str) -> Json:
        moment = timestamp(self.now())
        return {
            "type": kind,
            "status": status,
            "lastProbeTime": moment,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": message,
        }


def _condition(job: Json, *kinds: str) -> Json | None:
    for each in job.get("status", {}).get("conditions") or ():
        if each["type"] in kinds and each["status"] == "True":
            found: Json = each
            return found
    return None


def _is_leaving(pod: Json) -> bool:
    return is_terminating(pod) and not is_finished(pod)


def _new_pod(job: Json, index: int | None) -> Json:
    pod = pod_of(job["spec"]["template"], job)
    meta = pod["metadata"]
    meta["finalizers"] = [*(meta.get("finalizers") or ()), FINALIZER]
    if index is not None:
        name, place = job["metadata"]["name"], {INDEX: str(index)}
        meta["generateName"] = f"{name}-{index}-"
        meta["annotations"] = {**(meta.get("annotations") or {}), **place}
        meta["labels"] = {**(meta.get("labels") or {}), **place}
        pod["spec"]["hostname"] = f"{name}-{index}"
    return pod
