"""Why a pod is not ready, in words for people: what the kubelet and the scheduler say of it."""

from typing import NamedTuple

from intact.model.listing import listed
from intact.model.pod import RoleContainerStatus, RolePod, RolePodCondition
from intact.model.pod_state import is_finished, is_terminating

LONGEST = 240
"""Characters: a scheduler may have something to say about every node."""
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_PULL = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})


class Cause(NamedTuple):
    text: str
    passing: bool = False
    """Part of every start; it needs attention only if it lasts."""


def why_not_ready(pod: RolePod) -> Cause:
    """Of a pod that is not ready."""
    cause = _why(pod)
    if len(cause.text) <= LONGEST:
        return cause
    return cause._replace(text=cause.text[: LONGEST - 3] + "...")


def _why(pod: RolePod) -> Cause:
    if is_terminating(pod):
        if pod.metadata.finalizers:
            names = listed(pod.metadata.finalizers, 3)
            plural = "s" if len(pod.metadata.finalizers) > 1 else ""
            return Cause(f"is being deleted and waits for the finalizer{plural} {names}")
        return Cause("is being deleted", passing=True)
    if is_finished(pod):
        return Cause(_joined(pod.status.phase, pod.status.reason))
    if not pod.spec.node_name and pod.status.phase != "Running":
        return _not_scheduled(pod)
    return _of_containers(pod) or _of_conditions(pod)


def _not_scheduled(pod: RolePod) -> Cause:
    found = _condition(pod, "PodScheduled")
    if found is None or found.status == "True":
        return Cause("waits for the scheduler", passing=True)
    return Cause(_joined(found.reason or "not scheduled", found.message))


def _of_containers(pod: RolePod) -> Cause | None:
    """Init containers first: until they are done, the others only wait."""
    for one in pod.status.init_container_statuses:
        ended = one.state.terminated
        if not one.ready and not (ended is not None and ended.exit_code == 0):
            return _of_container(pod, one, f"init container {one.name}")
    found = [
        _of_container(pod, one, f"container {one.name}")
        for one in pod.status.container_statuses
        if not one.ready
    ]
    return min(found, key=lambda one: one.passing, default=None)


def _of_container(pod: RolePod, one: RoleContainerStatus, name: str) -> Cause:
    waiting, ended = one.state.waiting, one.state.terminated or one.last_state.terminated
    if waiting is None and one.state.terminated is None:
        if one.restart_count:
            return Cause(f"{name}: not ready{_last_end(one)}")
        # An init container that runs, or a readiness probe that does not succeed.
        return Cause(f"{name}: {'running' if name.startswith('init') else 'not ready'}", True)
    if waiting is None:
        reason = ended.reason if ended is not None else ""
        return Cause(f"{name}: {reason or 'ended'}{_last_end(one)}")
    if waiting.reason in _PULL:
        images = [each.image for each in pod.spec.all_containers() if each.name == one.name]
        return Cause(f"{name}: {waiting.reason}: image {listed(images)}")
    passing = waiting.reason in _STARTING and not one.restart_count
    return Cause(f"{name}: {waiting.reason or 'waiting'}{_last_end(one)}", passing)


def _last_end(one: RoleContainerStatus) -> str:
    ended = one.state.terminated or one.last_state.terminated
    if ended is None and not one.restart_count:
        return ""
    parts = [] if ended is None else [f"exit code {ended.exit_code}"]
    if ended is not None and ended.reason not in ("", "Error", "Completed"):
        parts.insert(0, ended.reason)
    if one.restart_count:
        parts.append(f"{one.restart_count} restart{'s' if one.restart_count > 1 else ''}")
    return f" ({', '.join(parts)})"


def _of_conditions(pod: RolePod) -> Cause:
    """Its containers are ready, or the kubelet has not said anything yet."""
    found = _condition(pod, "Ready")
    if found is None:
        return Cause("waits for the kubelet", passing=True)
    if found.reason in ("", "ContainersNotReady"):
        return Cause("not ready", passing=True)
    return Cause(_joined(found.reason, found.message))


def _condition(pod: RolePod, kind: str) -> RolePodCondition | None:
    for one in pod.status.conditions:
        if one.type == kind:
            return one
    return None


def _joined(*texts: str) -> str:
    return ": ".join(filter(None, texts))
