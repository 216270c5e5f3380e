"""Pods, definitions and budgets for tests of budgets that count groups."""

from dataclasses import dataclass, field

from intact.budget.pdb.group_sources import LWS_NAME, template_of
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.model.meta import OwnerReference
from intact.model.pdb import PdbMeta, PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import (
    Pod,
    PodAnnotations,
    PodCondition,
    PodMeta,
    PodSpec,
    PodStatus,
    SchedulingGroup,
    WorkloadReference,
)
from intact.model.scheduling import (
    ControllerReference,
    Gang,
    GangWorkload,
    GangWorkloadSpec,
    GroupMeta,
    LeaderWorkerSet,
    LeaderWorkerSetSpec,
    LeaderWorkerTemplate,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    PodGroupTemplateReference,
    SchedulingPolicy,
    WorkloadPodGroup,
)

EARLY = "2026-01-01T00:00:00Z"


def a_pod(
    name: str,
    group: str = "",
    *,
    ready: bool = True,
    uid: str = "",
    version: str = "1",
    created: str = EARLY,
    going: bool = False,
    evicted: str = "",
    labels: dict[str, str] | None = None,
    size: str = "",
    batch_size: str = "",
    workload: WorkloadReference | None = None,
    owner: str = "",
    phase: str = "Running",
) -> Pod:
    """`group` is the name of its PodGroup; `evicted` is when it was told to go."""
    conditions = [PodCondition(type="Ready", status=str(ready))]
    if evicted:
        conditions.append(
            PodCondition(
                type="DisruptionTarget",
                status="True",
                reason="EvictionByEvictionAPI",
                last_transition_time=evicted,
            )
        )
    owners = [
        OwnerReference(
            api_version="apps/v1", kind="StatefulSet", name=owner, uid=owner, controller=True
        )
    ]
    return Pod(
        metadata=PodMeta(
            name=name,
            namespace="ns",
            uid=uid or f"uid-{name}",
            resource_version=version,
            creation_timestamp=created,
            deletion_timestamp=EARLY if going else None,
            labels=labels or {},
            annotations=PodAnnotations(group_size=size, batch_size=batch_size),
            owner_references=owners if owner else [],
        ),
        spec=PodSpec(
            scheduling_group=SchedulingGroup(pod_group_name=group) if group else None,
            workload_ref=workload,
        ),
        status=PodStatus(phase=phase, conditions=conditions),
    )


def a_pod_group(
    name: str, need: int | None = 3, workload: str = "", *, shape: str = "v1alpha2"
) -> PodGroup:
    policy = SchedulingPolicy(gang=Gang(min_count=need) if need is not None else None)
    if not workload:
        return PodGroup(metadata=_meta(name), spec=PodGroupSpec(scheduling_policy=policy))
    if shape == "v1alpha2":
        template = PodGroupTemplate(workload_name=workload, pod_group_template_name="worker")
        reference = PodGroupTemplateReference(workload=template)
        spec = PodGroupSpec(scheduling_policy=policy, pod_group_template_ref=reference)
    else:
        template = PodGroupTemplate(workload_name=workload, template_name="worker")
        spec = PodGroupSpec(scheduling_policy=policy, workload_ref=template)
    return PodGroup(metadata=_meta(name), spec=spec)


def a_workload(name: str, need: int, controller: ControllerReference | None = None) -> GangWorkload:
    part = WorkloadPodGroup(name="worker", policy=SchedulingPolicy(gang=Gang(min_count=need)))
    return GangWorkload(
        metadata=_meta(name), spec=GangWorkloadSpec(controller_ref=controller, pod_groups=[part])
    )


def a_leader_worker_set(name: str, replicas: int, size: int) -> LeaderWorkerSet:
    template = LeaderWorkerTemplate(size=size)
    spec = LeaderWorkerSetSpec(replicas=replicas, leader_worker_template=template)
    return LeaderWorkerSet(metadata=_meta(name), spec=spec)


def _meta(name: str) -> GroupMeta:
    return GroupMeta(name=name, namespace="ns")


@dataclass
class Known:
    """Definitions, as plain dicts."""

    pod_groups: dict[str, PodGroup] = field(default_factory=dict)
    workloads: dict[str, GangWorkload] = field(default_factory=dict)
    leader_worker_sets: dict[str, LeaderWorkerSet] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)
    others: list[Pod] = field(default_factory=list)
    """Pods that no budget selects."""

    def pod_group(self, name: str) -> PodGroup | None:
        return self.pod_groups.get(name)

    def workload(self, name: str) -> GangWorkload | None:
        return self.workloads.get(name)

    def leader_worker_set(self, name: str) -> LeaderWorkerSet | None:
        return self.leader_worker_sets.get(name)

    def pod_groups_of(self, workload: str, template: str) -> list[str]:
        wanted = (workload, template)
        return [name for name, one in self.pod_groups.items() if template_of(one) == wanted]

    def has_pods(self, pod_group: str) -> bool:
        groups = (pod.spec.scheduling_group for pod in self.others)
        return any(each and each.pod_group_name == pod_group for each in groups)

    def leaders_of(self, leader_worker_set: str) -> list[Pod]:
        return [
            pod for pod in self.others if pod.metadata.labels.get(LWS_NAME) == leader_worker_set
        ]

    def scale_of(self, controller: ControllerReference) -> int | None:
        return self.scales.get(controller.name)


def groups_of(need: int, *names: str) -> Known:
    """PodGroups of one template."""
    return Known(pod_groups={name: a_pod_group(name, need, "llm") for name in names})


def a_budget(
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    *,
    policy: str | None = None,
    status: PdbStatus | None = None,
    scope: str = "Workload",
    **annotations: str,
) -> PodDisruptionBudget:
    """Annotations are given by the last part of their names, with underscores."""
    named = {f"intact.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return PodDisruptionBudget(
        metadata=PdbMeta(
            name="llm",
            namespace="ns",
            uid="pdb",
            generation=1,
            resource_version="7",
            labels={SCOPE_LABEL: scope},
            annotations=named,
        ),
        spec=PdbSpec(
            min_available=min_available,
            max_unavailable=max_unavailable,
            unhealthy_pod_eviction_policy=policy,
        ),
        status=status or PdbStatus(),
    )
