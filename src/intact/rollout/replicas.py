"""Counting the replicas of a role from its pods: never from another controller's counters.

A replica is a pod; of a LeaderWorkerSet it is a leader with its workers, and is ready when all of
them are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from intact.model.pod import Pod
from intact.model.pod_state import condition_of, is_gone, is_ready
from intact.model.rbg import Role
from intact.model.times import parse_time
from intact.rollout.names import role_revision_label
from intact.rollout.validation import LEADER_WORKER_SET, kind_of

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
POD_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class RoleReplica:
    """Pods that are one replica of a role."""

    pods: tuple[Pod, ...]
    revision: str
    """Empty while its pods are of several."""
    ready: bool


def replicas(
    role: Role, pods: Iterable[Pod], counts: Callable[[Pod], bool] | None = None
) -> list[RoleReplica]:
    """Those that are there and will stay: what is terminating or finished is gone already. `counts`
    says which pods are ready, if it is more than that."""
    ready = counts or is_ready
    present = [pod for pod in pods if not is_gone(pod)]
    if kind_of(role) != LEADER_WORKER_SET:
        return [_replica(role, [pod], 1, ready) for pod in present]
    size = (role.leader_worker_set.size if role.leader_worker_set else None) or 1
    groups: dict[str, list[Pod]] = {}
    for pod in present:
        groups.setdefault(pod.metadata.labels.get(GROUP_INDEX, ""), []).append(pod)
    return [_replica(role, group, size, ready) for group in groups.values()]


def _replica(role: Role, pods: list[Pod], size: int, counts: Callable[[Pod], bool]) -> RoleReplica:
    label = role_revision_label(role.name)
    revisions = {pod.metadata.labels.get(label, "") for pod in pods}
    ready = sum(map(counts, pods)) >= size
    return RoleReplica(tuple(pods), revisions.pop() if len(revisions) == 1 else "", ready)


def ready_for(pod: Pod, now: datetime) -> float:
    """Seconds since when the pod is ready; less than none if it is not."""
    if not is_ready(pod):
        return -1
    ready = condition_of(pod, "Ready")
    since = ready.last_transition_time if ready is not None else None
    return (now - parse_time(since)).total_seconds() if since else float("inf")
