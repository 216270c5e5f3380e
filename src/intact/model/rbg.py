"""RoleBasedGroup and its scaling adapter, of workloads.x-k8s.io/v1alpha1.

Templates and patches stay untyped: Intact passes them on and does not read them.
"""

from typing import Any

from intact.model.amounts import IntOrPercent
from intact.model.base import View
from intact.model.meta import Condition, ObjectMeta

Json = dict[str, Any]

STATEFUL_SET = ("apps/v1", "StatefulSet")
DEPLOYMENT = ("apps/v1", "Deployment")
LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
NO_RESTART = "None"
"""The restart policy of a LeaderWorkerSet that restarts only the pod that failed."""


class WorkloadKind(View):
    api_version: str = "apps/v1"
    kind: str = "StatefulSet"


class LeaderWorkerSetTemplate(View):
    size: int | None = None
    """Pods of one replica, including the leader. Default: 1."""
    patch_leader_template: Json | None = None
    patch_worker_template: Json | None = None


class RoleRollingUpdate(View):
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None
    partition: IntOrPercent | None = None


class UpdateStrategy(View):
    """How a role outside of any coordination is updated: passed on to its workload."""

    type: str = ""
    rolling_update: RoleRollingUpdate | None = None


class RolloutRollingUpdate(RoleRollingUpdate):
    paused: bool = False
    type: str = ""
    """How a pod is updated: upstream's own workload kind can do it in place."""
    in_place_update_strategy: Json | None = None


class RolloutStrategy(View):
    """Upstream's name of an update strategy, and upstream's additions."""

    type: str = ""
    rolling_update: RolloutRollingUpdate | None = None


class RolePort(View):
    port: int
    name: str = ""
    protocol: str = ""
    target_port: IntOrPercent | None = None
    app_protocol: str = ""
    node_port: int = 0


class TemplateRef(View):
    name: str = ""


class RoleTemplate(View):
    """A pod template for several roles."""

    name: str
    template: Json = {}


class RoleScalingAdapter(View):
    enable: bool = False
    labels: dict[str, str] = {}


class Role(View):
    name: str
    replicas: int | None = None
    """Default: what the role's scaling adapter says; without an adapter, 1."""
    workload: WorkloadKind = WorkloadKind()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    template: Json = {}
    template_ref: TemplateRef | None = None
    template_patch: Json | None = None
    leader_worker_set: LeaderWorkerSetTemplate | None = None
    dependencies: list[str] = []
    update_strategy: UpdateStrategy | None = None
    rollout_strategy: RolloutStrategy | None = None
    restart_policy: str = ""
    scaling_adapter: RoleScalingAdapter | None = None
    engine_runtimes: list[Json] = []
    components: list[Json] = []
    service_ports: list[RolePort] = []
    min_ready_seconds: int | None = None
    pod_management_policy: str = ""

    @property
    def pods_per_replica(self) -> int:
        """More than one only for a LeaderWorkerSet."""
        return (self.leader_worker_set.size if self.leader_worker_set else None) or 1

    @property
    def kind(self) -> tuple[str, str]:
        """apiVersion and kind of its workload: one of the three above, if the role is valid."""
        return self.workload.api_version, self.workload.kind

    @property
    def strategy(self) -> UpdateStrategy | RolloutStrategy | None:
        """Its own update strategy, under either of its two names."""
        return self.update_strategy or self.rollout_strategy

    @property
    def has_adapter(self) -> bool:
        """Upstream switches adapters on; Intact has one for each role that does not say."""
        return self.scaling_adapter is None or self.scaling_adapter.enable


class CoordinatedRollingUpdate(View):
    """The same three rules in upstream's typed form."""

    max_skew: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    partition: IntOrPercent | None = None


class AffinityScheduling(View):
    topology_key: str = ""
    ratios: dict[str, int] = {}
    batch_mode: str = ""


class CoordinationStrategy(View):
    max_unavailable_ratio: IntOrPercent | None = None
    max_skew: IntOrPercent | None = None
    partition: IntOrPercent | None = None
    rolling_update: CoordinatedRollingUpdate | None = None
    affinity_scheduling: AffinityScheduling | None = None
    scaling: Json | None = None


class Coordination(View):
    name: str
    type: str = ""
    """Default: the type of the strategy that is set."""
    roles: list[str] = []
    strategy: CoordinationStrategy = CoordinationStrategy()


class RbgSpec(View):
    roles: list[Role] = []
    role_templates: list[RoleTemplate] = []
    pod_group_policy: Json | None = None
    coordination: list[Coordination] = []
    progress_deadline_seconds: int | None = None
    on_failure: str = ""
    paused: bool = False

    def role(self, name: str) -> Role | None:
        return next((one for one in self.roles if one.name == name), None)

    def coordination_named(self, name: str) -> Coordination | None:
        return next((one for one in self.coordination if one.name == name), None)


class RoleStatus(View):
    name: str
    desired: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    updated_ready_replicas: int = 0
    revision: str = ""
    message: str = ""
    """What the role waits for; empty if it waits for nothing."""


class RoleProgress(View):
    """How far a coordinated role is, and what it waits for."""

    strategy: str = ""
    state: str = ""
    desired: int = 0
    updated: int = 0
    ready: int = 0
    """Of the updated ones."""
    most_ready: int = 0
    """The most that were ready at once, of this revision: more than that is progress."""
    allowed: int = 0
    """How many may run the new revision now."""
    partition: int = 0
    """How many stay old."""
    waiting_for: str = ""
    since: str | None = None
    idle_seconds: int = 0
    """Of a role that is at rest or waits: how long it had made no progress before."""


class BatchProgress(View):
    """How far an AffinityScheduling coordination is."""

    total: int = 0
    started: int = 0
    ready: int = 0
    pending: list[int] = []
    """Batches with a pod that the scheduler finds no node for."""


class CoordinationState(View):
    name: str
    type: str = ""
    progress: dict[str, RoleProgress] = {}
    batches: BatchProgress | None = None
    last_update_time: str | None = None


class RbgStatus(View):
    observed_generation: int = 0
    conditions: list[Condition] = []
    role_statuses: list[RoleStatus] = []
    coordination_state: list[CoordinationState] = []
    current_revision: str = ""
    """The ControllerRevision that all roles completed last."""
    update_revision: str = ""
    """The ControllerRevision of the present templates."""
    ready: str = ""
    updated: str = ""
    coordinating: str = ""

    def role(self, name: str) -> RoleStatus | None:
        return next((one for one in self.role_statuses if one.name == name), None)

    def coordination_named(self, name: str) -> CoordinationState | None:
        return next((one for one in self.coordination_state if one.name == name), None)

    def condition(self, kind: str) -> Condition | None:
        return next((one for one in self.conditions if one.type == kind), None)


class RoleBasedGroup(View):
    metadata: ObjectMeta
    spec: RbgSpec = RbgSpec()
    status: RbgStatus = RbgStatus()


class ScaleTarget(View):
    name: str = ""
    role: str = ""


class ScalingAdapterSpec(View):
    replicas: int | None = None
    scale_target_ref: ScaleTarget = ScaleTarget()


class ScalingAdapterStatus(View):
    replicas: int = 0
    selector: str = ""
    phase: str = ""
    message: str = ""


class ScalingAdapter(View):
    metadata: ObjectMeta
    spec: ScalingAdapterSpec = ScalingAdapterSpec()
    status: ScalingAdapterStatus = ScalingAdapterStatus()
