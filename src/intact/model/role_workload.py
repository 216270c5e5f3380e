"""What a RoleBasedGroup owns: the fields that its controller reads."""

from typing import Any

from intact.model.base import View
from intact.model.meta import Condition, LabelSelector, ObjectMeta

Json = dict[str, Any]


class RollingPartition(View):
    partition: int | None = None


class StatefulSetStrategy(View):
    rolling_update: RollingPartition | None = None


class LeaderWorkerSetStrategy(View):
    rolling_update_configuration: RollingPartition | None = None


class TemplateMeta(View):
    labels: dict[str, str] = {}


class Template(View):
    """Of pods: what tells which one it is."""

    metadata: TemplateMeta = TemplateMeta()


class LeaderWorkerTemplate(View):
    worker_template: Template = Template()


class RoleWorkloadSpec(View):
    replicas: int | None = None
    selector: LabelSelector = LabelSelector()
    template: Template = Template()
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    paused: bool = False
    pod_management_policy: str = ""
    service_name: str = ""
    update_strategy: StatefulSetStrategy = StatefulSetStrategy()
    rollout_strategy: LeaderWorkerSetStrategy = LeaderWorkerSetStrategy()

    @property
    def pod_labels(self) -> dict[str, str]:
        """The labels that its pods get."""
        return (
            self.template.metadata.labels
            or self.leader_worker_template.worker_template.metadata.labels
        )

    @property
    def partition(self) -> int:
        """Of a StatefulSet or a LeaderWorkerSet, which store it in different fields."""
        found = (
            self.update_strategy.rolling_update
            or self.rollout_strategy.rolling_update_configuration
        )
        return (found.partition if found else None) or 0


class RoleWorkloadStatus(View):
    observed_generation: int = 0
    current_revision: str = ""
    update_revision: str = ""
    """Of a StatefulSet: pods below its partition have `current_revision`, the others this one."""
    replicas: int = 0
    conditions: list[Condition] = []

    @property
    def short(self) -> int | None:
        """The pods of a Deployment that cannot create more; None if it can."""
        failing = any(
            one.type == "ReplicaFailure" and one.status == "True" for one in self.conditions
        )
        return self.replicas if failing else None


class RoleWorkload(View):
    """A StatefulSet, a Deployment or a LeaderWorkerSet."""

    metadata: ObjectMeta
    spec: RoleWorkloadSpec = RoleWorkloadSpec()
    status: RoleWorkloadStatus = RoleWorkloadStatus()


class Service(View):
    metadata: ObjectMeta
    spec: Json = {}


class ConfigMap(View):
    metadata: ObjectMeta
    data: dict[str, str] = {}


class ControllerRevision(View):
    metadata: ObjectMeta
    revision: int = 0
    data: Json = {}
