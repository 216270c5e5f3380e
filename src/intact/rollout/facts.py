"""What a role has: frozen facts, read once at the start of a reconcile. All decisions about the
role are functions of them."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from intact.model.pod import Pod, RolePod
from intact.model.pod_state import is_ready, is_terminating
from intact.model.rbg import LEADER_WORKER_SET, STATEFUL_SET, Role
from intact.model.role_workload import RoleWorkload
from intact.rollout.belonging import revision_of_role
from intact.rollout.names import role_revision_label
from intact.rollout.replicas import RoleReplica, ready_for, replicas


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """An existing workload of a role."""

    name: str
    uid: str
    replicas: int
    revision: str
    """The role's revision that its template has."""
    partition: int = 0
    observed: bool = True
    """Whether its controller has seen its present spec."""
    settled: bool = False
    """Whether it creates every pod with its present template, whatever the partition."""
    evicted: frozenset[str] = frozenset()
    """Of a Deployment: UIDs of evicted pods that it has not been lowered by yet."""
    short: int | None = None
    """Of a Deployment that cannot create pods: how many it has, as its own controllers count. None
    if it can."""
    kind: str = STATEFUL_SET[1]
    updating: bool = False
    """Of a Deployment: whether it is on its way from one template to another by itself."""
    unavailable: int = 0
    """Of a Deployment: how many of its pods an update of its own may take down."""
    made: int | None = None
    """Replicas that there are, as its own controller counts; None if it has not seen the present
    spec."""
    failure: str = ""
    """Why it cannot create pods, in the words of its controller."""


def workload_facts(
    role: Role, workload: RoleWorkload, evicted: frozenset[str] = frozenset(), kind: str = ""
) -> WorkloadFacts:
    """Of a workload of this kind; without one, of the role's present kind."""
    meta, spec, status = workload.metadata, workload.spec, workload.status
    kind = kind or role.workload.kind
    observed = _is_observed(kind, workload)
    return WorkloadFacts(
        name=meta.name,
        uid=meta.uid,
        replicas=1 if spec.replicas is None else spec.replicas,
        revision=revision_of_role(workload, role.name),
        partition=spec.partition,
        observed=observed,
        settled=observed and status.current_revision == status.update_revision,
        evicted=evicted,
        short=status.short,
        kind=kind,
        unavailable=spec.unavailable,
        made=status.replicas if observed else None,
        failure=status.failure,
    )


def _is_observed(kind: str, workload: RoleWorkload) -> bool:
    """Whether its controller has seen its present spec. Older controllers of LeaderWorkerSets do
    not report it: there, only the pods can tell."""
    seen = workload.status.observed_generation
    if kind == LEADER_WORKER_SET[1] and not seen:
        return True
    return seen >= workload.metadata.generation


@dataclass(frozen=True, slots=True)
class RoleFacts:
    role: Role
    desired: int
    """Replicas that the role should have now."""
    revision: str
    """The hash of its present template."""
    pods: Sequence[RolePod] = ()
    workloads: Sequence[WorkloadFacts] = ()
    """Those of the role's present kind that stay."""
    others: Sequence[WorkloadFacts] = ()
    """Those of other kinds that stay: the role's kind was changed."""
    now: datetime | None = None
    size_in_batches: int | None = None
    """Replicas that the role should have once all its batches are started; None without batches."""
    is_made: bool = False
    """Whether it has any workload, even one of another kind or a terminating one."""

    @property
    def size(self) -> int:
        """Replicas that the role should have in the end."""
        return self.desired if self.size_in_batches is None else self.size_in_batches

    def with_answer(self, answer: RoleWorkload, kind: str = "") -> "RoleFacts":
        """After the API server has answered a write of one of its workloads. A workload that was
        just created stays unknown until the store has it; one in the place of another that was
        deleted meanwhile has nothing of it."""
        kind = kind or self.role.workload.kind
        return replace(
            self,
            workloads=self._answered(self.workloads, answer, kind),
            others=self._answered(self.others, answer, kind) if self.others else (),
        )

    def _answered(
        self, known: Sequence[WorkloadFacts], answer: RoleWorkload, kind: str
    ) -> list[WorkloadFacts]:
        found = []
        for one in known:
            if (one.kind, one.name) != (kind, answer.metadata.name):
                found.append(one)
            elif not is_terminating(answer):
                same = one.uid == answer.metadata.uid
                evicted = one.evicted if same else frozenset()
                found.append(workload_facts(self.role, answer, evicted, kind))
        return found

    def is_updated(self, pod: Pod) -> bool:
        return pod.metadata.labels.get(role_revision_label(self.role.name)) == self.revision

    def is_ready(self, pod: Pod) -> bool:
        """For as long as the role's `minReadySeconds` asks."""
        wait = self.role.min_ready_seconds
        if not wait or self.now is None:
            return is_ready(pod)
        return ready_for(pod, self.now) >= wait

    def until_ready(self) -> float | None:
        """Seconds until the next pod has been ready for long enough."""
        wait = self.role.min_ready_seconds
        if not wait or self.now is None:
            return None
        left = [wait - ready_for(pod, self.now) for pod in self.pods if is_ready(pod)]
        return min((each for each in left if each > 0), default=None)

    def replicas(self) -> list[RoleReplica]:
        return replicas(self.role, self.pods)

    def is_serving(self) -> bool:
        """Whether a role that depends on this one may start. A workload that its controller has not
        observed yet is not ready, whatever its counters say. For a role in batches, the batches
        that are started count: the next one may wait for the role that asks."""
        if not self.workloads or not all(one.observed for one in self.workloads):
            return False
        return sum(one.ready for one in self.replicas()) >= self.desired

    def can_spare_others(self, names: Container[str]) -> bool:
        """Whether the workloads of these names serve without the role's other workloads."""
        kept = [one for one in self.workloads if one.name in names]
        updated = sum(
            one.ready and one.revision == self.revision and _is_of(one.pods[0], self.role, kept)
            for one in self.replicas()
        )
        return bool(kept) and all(one.observed for one in kept) and updated >= self.desired


def _is_of(pod: Pod, role: Role, workloads: Sequence[WorkloadFacts]) -> bool:
    """Whether one of these workloads keeps the pod. A pod of a Deployment has the name of its
    ReplicaSet, which begins with that of the Deployment; of a LeaderWorkerSet nothing tells."""
    if role.kind == LEADER_WORKER_SET:
        return True
    for owner in pod.metadata.owner_references:
        above = owner.name.rpartition("-")[0] if owner.kind == "ReplicaSet" else ""
        if any(owner.uid == one.uid or above == one.name for one in workloads):
            return True
    return False
