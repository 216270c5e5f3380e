"""What is there of a role: its workloads, and what a rollout needs to know about them."""

from collections.abc import Callable
from datetime import datetime

from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import RoleWorkload
from intact.operator.rbg.evictions import RbgEvictions
from intact.operator.rbg.resources import LEADER_WORKER_SETS, WORKLOADS
from intact.operator.rbg.server_side_apply import Applier
from intact.operator.rbg.stores import RbgStores
from intact.rollout.names import ROLE, role_revision_label, workload_name
from intact.rollout.orders import RoleFacts, WorkloadFacts, WorkloadOrder
from intact.rollout.status import Work


class RbgFacts:
    def __init__(
        self,
        stores: RbgStores,
        applier: Applier,
        moves: RbgEvictions,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._stores = stores
        self._applier = applier
        self._moves = moves
        self._now = now

    def workloads(self, group: RoleBasedGroup, role: str) -> list[tuple[str, RoleWorkload]]:
        """The role's workloads that are there, with their kinds."""
        found = []
        for kind, reflector in self._stores.workloads.items():
            for one in self._stores.owned(reflector, group):
                if one.metadata.labels.get(ROLE) == role:
                    meta = one.metadata
                    newest = self._applier.newest(WORKLOADS[kind], one, meta.namespace, meta.name)
                    found.append((kind, newest or one))
        return found

    def of(self, group: RoleBasedGroup, work: Work) -> RoleFacts:
        label = role_revision_label(work.role.name)
        workloads = [
            WorkloadFacts(
                name=one.metadata.name,
                uid=one.metadata.uid,
                replicas=1 if one.spec.replicas is None else one.spec.replicas,
                revision=one.metadata.labels.get(label, ""),
                partition=one.spec.partition,
                observed=(observed := _is_observed(kind, one)),
                settled=observed and one.status.current_revision == one.status.update_revision,
                evicted=self._moves.evicted(one.metadata.uid),
                short=one.status.short,
            )
            for kind, one in self.workloads(group, work.role.name)
            if kind == work.role.workload.kind and one.metadata.deletion_timestamp is None
        ]
        return RoleFacts(work.role, work.now, work.revision, work.pods, workloads, now=self._now())

    def order(self, group: RoleBasedGroup, work: Work) -> WorkloadOrder:
        """Of a role that updates by itself. A Deployment keeps the name that a coordinated rollout
        has left it with."""
        found = self.of(group, work).workloads
        names = [one.name for one in sorted(found, key=lambda one: one.revision != work.revision)]
        name = workload_name(group.metadata.name, work.role.name)
        if names and name not in names:
            name = names[0]
        return WorkloadOrder(name, work.role, work.revision, work.now)

    def is_ready(self, group: RoleBasedGroup, work: Work) -> bool:
        """A workload that nobody has looked at yet is not ready, whatever its counters say. Of one
        that comes in batches the present ones count: the next may wait for who is asking."""
        workloads = self.of(group, work).workloads
        if not workloads or not all(one.observed for one in workloads):
            return False
        return work.status().ready_replicas >= work.now

    def can_spare(self, group: RoleBasedGroup, work: Work, names: list[str]) -> bool:
        """Whether the workloads of these names serve without the role's others."""
        kept = [one for one in self.of(group, work).workloads if one.name in names]
        updated = work.status().updated_ready_replicas
        return bool(kept) and all(one.observed for one in kept) and updated >= work.now


def _is_observed(kind: str, workload: RoleWorkload) -> bool:
    """Whether its controller has seen its present spec. Older ones of LeaderWorkerSets do not say:
    their pods have to."""
    seen = workload.status.observed_generation
    if kind == LEADER_WORKER_SETS.kind and not seen:
        return True
    return seen >= workload.metadata.generation
