"""The status of a Deployment: the counters of its ReplicaSets, and the conditions Available,
Progressing and ReplicaFailure. Nothing here writes."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from intact.model.times import parse_time, timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.deployments.sizes import count, fence, size, total

PROGRESSING = "Progressing"
_FAILURE = "ReplicaFailure"
_NO_LIMIT = 2**31 - 1
_COMPLETE = "NewReplicaSetAvailable"
_TIMED_OUT = "ProgressDeadlineExceeded"
_PAUSED = "DeploymentPaused"

Conditions = list[Json]


def condition(conditions: Conditions, kind: str) -> Json | None:
    return next((each for each in conditions if each["type"] == kind), None)


def with_condition(
    conditions: Conditions, now: datetime, kind: str, status: str, reason: str, message: str
) -> Conditions:
    """One that says the same already stays as it is."""
    present = condition(conditions, kind)
    if present and (present["status"], present["reason"]) == (status, reason):
        return conditions
    moment = timestamp(now)
    since = present["lastTransitionTime"] if present and present["status"] == status else moment
    made = {
        "type": kind,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*without_condition(conditions, kind), made]


def without_condition(conditions: Conditions, kind: str) -> Conditions:
    return [each for each in conditions if each["type"] != kind]


def deadline(deployment: Json) -> int | None:
    seconds = deployment["spec"].get("progressDeadlineSeconds")
    return None if seconds in (None, _NO_LIMIT) else int(seconds)


def history_limit(deployment: Json) -> int | None:
    limit = deployment["spec"].get("revisionHistoryLimit")
    return None if limit in (None, _NO_LIMIT) else int(limit)


def pause_seen(deployment: Json, conditions: Conditions, now: datetime) -> Conditions:
    """A pause stops the clock of the deadline, and its end starts it again."""
    present = condition(conditions, PROGRESSING)
    reason = present["reason"] if present else ""
    paused = bool(deployment["spec"].get("paused"))
    if deadline(deployment) is None or reason == _TIMED_OUT or paused == (reason == _PAUSED):
        return conditions
    if paused:
        return with_condition(
            conditions, now, PROGRESSING, "Unknown", _PAUSED, "Deployment is paused"
        )
    message = "Deployment is resumed"
    return with_condition(conditions, now, PROGRESSING, "Unknown", "DeploymentResumed", message)


def is_complete(deployment: Json, status: Json) -> bool:
    replicas = size(deployment)
    return (
        all(
            status.get(name, 0) == replicas
            for name in ("updatedReplicas", "replicas", "availableReplicas")
        )
        and status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    )


def status_of(
    deployment: Json,
    sets: Sequence[Json],
    new: Json | None,
    conditions: Conditions,
    collisions: int,
    now: datetime,
) -> Json:
    """Without progress, which only a rollout makes."""
    available = sum(count(one, "availableReplicas") for one in sets)
    counts = {
        "replicas": sum(count(one, "replicas") for one in sets),
        "updatedReplicas": count(new, "replicas") if new is not None else 0,
        "readyReplicas": sum(count(one, "readyReplicas") for one in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(sets) - available),
    }
    if available >= size(deployment) - fence(deployment)[1]:
        text = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        text = ("False", "MinimumReplicasUnavailable", message)
    status: Json = {"observedGeneration": deployment["metadata"]["generation"]}
    status |= {name: number for name, number in counts.items() if number}
    status["terminatingReplicas"] = sum(count(one, "terminatingReplicas") for one in sets)
    if collisions:
        status["collisionCount"] = collisions
    status["conditions"] = with_condition(conditions, now, "Available", *text)
    return status


def with_progress(
    deployment: Json, sets: Sequence[Json], new: Json | None, status: Json, now: datetime
) -> Json:
    conditions = _progress(deployment, new, status, now)
    failures = [
        each
        for one in ([new] if new is not None else []) + list(sets)
        for each in one.get("status", {}).get("conditions") or ()
        if each["type"] == _FAILURE
    ]
    if failures:
        first = failures[0]
        conditions = with_condition(
            conditions, now, _FAILURE, first["status"], first["reason"], first["message"]
        )
    else:
        conditions = without_condition(conditions, _FAILURE)
    return {**status, "conditions": conditions}


def _progress(deployment: Json, new: Json | None, status: Json, now: datetime) -> Conditions:
    conditions: Conditions = status["conditions"]
    if deadline(deployment) is None:
        return without_condition(conditions, PROGRESSING)
    present = condition(conditions, PROGRESSING)
    updated = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if updated and present and present["reason"] == _COMPLETE:
        return conditions
    if new is not None:
        what = f'ReplicaSet "{new["metadata"]["name"]}"'
    else:
        what = f'Deployment "{deployment["metadata"]["name"]}"'
    if is_complete(deployment, status):
        message = f"{what} has successfully progressed."
        return with_condition(conditions, now, PROGRESSING, "True", _COMPLETE, message)
    if _has_moved(deployment.get("status", {}), status):
        # Its time moves on with every step.
        others = without_condition(conditions, PROGRESSING)
        reason, message = "ReplicaSetUpdated", f"{what} is progressing."
        found = with_condition(others, now, PROGRESSING, "True", reason, message)
        if present and present["status"] == "True":
            found[-1] = {**found[-1], "lastTransitionTime": present["lastTransitionTime"]}
        return found
    wait = until_deadline(deployment, conditions, now)
    if wait is not None and wait < 0:
        message = f"{what} has timed out progressing."
        return with_condition(conditions, now, PROGRESSING, "False", _TIMED_OUT, message)
    return conditions


def _has_moved(before: Json, after: Json) -> bool:
    def old(status: Json) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(after) < old(before) or any(
        after.get(name, 0) > before.get(name, 0) for name in names
    )


def until_deadline(deployment: Json, conditions: Conditions, now: datetime) -> float | None:
    """Seconds in which the rollout has to move; None if there is nothing to wait for."""
    present, seconds = condition(conditions, PROGRESSING), deadline(deployment)
    if present is None or seconds is None or present["reason"] in (_COMPLETE, _TIMED_OUT):
        return None
    due = parse_time(present["lastUpdateTime"]) + timedelta(seconds=seconds)
    return (due - now).total_seconds()
