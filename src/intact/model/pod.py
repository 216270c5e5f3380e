"""Pod."""

from typing import Any

import msgspec

from intact.model.base import View
from intact.model.meta import OwnerReference


class PodAnnotations(View):
    """The annotations that Intact reads; others can be large."""

    no_protect: str = msgspec.field(default="", name="pub.kruise.io/no-protect")
    batch_size: str = msgspec.field(default="", name="intact.dev/batch-size")
    group_size: str = msgspec.field(default="", name="leaderworkerset.sigs.k8s.io/size")
    follows: str = msgspec.field(default="", name="intact.dev/follows")


class PodMeta(View):
    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: PodAnnotations = PodAnnotations()
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class Container(View):
    name: str
    image: str = ""


class SchedulingGroup(View):
    """Since 1.36."""

    pod_group_name: str = ""


class WorkloadReference(View):
    """Of 1.35, which calls it `workloadRef`. KEP-5682 has two other names for it."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class PodSpec(View):
    node_name: str = ""
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    workload: WorkloadReference | None = None
    workload_reference: WorkloadReference | None = None
    containers: list[Container] = []
    init_containers: list[Container] = []
    active_deadline_seconds: int | None = None

    @property
    def named_workload(self) -> WorkloadReference | None:
        return self.workload_ref or self.workload or self.workload_reference

    def all_containers(self) -> list[Container]:
        return self.containers + self.init_containers


class PodCondition(View):
    type: str
    status: str
    reason: str = ""
    last_transition_time: str | None = None


class ContainerStatus(View):
    name: str
    image: str = ""
    image_id: str = msgspec.field(default="", name="imageID")
    container_id: str = msgspec.field(default="", name="containerID")
    ready: bool = False
    restart_count: int = 0


class PodStatus(View):
    phase: str = ""
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    resize: str = ""
    """How far a resize is, before Kubernetes 1.33; since then conditions tell."""

    def all_container_statuses(self) -> list[ContainerStatus]:
        return self.container_statuses + self.init_container_statuses


class Pod(View):
    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ResizePolicy(View):
    resource_name: str
    restart_policy: str


class ContainerResources(View):
    requests: dict[str, int | float | str] = {}
    limits: dict[str, int | float | str] = {}


class ResizableContainer(View):
    name: str
    resources: ContainerResources = ContainerResources()
    resize_policy: list[ResizePolicy] = []


class ResizableSpec(View):
    resources: ContainerResources = ContainerResources()
    """Of the pod as a whole."""
    containers: list[ResizableContainer] = []
    init_containers: list[ResizableContainer] = []


class ResizablePod(View):
    """A pod as a resize request sees it. Stores do not keep resources."""

    spec: ResizableSpec = ResizableSpec()


class WaitingState(View):
    reason: str = ""


class TerminatedState(View):
    reason: str = ""
    exit_code: int = 0


class ContainerState(View):
    waiting: WaitingState | None = None
    terminated: TerminatedState | None = None


_RUNNING = ContainerState()


class RolePodCondition(PodCondition):
    message: str = ""


class RoleContainerStatus(ContainerStatus):
    state: ContainerState = _RUNNING
    last_state: ContainerState = _RUNNING


class RolePodStatus(PodStatus):
    reason: str = ""
    # Views are frozen, so lists of a narrower type do no harm.
    conditions: list[RolePodCondition] = []  # type: ignore[assignment]
    container_statuses: list[RoleContainerStatus] = []  # type: ignore[assignment]
    init_container_statuses: list[RoleContainerStatus] = []  # type: ignore[assignment]


class RolePod(Pod):
    """A pod of a RoleBasedGroup: with what tells why it is not ready. Stores of budgets do without
    it."""

    status: RolePodStatus = RolePodStatus()


class DetailedAnnotations(PodAnnotations):
    mirror: str | None = msgspec.field(default=None, name="kubernetes.io/config.mirror")
    """Set by the kubelet on the mirror of a static pod."""


class DetailedMeta(PodMeta):
    annotations: DetailedAnnotations = DetailedAnnotations()
    deletion_grace_period_seconds: int | None = None


class Volume(View):
    name: str = ""
    empty_dir: dict[str, Any] | None = None


class DetailedSpec(PodSpec):
    volumes: list[Volume] = []
    termination_grace_period_seconds: int | None = None


class DetailedPod(RolePod):
    """A pod as people's commands see it: with what a drain must know."""

    metadata: DetailedMeta
    spec: DetailedSpec = DetailedSpec()
