"""The objects that define which pods are one group: PodGroup, Workload, LeaderWorkerSet.

Kubernetes has changed their shape with every version. One view reads all shapes: a field that a
version does not have is absent.

| | 1.35, v1alpha1 | 1.36, v1alpha2 | 1.37, v1beta1 |
|---|---|---|---|
| pod | `workloadRef` | `schedulingGroup` | `schedulingGroup` |
| PodGroup | | `podGroupTemplateRef.workload` | `workloadRef` |
| Workload | `podGroups[].policy` | | |
"""

from intact.model.base import View


class GroupMeta(View):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] = []


class Gang(View):
    min_count: int = 0


class SchedulingPolicy(View):
    gang: Gang | None = None


class PodGroupTemplate(View):
    """The template that a PodGroup was made from."""

    workload_name: str = ""
    pod_group_template_name: str = ""
    """Of v1alpha2."""
    template_name: str = ""
    """Of v1beta1."""


class PodGroupTemplateReference(View):
    workload: PodGroupTemplate | None = None


class PodGroupSpec(View):
    pod_group_template_ref: PodGroupTemplateReference | None = None
    workload_ref: PodGroupTemplate | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class PodGroup(View):
    metadata: GroupMeta
    spec: PodGroupSpec = PodGroupSpec()


class ControllerReference(View):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadPodGroup(View):
    name: str
    replicas: int | None = None
    """How many groups of this kind there should be: as KEP-5682 writes it, and no server has it."""
    policy: SchedulingPolicy = SchedulingPolicy()


class GangWorkloadSpec(View):
    controller_ref: ControllerReference | None = None
    pod_groups: list[WorkloadPodGroup] = []


class GangWorkload(View):
    """A Workload of scheduling.k8s.io; `model.workload` has the owners of pods."""

    metadata: GroupMeta
    spec: GangWorkloadSpec = GangWorkloadSpec()


class LeaderWorkerTemplate(View):
    size: int = 1


class LeaderWorkerSetSpec(View):
    replicas: int = 1
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()


class LeaderWorkerSet(View):
    metadata: GroupMeta
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
