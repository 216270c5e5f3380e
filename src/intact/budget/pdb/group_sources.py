"""From a pod to its group, the group's need, and how many such groups there should be.

First match wins:

| source | group | need | groups expected |
|---|---|---|---|
| `intact.dev/group-label-key` | value of the label; of a batch label, RoleBasedGroup and number | `intact.dev/min-ready-replicas`; else for a batch the size that its pods state, or 1 | `spec.replicas` of the pods' LeaderWorkerSet, else those seen |
| pod `spec.schedulingGroup` | the PodGroup | its gang's `minCount` | PodGroups of the same template, without those that have only pods that the budget does not select |
| pod `spec.workloadRef`, or as KEP-5682 calls it | name, podGroup, replica key | the Workload's `minCount` | its `replicas`, or the scale of its controller, else those seen |
| labels of a LeaderWorkerSet | its group key | annotation with the size | `spec.replicas`, likewise |

A budget with the field of KEP-5682 counts only the groups that its API server knows: those of the
two rows in the middle.

A pod without any of these has no group. If the definition of a group does not exist, or does not say
how many pods it needs, the need of the group is unknown. In both cases the pods count as unhealthy.
"""  # noqa: E501

from enum import StrEnum
from typing import NamedTuple, Protocol

from intact.budget.label_groups import group_of, is_batch_key, stated_need
from intact.budget.pdb.group_settings import GroupSettings
from intact.model.amounts import parse_count
from intact.model.pod import Pod
from intact.model.pod_state import is_ending, is_terminating
from intact.model.scheduling import (
    ControllerReference,
    GangWorkload,
    LeaderWorkerSet,
    PodGroup,
    PodGroupTemplate,
    WorkloadPodGroup,
)

LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP_KEY = "leaderworkerset.sigs.k8s.io/group-key"
LWS_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
LEADER = "0"
"""The worker index of the first pod of a group."""


class Source(StrEnum):
    LABEL = "label"
    POD_GROUP = "PodGroup"
    WORKLOAD = "Workload"
    LEADER_WORKER_SET = "LeaderWorkerSet"


class Reference(NamedTuple):
    """What a pod itself tells about its group."""

    source: Source
    group: str
    defined_by: str = ""
    """Name of the PodGroup, Workload or LeaderWorkerSet."""
    part: str = ""
    """The podGroup of the Workload."""
    need: int | None = None
    """None where only the definition tells."""


class Family(NamedTuple):
    """Groups whose number one object tells."""

    source: Source
    name: str
    part: str = ""


class Definition(NamedTuple):
    need: int
    family: Family
    workload: str = ""
    """The name of what the group is a part of; empty if it is a part of nothing."""


class GroupDefinitions(Protocol):
    """The objects that define the groups of one namespace."""

    def pod_group(self, name: str) -> PodGroup | None: ...
    def workload(self, name: str) -> GangWorkload | None: ...
    def leader_worker_set(self, name: str) -> LeaderWorkerSet | None: ...


class Definitions(GroupDefinitions, Protocol):
    """With what tells how many groups there should be."""

    def pod_groups_of(self, workload: str, template: str) -> list[str]:
        """The PodGroups of a template, without those that are being deleted."""

    def has_pods(self, pod_group: str) -> bool:
        """Whether any pod names this PodGroup, whether a budget selects it or not."""

    def leaders_of(self, leader_worker_set: str) -> list[Pod]:
        """The first pod of each of its groups, whether a budget selects it or not."""

    def scale_of(self, controller: ControllerReference) -> int | None:
        """How many groups a controller wants; None if it does not count groups."""


