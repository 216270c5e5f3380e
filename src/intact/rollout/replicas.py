"""Counts the replicas of a role from its pods, never from the counters of another controller.

A replica is a pod. For a LeaderWorkerSet it is a leader with its workers, ready when all of them
are.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.model.amounts import parse_count
from intact.model.pod import Pod
from intact.model.pod_state import condition_of, is_gone, is_ready
from intact.model.rbg import LEADER_WORKER_SET, Role
from intact.model.times import parse_time
from intact.rollout.names import role_revision_label

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
POD_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class RoleReplica:
    """The pods of one replica of a role."""

    pods: tuple[Pod, ...]
    revision: str
    """Empty while its pods have different ones."""
    ready: bool


def replicas(
    role: Role, pods: Iterable[Pod], counts: Callable[[Pod], bool] | None = None
) -> list[RoleReplica]:
    """The replicas that stay: a terminating or finished pod counts as gone. `counts` says which
    pods are ready, if the pod's Ready condition alone does not."""
    ready = counts or is_ready
    present = [pod for pod in pods if not is_gone(pod)]
    # A role whose kind was changed has pods of both.
    single = [_replica(role, [pod], 1, ready) for pod in present if not _in_set(pod)]
    groups: dict[str, list[Pod]] = {}
    for pod in filter(_in_set, present):
        groups.setdefault(pod.metadata.labels[GROUP_INDEX], []).append(pod)
    return single + [
        _replica(role, group, _size(role, group[0]), ready) for group in groups.values()
    ]


def _in_set(pod: Pod) -> bool:
    """Whether it is of a LeaderWorkerSet."""
    return GROUP_INDEX in pod.metadata.labels


def _size(role: Role, pod: Pod) -> int:
    """Of the replica that this pod of a LeaderWorkerSet is in."""
    if role.kind == LEADER_WORKER_SET:
        return role.pods_per_replica
    return parse_count(pod.metadata.annotations.group_size) or 1


def _replica(role: Role, pods: list[Pod], size: int, counts: Callable[[Pod], bool]) -> RoleReplica:
    label = role_revision_label(role.name)
    revisions = {pod.metadata.labels.get(label, "") for pod in pods}
    ready = sum(map(counts, pods)) >= size
    return RoleReplica(tuple(pods), revisions.pop() if len(revisions) == 1 else "", ready)


def ready_for(pod: Pod, now: datetime) -> float:
    """Seconds for which the pod has been ready; negative if it is not."""
    if not is_ready(pod):
        return -1
    ready = condition_of(pod, "Ready")
    since = ready.last_transition_time if ready is not None else None
    return (now - parse_time(since)).total_seconds() if since else float("inf")


def number_in_name(name: str) -> int | None:
    """The number after the last dash of a pod's name."""
    return parse_count(name.rpartition("-")[2])


def ordinal_of(labels: Mapping[str, str], name: str) -> int | None:
    """The ordinal of a StatefulSet's pod. While the pod is being created, it may have it only in
    its name."""
    index = labels.get(POD_INDEX)
    return parse_count(index) if index else number_in_name(name)


def replica_index(labels: Mapping[str, str], name: str) -> int | None:
    """The index of a pod's replica in its LeaderWorkerSet, or the ordinal of a StatefulSet's."""
    index = labels.get(GROUP_INDEX)
    return parse_count(index) if index else ordinal_of(labels, name)
