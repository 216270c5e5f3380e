"""What a role's workloads should be now, and which pods may go: the decisions of a rollout, as
values that the controller carries out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from intact.model.amounts import check_amount, resolve
from intact.model.pod import Pod
from intact.model.rbg import Role, RoleProgress
from intact.rollout.facts import RoleFacts
from intact.rollout.names import workload_name


@dataclass(frozen=True, slots=True)
class WorkloadOrder:
    """One workload that a role should have now. Existing workloads without an order are deleted."""

    name: str
    role: Role
    """With the template that the workload should have: the RoleBasedGroup's, or an earlier one."""
    revision: str
    replicas: int
    partition: int | None = None
    """Ordinals below it keep their revision. None: as the role's own updateStrategy says."""
    labels: dict[str, str] = field(default_factory=dict)
    """For the pods, in addition to those that all pods of the role have."""
    paused: bool = False
    max_unavailable: int | None = None
    """For a workload whose own controller takes down replicas: a LeaderWorkerSet, or a Deployment
    that gets another template."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that may go now, within its budgets."""

    pod: Pod
    role: str
    deployment: str = ""
    """UID of the Deployment that is lowered afterwards; empty if the pod comes back updated."""


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """The next step of a coordinated rolling update."""

    orders: dict[str, list[WorkloadOrder]]
    """By role."""
    progress: dict[str, RoleProgress]
    evict: Sequence[Eviction] = ()
    """First to last: if one is refused, the later ones of its role wait."""
    settled: Sequence[str] = ()
    """UIDs of Deployments whose evicted pods these orders account for. The controller forgets those
    pods before it applies the orders, so that no pod lowers a Deployment twice."""
    relabel: Mapping[str, str] = field(default_factory=dict)
    """By pod name: the revision that routers should read on it."""
    events: Sequence[tuple[str, str, str]] = ()
    """Type, reason and message."""
    again_in: float | None = None
    """Seconds after which time alone may change the step."""
    rollback_to: str = ""
    """The ControllerRevision whose templates the RoleBasedGroup should get back."""
    skew: Fraction = Fraction(0)


def own_order(group: str, facts: RoleFacts) -> WorkloadOrder:
    """For a role outside of any coordination. A Deployment keeps the name that an earlier
    coordinated rollout gave it."""
    by_revision = sorted(facts.workloads, key=lambda one: one.revision != facts.revision)
    names = [one.name for one in by_revision]
    name = workload_name(group, facts.role.name)
    if names and name not in names:
        name = names[0]
    return WorkloadOrder(name, facts.role, facts.revision, facts.desired)


def own_partition(role: Role, replicas: int) -> int:
    """How many replicas the role's own updateStrategy keeps old."""
    rolling = role.update_strategy.rolling_update if role.update_strategy else None
    amount = (rolling.partition if rolling else None) or 0
    return 0 if check_amount(amount) else min(replicas, resolve(amount, replicas))