def reference_of(pod: Pod, settings: GroupSettings) -> Reference | None:
    labels = pod.metadata.labels
    if settings.label_key:
        value = group_of(pod, settings.label_key)
        if value is None:
            return None
        if is_batch_key(settings.label_key):
            # A LeaderWorkerSet counts its own replicas, of which a batch may have several.
            need = settings.min_ready or stated_need(pod, settings.label_key)
            return Reference(Source.LABEL, value, need=need)
        need = settings.min_ready or 1
        return Reference(Source.LABEL, value, labels.get(LWS_NAME, ""), need=need)
    group = pod.spec.scheduling_group
    if group is not None and group.pod_group_name:
        name = group.pod_group_name
        return Reference(Source.POD_GROUP, name, name)
    workload = pod.spec.named_workload
    if workload is not None and workload.name:
        parts = (workload.name, workload.pod_group, workload.pod_group_replica_key)
        return Reference(Source.WORKLOAD, "/".join(parts), workload.name, workload.pod_group)
    key = labels.get(LWS_GROUP_KEY)
    if key and not settings.native:
        size = parse_count(pod.metadata.annotations.group_size) or None
        name = labels.get(LWS_NAME, "")
        return Reference(Source.LEADER_WORKER_SET, key, name, need=size)
    return None


def define(
    reference: Reference, settings: GroupSettings, definitions: GroupDefinitions
) -> Definition | None:
    """None if it is unknown how many pods the group needs."""
    if reference.source is Source.POD_GROUP:
        return _of_pod_group(definitions.pod_group(reference.defined_by), settings)
    need = reference.need
    if reference.source is Source.WORKLOAD:
        need = _need_of_part(definitions.workload(reference.defined_by), reference, settings)
    elif need is None:
        owner = definitions.leader_worker_set(reference.defined_by)
        need = owner.spec.leader_worker_template.size if owner else None
    if not need:
        return None
    family = Family(reference.source, reference.defined_by, reference.part)
    return Definition(need, family, reference.defined_by)


def _of_pod_group(group: PodGroup | None, settings: GroupSettings) -> Definition | None:
    if group is None:
        return None
    gang = group.spec.scheduling_policy.gang
    need = gang.min_count if gang else settings.min_ready
    family = _family_of(group)
    return Definition(need, family, family.name if family.part else "") if need else None


def _need_of_part(
    workload: GangWorkload | None, reference: Reference, settings: GroupSettings
) -> int | None:
    part = _part_of(workload, reference.part)
    if part is None:
        return None
    return part.policy.gang.min_count if part.policy.gang else settings.min_ready


def _part_of(workload: GangWorkload | None, name: str) -> WorkloadPodGroup | None:
    parts = workload.spec.pod_groups if workload is not None else []
    return next((part for part in parts if part.name == name), None)


def template_of(group: PodGroup) -> tuple[str, str]:
    """The Workload and the template of a PodGroup; empty if it was made from none."""
    spec = group.spec
    template = spec.workload_ref
    if template is None and spec.pod_group_template_ref is not None:
        template = spec.pod_group_template_ref.workload
    template = template or PodGroupTemplate()
    return template.workload_name, template.template_name or template.pod_group_template_name


def _family_of(group: PodGroup) -> Family:
    workload, template = template_of(group)
    if workload and template:
        return Family(Source.POD_GROUP, workload, template)
    return Family(Source.POD_GROUP, group.metadata.name)


def pod_groups_of(family: Family, definitions: Definitions) -> list[str]:
    if family.part:
        return definitions.pod_groups_of(family.name, family.part)
    found = definitions.pod_group(family.name)
    return [] if found is None or is_terminating(found) else [family.name]


def expected_of(family: Family, definitions: Definitions) -> int | None:
    """How many groups there should be; None if only pods tell."""
    match family.source:
        case Source.POD_GROUP:
            return len(pod_groups_of(family, definitions))
        case Source.WORKLOAD:
            workload = definitions.workload(family.name)
            part = _part_of(workload, family.part)
            if part is not None and part.replicas is not None:
                return part.replicas
            controller = workload.spec.controller_ref if workload else None
            return definitions.scale_of(controller) if controller else None
        case Source.LABEL | Source.LEADER_WORKER_SET:
            owner = definitions.leader_worker_set(family.name) if family.name else None
            if owner is None:
                return None
            return 0 if is_ending(owner) else owner.spec.replicas
