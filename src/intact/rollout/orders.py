"""What a role has, and what it should have now: the words between the group's controller, which
reads and writes, and whoever decides how far a role may go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from intact.model.pod import Pod
from intact.model.pod_state import is_ready
from intact.model.rbg import Json, Role, RoleProgress
from intact.rollout.replicas import ready_for


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """A workload of a role that is there."""

    name: str
    uid: str
    replicas: int
    revision: str
    """The role's revision that its template is of."""
    partition: int = 0
    observed: bool = True
    """Whether its controller has seen its present spec."""
    settled: bool = False
    """Whether every pod that it makes now has its present template, whatever the partition."""
    evicted: frozenset[str] = frozenset()
    """Of a Deployment: UIDs of pods that were evicted and that it has not been lowered by yet."""
    short: int | None = None
    """Of a Deployment that cannot make pods: how many it has, as its own controllers count. None if
    it can."""


@dataclass(frozen=True, slots=True)
class RoleFacts:
    role: Role
    desired: int
    """Replicas that the role should have when all is done."""
    revision: str
    """The hash of its present template."""
    pods: Sequence[Pod] = ()
    workloads: Sequence[WorkloadFacts] = ()
    now: datetime | None = None

    def is_ready(self, pod: Pod) -> bool:
        """For as long as the role asks."""
        wait = self.role.min_ready_seconds
        if not wait or self.now is None:
            return is_ready(pod)
        return ready_for(pod, self.now) >= wait

    def until_ready(self) -> float | None:
        """Seconds until the next pod is ready for long enough."""
        wait = self.role.min_ready_seconds
        if not wait or self.now is None:
            return None
        left = [wait - ready_for(pod, self.now) for pod in self.pods if is_ready(pod)]
        return min((each for each in left if each > 0), default=None)


@dataclass(frozen=True, slots=True)
class WorkloadOrder:
    """One workload that a role should have now. A role that gets no order for a workload that is
    there loses it."""

    name: str
    role: Role
    """With the template that it should have, which may be an older one than the group's."""
    revision: str
    replicas: int
    partition: int | None = None
    """Ordinals below it keep their revision. None: as the role's own updateStrategy says."""
    labels: dict[str, str] = field(default_factory=dict)
    """For the pods, beside those that all pods of the role have."""
    paused: bool = False
    max_unavailable: int | None = None
    """For what takes down its replicas itself: a LeaderWorkerSet, or a Deployment that is given
    another template."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that may go now, within its budgets."""

    pod: Pod
    role: str
    deployment: str = ""
    """UID of the Deployment that is lowered by it afterwards; else it comes back updated."""


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """What a coordinated rolling update wants now."""

    orders: dict[str, list[WorkloadOrder]]
    """By role."""
    progress: dict[str, RoleProgress]
    evict: Sequence[Eviction] = ()
    """First to last: where one is refused, those after it in its role wait."""
    settled: Sequence[str] = ()
    """UIDs of Deployments whose evicted pods these orders take into account: to be forgotten before
    the orders are applied, so that none is lowered twice by one pod."""
    relabel: Mapping[str, str] = field(default_factory=dict)
    """By pod name: the revision that routers should read on it."""
    events: Sequence[tuple[str, str, str]] = ()
    """Type, reason and message."""
    again_in: float | None = None
    """Seconds after which time alone may change the answer."""
    rollback_to: str = ""
    """The ControllerRevision whose templates the group shall have again."""
    skew: Fraction = Fraction(0)


def template_of(role: Role) -> Json:
    """What a revision of the role is made of: what its pods are, not how many or how updated."""
    sets = role.leader_worker_set
    found: Json = {"template": role.template, "workload": role.workload.kind}
    if sets is not None:
        found["size"] = sets.size or 1
        found["leader"] = sets.patch_leader_template or {}
        found["worker"] = sets.patch_worker_template or {}
    return found
