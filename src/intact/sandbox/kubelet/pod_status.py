"""The status of a pod at each turn of its life. Each function returns a new one."""

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from intact.model.times import timestamp
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.pod_state import condition, is_true

RUNTIME = "sandbox://"
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def started(pod: Json, now: datetime, host_ip: str, pod_ip: str, *, ready: bool) -> Json:
    """All containers run; init containers have ended."""
    spec, moment = pod["spec"], timestamp(now)
    status = _observed(pod)
    status |= {
        "phase": "Running",
        "startTime": moment,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "containerStatuses": [
            _container(pod, each, moment, ready=ready) for each in spec["containers"]
        ],
    }
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [
            _init_container(pod, each, moment) for each in spec["initContainers"]
        ]
    if not condition(pod, "PodScheduled"):
        _set(status, pod, now, "PodScheduled", "True")
    for kind in _CONDITIONS[:2]:
        _set(status, pod, now, kind, "True")
    _set_readiness(status, pod, now, ready=ready)
    return status


def with_readiness(pod: Json, now: datetime, *, ready: bool) -> Json:
    """All containers are ready, or none is. Ready follows them and the readiness gates."""
    status = _observed(pod)
    for each in status.get("containerStatuses") or ():
        each["ready"] = ready
    _set_readiness(status, pod, now, ready=ready)
    return status


def with_gates(pod: Json, now: datetime) -> Json:
    """Ready follows the readiness gates."""
    status = _observed(pod)
    _set_readiness(status, pod, now, ready=True)
    return status


def stopping(pod: Json, now: datetime, containers: Collection[str]) -> Json:
    """These containers are about to restart. The generation is observed when they have."""
    status = copied(pod["status"])
    for each in status["containerStatuses"]:
        if each["name"] in containers:
            each["ready"] = False
    _set_readiness(status, pod, now, ready=False)
    return status


def restarted(
    pod: Json,
    now: datetime,
    containers: Collection[str],
    *,
    exit_code: int = 0,
    resizes: bool = True,
) -> Json:
    """These containers have ended, and run again as the specification has them; unless it
    `resizes`, with the resources that they had."""
    status, moment = _observed(pod), timestamp(now)
    wanted = {each["name"]: each for each in pod["spec"]["containers"]}
    found = []
    for old in status["containerStatuses"]:
        if old["name"] not in containers:
            found.append(old)
            continue
        restarts = old.get("restartCount", 0) + 1
        new = _container(pod, wanted[old["name"]], moment, ready=False, restarts=restarts)
        if not resizes:
            new |= {name: old[name] for name in ("allocatedResources", "resources") if name in old}
        new["lastState"] = _ended(old, moment, exit_code)
        found.append(new)
    status["containerStatuses"] = found
    if resizes:
        _drop_resize(status)
    _set_readiness(status, pod, now, ready=False)
    return status


def ended(pod: Json, now: datetime, *, succeeded: bool) -> Json:
    status, moment = _observed(pod), timestamp(now)
    status["phase"] = "Succeeded" if succeeded else "Failed"
    for each in status.get("containerStatuses") or ():
        each.update(ready=False, started=False)
        each["state"] = _ended(each, moment, 0 if succeeded else 1)
    for kind in ("ContainersReady", "Ready"):
        reason = "PodCompleted" if succeeded else "PodFailed"
        _set(status, pod, now, kind, "False", reason)
    return status


def resized(pod: Json, now: datetime, pending: tuple[str, str] | None) -> Json:
    """The containers have the resources that they want; or the resize is pending, with a reason and
    a message."""
    status = _observed(pod)
    _drop_resize(status)
    if pending is not None:
        _set(status, pod, now, "PodResizePending", "True", *pending)
        return status
    wanted = {each["name"]: each for each in pod["spec"]["containers"]}
    for each in status.get("containerStatuses") or ():
        each.update(_resources(wanted[each["name"]]))
    return status


def _drop_resize(status: Json) -> None:
    status["conditions"] = [
        each
        for each in status.get("conditions") or ()
        if each["type"] not in ("PodResizePending", "PodResizeInProgress")
    ]


def observed(pod: Json) -> Json:
    return _observed(pod)


def gates_hold(pod: Json) -> bool:
    return all(
        is_true(pod, gate["conditionType"]) for gate in pod["spec"].get("readinessGates") or ()
    )


def image_id(image: str) -> str:
    return f"{image}@sha256:{sha256(image.encode()).hexdigest()}"


def _observed(pod: Json) -> Json:
    status = copied(pod["status"])
    status["observedGeneration"] = pod["metadata"].get("generation", 1)
    return status


def _set_readiness(status: Json, pod: Json, now: datetime, *, ready: bool) -> None:
    if not ready:
        names = " ".join(
            each["name"] for each in status.get("containerStatuses") or () if not each["ready"]
        )
        why = ("ContainersNotReady", f"containers with unready status: [{names}]")
        for kind in ("ContainersReady", "Ready"):
            _set(status, pod, now, kind, "False", *why)
        return
    _set(status, pod, now, "ContainersReady", "True")
    if gates_hold({**pod, "status": status}):
        _set(status, pod, now, "Ready", "True")
    else:
        _set(status, pod, now, "Ready", "False", "ReadinessGatesNotReady")


def _set(
    status: Json,
    pod: Json,
    now: datetime,
    kind: str,
    value: str,
    reason: str = "",
    message: str = "",
) -> None:
    new: Json = {
        "type": kind,
        "status": value,
        "lastTransitionTime": timestamp(now),
        "observedGeneration": pod["metadata"].get("generation", 1),
    }
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    conditions = status.setdefault("conditions", [])
    for index, old in enumerate(conditions):
        if old["type"] == kind:
            if old["status"] == value and "lastTransitionTime" in old:
                new["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = new
            return
    conditions.append(new)


def _container(pod: Json, container: Json, moment: str, *, ready: bool, restarts: int = 0) -> Json:
    image = container.get("image", "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "containerID": _container_id(pod, container["name"], restarts),
        "ready": ready,
        "started": True,
        "restartCount": restarts,
        "state": {"running": {"startedAt": moment}},
        **_resources(container),
    }


def _resources(container: Json) -> Json:
    found = container.get("resources") or {}
    shown = {name: found[name] for name in ("requests", "limits") if found.get(name)}
    if not shown:
        return {}
    if "requests" in shown:
        return {"allocatedResources": shown["requests"], "resources": shown}
    return {"resources": shown}


def _init_container(pod: Json, container: Json, moment: str) -> Json:
    status = _container(pod, container, moment, ready=True)
    if container.get("restartPolicy") != "Always":
        status["started"] = False
        status["state"] = _ended(status, moment, 0)
    return status


def _container_id(pod: Json, name: str, restarts: int) -> str:
    text = f"{pod['metadata']['uid']}/{name}/{restarts}"
    return f"{RUNTIME}{sha256(text.encode()).hexdigest()}"


def _ended(container: Json, moment: str, exit_code: int) -> Json:
    running = (container.get("state") or {}).get("running") or {}
    return {
        "terminated": {
            "containerID": container.get("containerID", ""),
            "exitCode": exit_code,
            "reason": "Error" if exit_code else "Completed",
            "startedAt": running.get("startedAt", moment),
            "finishedAt": moment,
        }
    }
