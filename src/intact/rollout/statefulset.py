"""How a role on a StatefulSet moves: pod by pod, from the highest ordinal down.

1. A new template is written with a partition that holds everything.
2. A pod moves by being evicted, and the finalizer `HELD` keeps it in its place.
3. The partition goes below it, and only then the pod is let go.

A StatefulSet creates a pod at or above its partition with its present template, and one below with
the earlier one, unless it has only one template (`settled`). A terminating pod counts as gone. A
held pod comes back new, because the partition is lowered before the pod is let go.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import HELD
from intact.rollout.orders import Eviction, WorkloadOrder
from intact.rollout.plan import PlannedRole, Replica, RolePlan
from intact.rollout.replicas import ordinal_of


def is_held(pod: Pod) -> bool:
    return HELD in pod.metadata.finalizers


@dataclass(frozen=True, slots=True)
class Ordinals:
    """A role on a StatefulSet, by ordinal."""

    facts: RoleFacts
    live: WorkloadFacts
    role: PlannedRole
    pods: dict[int, Pod]
    """By ordinal, including terminating ones."""

    @property
    def updated(self) -> int:
        """Pods with the new revision."""
        return sum(
            self.facts.is_updated(pod) and not is_terminating(pod)
            for ordinal, pod in self.pods.items()
            if ordinal < self.facts.desired
        )

    def alive(self, ordinal: int) -> Pod | None:
        pod = self.pods.get(ordinal)
        return pod if pod is not None and not is_terminating(pod) else None


def ordinals(facts: RoleFacts) -> Ordinals:
    """Of a role whose StatefulSet is there."""
    live = facts.workloads[0]
    pods: dict[int, Pod] = {}
    for pod in facts.pods:
        ordinal = ordinal_of(pod.metadata.labels, pod.metadata.name)
        owners = pod.metadata.owner_references
        if ordinal is not None and any(owner.uid == live.uid for owner in owners):
            pods[ordinal] = pod
    places = tuple(_place(facts, live, at, pods.get(at)) for at in range(facts.desired))
    return Ordinals(facts, live, PlannedRole(facts.role.name, facts.desired, places), pods)


def _place(facts: RoleFacts, live: WorkloadFacts, ordinal: int, pod: Pod | None) -> Replica:
    present = live.revision == facts.revision
    if pod is None or is_terminating(pod):
        will_come = live.settled or live.partition <= ordinal < live.replicas
        held = pod is not None and is_held(pod)
        return Replica(ordinal, new=present and (will_come or held))
    if facts.is_updated(pod):
        return Replica(ordinal, new=True, ready=facts.is_ready(pod))
    if present and ordinal >= live.partition:
        return Replica(ordinal, new=True)  # its StatefulSet is about to take it down
    return Replica(ordinal, ready=facts.is_ready(pod))


def order(there: Ordinals, plan: RolePlan) -> tuple[WorkloadOrder, list[Eviction]]:
    facts, live = there.facts, there.live
    moves = plan.moves
    if live.revision != facts.revision:
        # Nothing may move before the template is there.
        partition, moves = max(facts.desired, live.replicas), ()
    else:
        partition = _partition(there, moves)
    evictions = [Eviction(pod, plan.name) for at in moves if (pod := there.alive(at)) is not None]
    return WorkloadOrder(live.name, facts.role, facts.revision, facts.desired, partition), evictions


def _partition(there: Ordinals, moves: Sequence[int]) -> int:
    """The lowest ordinal at and above which no old pod stands: the StatefulSet has none to delete
    by itself."""
    partition = there.facts.desired
    for place in reversed(there.role.replicas):
        pod = there.alive(place.index)
        if pod is not None and not there.facts.is_updated(pod):
            break
        if pod is None and not place.new and place.index not in moves:
            break
        partition = place.index
    return partition
