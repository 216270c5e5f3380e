"""What a RoleBasedGroup owns: the fields that its controller reads."""

from typing import Any

from intact.model.amounts import IntOrPercent, check_amount, resolve
from intact.model.base import View
from intact.model.meta import Condition, LabelSelector, ObjectMeta

Json = dict[str, Any]


class RollingPartition(View):
    partition: int | None = None


class StatefulSetStrategy(View):
    rolling_update: RollingPartition | None = None


class LeaderWorkerSetStrategy(View):
    rolling_update_configuration: RollingPartition | None = None


class DeploymentUpdate(View):
    max_unavailable: IntOrPercent | None = None


class DeploymentStrategy(View):
    rolling_update: DeploymentUpdate | None = None


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
    strategy: DeploymentStrategy = DeploymentStrategy()

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

    @property
    def unavailable(self) -> int:
        """Of a Deployment: how many of its pods its own update may take down at most."""
        replicas = 1 if self.replicas is None else self.replicas
        update = self.strategy.rolling_update
        amount = (update.max_unavailable if update else None) or 0
        unreadable = check_amount(amount) is not None
        return replicas if unreadable else min(replicas, resolve(amount, replicas))


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
        return self.replicas if self._failing() else None

    @property
    def failure(self) -> str:
        """Why a Deployment cannot create pods; empty if it can."""
        return "; ".join(f"{one.reason}: {one.message}" for one in self._failing())

    def _failing(self) -> list[Condition]:
        return [
            one for one in self.conditions if (one.type, one.status) == ("ReplicaFailure", "True")
        ]


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
