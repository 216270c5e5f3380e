"""What the pods of a Job have done. Nothing here writes.

A finished pod keeps the finalizer `batch.kubernetes.io/job-tracking` until it is counted: its UID
is written down as not counted yet, its finalizer taken off, and then the counter is raised. A Job
with indexes counts these instead of UIDs where pods succeed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from intact.model.times import parse_time
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_terminating, phase
from intact.sandbox.controllers.pods import is_active

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_FIRST_BACKOFF, _LONGEST_BACKOFF = timedelta(seconds=10), timedelta(minutes=10)


def is_tracked(pod: Json) -> bool:
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def is_indexed(job: Json) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def has_failed(pod: Json, job: Json) -> bool:
    """A pod that is deleted counts as failed at once, unless the Job replaces failed pods only."""
    if phase(pod) == "Failed":
        return True
    if not is_terminating(pod) or phase(pod) == "Succeeded":
        return False
    # Kubelets report a phase before they remove a pod; here a pod without grace left has ended.
    has_ended = not pod["metadata"].get("deletionGracePeriodSeconds")
    return has_ended or job["spec"].get("podReplacementPolicy") != "Failed"


def index_of(pod: Json) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdigit() else None


@dataclass(slots=True)
class Tally:
    """What there is to count: pods that have finished, and were not written down before."""

    succeeded: list[Json] = field(default_factory=list)
    failed: list[Json] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    """That have succeeded so far, in order."""
    waiting: tuple[int, int] = (0, 0)
    """Pods written down as succeeded and as failed that no counter counts yet."""

    def totals(self, job: Json) -> tuple[int, int]:
        """How many pods have succeeded, and failed, all told."""
        status = job.get("status", {})
        failed = status.get("failed", 0) + len(self.failed) + self.waiting[1]
        if is_indexed(job):
            return len(self.indexes), failed
        return status.get("succeeded", 0) + len(self.succeeded) + self.waiting[0], failed


def tally(job: Json, pods: Iterable[Json]) -> Tally:
    status = job.get("status", {})
    noted = status.get("uncountedTerminatedPods") or {}
    known = [noted.get(name) or [] for name in ("succeeded", "failed")]
    found = Tally(waiting=(len(known[0]), len(known[1])))
    indexes = set(read_indexes(status.get("completedIndexes", "")))
    for pod in pods:
        if not is_tracked(pod) or any(pod["metadata"]["uid"] in uids for uids in known):
            continue
        if phase(pod) == "Succeeded":
            found.succeeded.append(pod)
            index = index_of(pod)
            if index is not None and index < (job["spec"].get("completions") or 0):
                indexes.add(index)
        elif has_failed(pod, job):
            found.failed.append(pod)
    found.indexes = sorted(indexes)
    return found


def noted(job: Json, found: Tally) -> Json:
    """The UIDs of finished pods, as the status keeps them until they are counted."""
    before = job.get("status", {}).get("uncountedTerminatedPods") or {}
    succeeded = [] if is_indexed(job) else [pod["metadata"]["uid"] for pod in found.succeeded]
    lists = {
        "succeeded": [*(before.get("succeeded") or ()), *succeeded],
        "failed": [
            *(before.get("failed") or ()),
            *(pod["metadata"]["uid"] for pod in found.failed),
        ],
    }
    return {name: uids for name, uids in lists.items() if uids}


def wanted(job: Json, active: int, succeeded: int) -> int:
    """How many pods are to run now."""
    spec = job["spec"]
    if spec.get("suspend"):
        return 0
    parallelism: int = spec.get("parallelism", 1)
    if spec.get("completions") is None:
        # Of a work queue: once a pod has succeeded, the others are not replaced.
        return active if succeeded else parallelism
    completions: int = spec["completions"]
    return max(0, min(parallelism, completions - succeeded))


def is_done(job: Json, active: int, succeeded: int) -> bool:
    completions = job["spec"].get("completions")
    if active:
        return False
    return succeeded > 0 if completions is None else succeeded >= completions


def free_indexes(job: Json, pods: Iterable[Json], done: Iterable[int]) -> list[int]:
    """Of a Job with indexes: those that have neither succeeded nor a pod, lowest first."""
    taken = {*done, *(index_of(pod) for pod in pods if is_active(pod))}
    return [index for index in range(job["spec"]["completions"]) if index not in taken]


def restarts_too_often(job: Json, pods: Iterable[Json]) -> bool:
    """Containers that restart in place count against the limit, too."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts: int = sum(
        each.get("restartCount", 0)
        for pod in pods
        if phase(pod) in ("Pending", "Running")
        for each in pod.get("status", {}).get("containerStatuses") or ()
    )
    most: int = job["spec"].get("backoffLimit", 6)
    return restarts >= max(1, most)


def finished_at(pod: Json) -> datetime:
    """When the pod failed, as far as its object says."""
    status, meta = pod.get("status", {}), pod["metadata"]
    ends = [
        (each.get("state") or {}).get("terminated", {}).get("finishedAt")
        for each in status.get("containerStatuses") or ()
    ]
    if ends and all(ends):
        return max(map(parse_time, ends))
    for condition in status.get("conditions") or ():
        since = condition.get("lastTransitionTime")
        if since and condition["type"] == "Ready" and condition["status"] == "False":
            return parse_time(since)
    if is_terminating(pod):
        grace = timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
        return parse_time(meta["deletionTimestamp"]) - grace
    return parse_time(meta["creationTimestamp"])


def backoff(failures: int) -> timedelta:
    """How long after the last of so many failures in a row a new pod is made."""
    if not failures:
        return timedelta()
    doublings = min(failures - 1, 20)
    return min(_FIRST_BACKOFF * (1 << doublings), _LONGEST_BACKOFF)


def read_indexes(text: str) -> list[int]:
    """From `0-2,5`."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    # Two in a row are written apart, as Kubernetes does.
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ",".join(parts)
