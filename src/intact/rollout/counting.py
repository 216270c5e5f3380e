"""Counting the replicas of a role from its pods: never from another controller's counters.

A replica is a pod; of a LeaderWorkerSet it is a leader with its workers, and is ready when all of
them are.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from intact.model.pod import Pod
from intact.model.rbg import Role
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


def replicas(role: Role, pods: Iterable[Pod]) -> list[RoleReplica]:
    """Those that are there and will stay: what is terminating or finished is gone already."""
    present = [pod for pod in pods if not is_gone(pod)]
    if kind_of(role) != LEADER_WORKER_SET:
        return [_replica(role, [pod], 1) for pod in present]
    size = (role.leader_worker_set.size if role.leader_worker_set else None) or 1
    groups: dict[str, list[Pod]] = {}
    for pod in present:
        groups.setdefault(pod.metadata.labels.get(GROUP_INDEX, ""), []).append(pod)
    return [_replica(role, group, size) for group in groups.values()]


def _replica(role: Role, pods: list[Pod], size: int) -> RoleReplica:
    label = role_revision_label(role.name)
    revisions = {pod.metadata.labels.get(label, "") for pod in pods}
    ready = sum(is_ready(pod) for pod in pods) >= size
    return RoleReplica(tuple(pods), revisions.pop() if len(revisions) == 1 else "", ready)


def is_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and any(
        condition.type == "Ready" and condition.status == "True"
        for condition in pod.status.conditions
    )


def is_gone(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in (
        "Succeeded",
        "Failed",
    )
