"""What happens to a pod next, and when: a pure function of the pod, its times and its troubles.

It looks at the pod anew each time, as kwok's stages do; the order of the checks is theirs. Times in
a pod's status have lost their fractions of a second: what is counted from them is a second late, so
that it is never early.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from intact.model.times import parse_time
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import condition, is_terminating, is_true
from intact.sandbox.kubelet import pod_status
from intact.sandbox.kubelet.annotations import (
    COMPLETE_AFTER,
    FAIL,
    TERMINATION_DELAY,
    UNREADY,
    is_set,
    seconds,
)
from intact.sandbox.kubelet.resizes import is_wanted
from intact.sandbox.kubelet.times import Times


@dataclass(slots=True)
class PodLife:
    """What the kubelet knows of a pod besides its object."""

    since: datetime
    """When the kubelet saw it, or saw it restart."""
    times: Times
    ready_after: float | None = None
    """Seconds from then until it is ready; None: by its probes."""
    is_job: bool = False
    terminating_since: datetime | None = None
    is_held: bool = False
    """Kept from being ready."""
    must_fail: bool = False
    must_crash: bool = False
    resize_pending: tuple[str, str] | None = None
    """Why the resources that it wants cannot be had."""
    host_ip: str = ""
    pod_ip: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    at: datetime
    """Not before."""
    status: Json | None = None
    """None: the pod is removed. Empty while it is too early to say."""
    restarts: bool = False
    """Containers start anew: their readiness counts from here."""


def next_step(pod: Json, life: PodLife, now: datetime) -> Step | None:
    """None if nothing is to happen until something changes."""
    meta, status = pod["metadata"], pod["status"]
    if is_terminating(pod):
        if meta.get("deletionGracePeriodSeconds") == 0:
            return None  # it is left to its finalizers
        return Step(_end(pod, life, now))
    phase = status.get("phase")
    if phase == "Pending" and not status.get("podIP"):
        return _start(pod, life, now)
    if phase != "Running":
        return None
    if life.must_fail or is_set(pod, FAIL):
        return Step(now, pod_status.ended(pod, now, succeeded=False))
    return _restart(pod, life, now) or _settle(pod, life, now)


def _start(pod: Json, life: PodLife, now: datetime) -> Step:
    due = life.since + timedelta(seconds=life.times.start)
    if due > now:
        return Step(due, {})
    ready = not _is_held(pod, life) and _ready_at(pod, life, now) <= now
    status = pod_status.started(pod, now, life.host_ip, life.pod_ip, ready=ready)
    return Step(now, status)


def _restart(pod: Json, life: PodLife, now: datetime) -> Step | None:
    """Containers that crash, or have a new image, or resources that they restart for."""
    if life.must_crash:
        names = [each["name"] for each in pod["spec"]["containers"]]
        if pod["spec"].get("restartPolicy") == "Never":
            return Step(now, pod_status.ended(pod, now, succeeded=False))
        crashed = pod_status.restarted(pod, now, names, exit_code=1, resizes=False)
        return Step(now, crashed, restarts=True)
    names = _outdated(pod, life)
    if not names:
        return None
    if is_true(pod, "ContainersReady") or is_true(pod, "Ready"):
        return Step(now, pod_status.stopping(pod, now, names))
    resizes = life.resize_pending is None
    return Step(now, pod_status.restarted(pod, now, names, resizes=resizes), restarts=True)


def _settle(pod: Json, life: PodLife, now: datetime) -> Step | None:
    """Containers run as they should: are they ready, done, resized, observed?"""
    containers_ready = is_true(pod, "ContainersReady")
    ready = is_true(pod, "Ready")
    if _is_held(pod, life):
        if containers_ready or ready:
            return Step(now, pod_status.with_readiness(pod, now, ready=False))
        return _observe(pod, life, now)
    if not containers_ready:
        at = _ready_at(pod, life, _started_at(pod))
        if at > now:
            return Step(at, {})
        return Step(now, pod_status.with_readiness(pod, now, ready=True))
    if ready != pod_status.gates_hold(pod):
        return Step(now, pod_status.with_gates(pod, now))
    return _observe(pod, life, now) or (_complete(pod, life, now) if ready else None)


def _observe(pod: Json, life: PodLife, now: datetime) -> Step | None:
    seen = pod["status"].get("observedGeneration") == pod["metadata"].get("generation", 1)
    if seen and life.resize_pending == _pending_resize(pod):
        return None
    if is_wanted(pod) or _pending_resize(pod) is not None:
        return Step(now, pod_status.resized(pod, now, life.resize_pending))
    return Step(now, pod_status.observed(pod))


def _complete(pod: Json, life: PodLife, now: datetime) -> Step | None:
    delay = seconds(pod, COMPLETE_AFTER)
    if delay is None:
        if not life.is_job or life.times.completion is None:
            return None
        delay = life.times.completion
    since = condition(pod, "Ready")
    assert since is not None
    at = _late(parse_time(since["lastTransitionTime"]), delay)
    if at > now:
        return Step(at, {})
    return Step(now, pod_status.ended(pod, now, succeeded=True))


def _end(pod: Json, life: PodLife, now: datetime) -> datetime:
    meta = pod["metadata"]
    grace = meta.get("deletionGracePeriodSeconds", 0)
    delay = seconds(pod, TERMINATION_DELAY)
    if delay is not None:
        return max(now, _late(parse_time(meta["deletionTimestamp"]), delay - grace))
    since = life.terminating_since or now
    return since + timedelta(seconds=min(life.times.termination, grace))


def _late(moment: datetime, delay: float) -> datetime:
    return moment + timedelta(seconds=math.ceil(delay + 1))


def _is_held(pod: Json, life: PodLife) -> bool:
    return life.is_held or is_set(pod, UNREADY) or is_set(pod, FAIL)


def _ready_at(pod: Json, life: PodLife, started: datetime) -> datetime:
    if life.ready_after is not None:
        return life.since + timedelta(seconds=life.ready_after)
    delay = max(
        (
            (each.get("readinessProbe") or {}).get("initialDelaySeconds") or 0
            for each in pod["spec"]["containers"]
        ),
        default=0,
    )
    if delay:
        return started.replace(microsecond=0) + timedelta(seconds=delay + 1)
    return life.since + timedelta(seconds=life.times.start + life.times.ready)


def _started_at(pod: Json) -> datetime:
    """When the last container started."""
    running = [
        (each.get("state") or {}).get("running") for each in pod["status"]["containerStatuses"]
    ]
    return max(
        (parse_time(each["startedAt"]) for each in running if each),
        default=parse_time(pod["status"]["startTime"]),
    )


def _outdated(pod: Json, life: PodLife) -> list[str]:
    """Containers whose image is not the one that runs, or that restart for new resources."""
    running = {each["name"]: each for each in pod["status"].get("containerStatuses") or ()}
    return [
        each["name"]
        for each in pod["spec"]["containers"]
        if each["name"] in running
        and (
            not _runs(pod, running[each["name"]], each.get("image", ""))
            or (life.resize_pending is None and _restarts_for(each, running[each["name"]]))
        )
    ]


def _runs(pod: Json, status: Json, image: str) -> bool:
    """A status that another kubelet wrote may name its image in another way: then only a change
    of the specification tells a new image."""
    if status.get("image") == image:
        return True
    generation = pod["metadata"].get("generation", 1)
    observed = pod["status"].get("observedGeneration", generation)
    foreign = not status.get("containerID", "").startswith(pod_status.RUNTIME)
    return bool(foreign and observed == generation)


def _restarts_for(container: Json, status: Json) -> bool:
    old = status.get("resources") or {}
    new = container.get("resources") or {}
    for policy in container.get("resizePolicy") or ():
        name = policy["resourceName"]
        if policy.get("restartPolicy") == "RestartContainer" and any(
            (old.get(kind) or {}).get(name) != (new.get(kind) or {}).get(name)
            for kind in ("requests", "limits")
            if old
        ):
            return True
    return False


def _pending_resize(pod: Json) -> tuple[str, str] | None:
    found = condition(pod, "PodResizePending")
    return (found.get("reason", ""), found.get("message", "")) if found is not None else None
