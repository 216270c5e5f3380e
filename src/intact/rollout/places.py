"""The places of a role, for the plan: what stands in each, and with which revision one that is
empty will come back.

A StatefulSet makes a pod at or above its partition with its present template, and one below with
the earlier one, unless it has only one (`settled`). What is terminating is as good as gone; what we
hold (`HELD`) comes back new, because the partition is lowered before it is let go.
"""

from dataclasses import dataclass

from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.rollout.names import HELD, role_revision_label
from intact.rollout.orders import RoleFacts, WorkloadFacts
from intact.rollout.plan import PlannedRole, Replica
from intact.rollout.replicas import GROUP_INDEX, POD_INDEX, replicas


@dataclass(frozen=True, slots=True)
class Ordinals:
    """A role on a StatefulSet."""

    role: PlannedRole
    pods: dict[int, Pod]
    """By ordinal, terminating ones as well."""
    updated: int
    """Pods that are there with the new revision."""

    def alive(self, ordinal: int) -> Pod | None:
        pod = self.pods.get(ordinal)
        return pod if pod is not None and not is_terminating(pod) else None


def is_held(pod: Pod) -> bool:
    return HELD in pod.metadata.finalizers


def is_updated(facts: RoleFacts, pod: Pod) -> bool:
    label = role_revision_label(facts.role.name)
    return pod.metadata.labels.get(label) == facts.revision


def ordinals(facts: RoleFacts, live: WorkloadFacts) -> Ordinals:
    pods: dict[int, Pod] = {}
    for pod in facts.pods:
        ordinal = _ordinal(pod)
        owners = pod.metadata.owner_references
        if ordinal is not None and any(owner.uid == live.uid for owner in owners):
            pods[ordinal] = pod
    found = tuple(
        _place(facts, live, ordinal, pods.get(ordinal)) for ordinal in range(facts.desired)
    )
    updated = sum(
        is_updated(facts, pod) and not is_terminating(pod)
        for ordinal, pod in pods.items()
        if ordinal < facts.desired
    )
    return Ordinals(PlannedRole(facts.role.name, facts.desired, found), pods, updated)


def _ordinal(pod: Pod) -> int | None:
    text = pod.metadata.labels.get(POD_INDEX) or pod.metadata.name.rpartition("-")[2]
    return int(text) if text.isdecimal() else None


def _place(facts: RoleFacts, live: WorkloadFacts, ordinal: int, pod: Pod | None) -> Replica:
    present = live.revision == facts.revision
    if pod is None or is_terminating(pod):
        will_come = live.settled or live.partition <= ordinal < live.replicas
        held = pod is not None and is_held(pod)
        return Replica(ordinal, new=present and (will_come or held))
    if is_updated(facts, pod):
        return Replica(ordinal, new=True, ready=facts.is_ready(pod))
    if present and ordinal >= live.partition:
        return Replica(ordinal, new=True)  # its workload is about to take it down
    return Replica(ordinal, ready=facts.is_ready(pod))


def groups(facts: RoleFacts, live: WorkloadFacts) -> tuple[PlannedRole, int]:
    """A role on a LeaderWorkerSet, which takes down its replicas itself, and how many are updated.
    What its partition lets go is as good as started."""
    present = live.revision == facts.revision
    there: dict[int, Replica] = {}
    updated = 0
    for one in replicas(facts.role, facts.pods, facts.is_ready):
        text = one.pods[0].metadata.labels.get(GROUP_INDEX, "")
        if text.isdecimal():
            new = one.revision == facts.revision
            there[int(text)] = Replica(int(text), new=new, ready=one.ready)
            updated += new and int(text) < facts.desired
    only_new = live.observed and all(one.new for one in there.values())
    found = []
    for index in range(facts.desired):
        one_there = there.get(index, Replica(index))
        let_go = live.partition <= index < live.replicas
        if present and not one_there.new and (let_go or (only_new and index not in there)):
            one_there = Replica(index, new=True)
        found.append(one_there)
    return PlannedRole(facts.role.name, facts.desired, tuple(found)), updated
