"""The objects that define groups, and the owners above pods, found by name among those of a
picture."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from intact.model.meta import OwnerReference
from intact.model.pod import Pod
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.picture.coverage import owners_above
from intact.picture.objects import Objects


class NamespaceDefinitions:
    """Of one namespace."""

    def __init__(self) -> None:
        self.pod_groups: dict[str, PodGroup] = {}
        self.workloads: dict[str, GangWorkload] = {}
        self.leader_worker_sets: dict[str, LeaderWorkerSet] = {}

    def pod_group(self, name: str) -> PodGroup | None:
        return self.pod_groups.get(name)

    def workload(self, name: str) -> GangWorkload | None:
        return self.workloads.get(name)

    def leader_worker_set(self, name: str) -> LeaderWorkerSet | None:
        return self.leader_worker_sets.get(name)


def definitions_of(objects: Objects) -> dict[str, NamespaceDefinitions]:
    """By namespace; asked for a namespace without any, it has an empty one."""
    found: dict[str, NamespaceDefinitions] = defaultdict(NamespaceDefinitions)
    for group in objects.pod_groups:
        found[group.metadata.namespace].pod_groups[group.metadata.name] = group
    for workload in objects.workloads:
        found[workload.metadata.namespace].workloads[workload.metadata.name] = workload
    for one in objects.leader_worker_sets:
        found[one.metadata.namespace].leader_worker_sets[one.metadata.name] = one
    return found


class Owners:
    def __init__(self, objects: Objects) -> None:
        self._references = {one.uid: one.owner_references for one in objects.owners}
        # A leader pod may own the pods, or the StatefulSet, of its group.
        for pod in objects.pods:
            self._references.setdefault(pod.metadata.uid, pod.metadata.owner_references)

    def above(self, pod: Pod) -> Iterator[OwnerReference]:
        return owners_above(pod, self._references_of)

    def _references_of(self, owner: OwnerReference) -> Sequence[OwnerReference]:
        return self._references.get(owner.uid, ())
