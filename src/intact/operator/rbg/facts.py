"""Reads what is there of a RoleBasedGroup, once for a reconcile, into frozen facts.

Three sources: the stores; the applier's last answers, which may be ahead of the stores; and the
evicted pods that Deployments have not been lowered by yet, or that the store has not seen going.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.model.pod_state import is_terminating
from intact.model.rbg import BatchProgress, Coordination, RoleBasedGroup
from intact.model.role_workload import RoleWorkload
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.resources import WORKLOADS
from intact.operator.rbg.server_side_apply import Applier
from intact.operator.rbg.stores import RbgStores
from intact.rollout.batch_progress import batch_progress
from intact.rollout.batches import count
from intact.rollout.belonging import role_of
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, of_type
from intact.rollout.facts import RoleFacts, workload_facts
from intact.rollout.revisions import role_hashes

_Workloads = Mapping[str, list[tuple[str, RoleWorkload]]]
"""By role, its workloads with their kinds."""


@dataclass(frozen=True, slots=True)
class RbgFacts:
    roles: Mapping[str, RoleFacts]
    batches: Mapping[str, BatchProgress]
    """By coordination."""


def read_facts(
    stores: RbgStores,
    applier: Applier,
    group: RoleBasedGroup,
    wanted: Mapping[str, int],
    evicted: EvictedPods,
    now: datetime,
) -> RbgFacts:
    """`wanted` are the replicas that each role should have."""
    roles = {role.name: role for role in group.spec.roles}
    pods = {name: evicted.as_evicted(stores.pods_of(group, name), now) for name in roles}
    workloads = _read_workloads(stores, applier, group)
    desired = dict(wanted)
    in_batches: dict[str, int] = {}
    batches: dict[str, BatchProgress] = {}
    for each in of_type(group.spec, AFFINITY_SCHEDULING):
        released = _released(group, each, workloads)
        progress = batches[each.name] = batch_progress(each, roles, wanted, pods, released)
        for name, ratio in batching(each).ratios.items():
            desired[name] = progress.started * ratio
            in_batches[name] = progress.total * ratio
    hashes = role_hashes(group)
    found = {
        name: [
            workload_facts(
                role, one, evicted.by_deployment.get(one.metadata.uid, frozenset()), kind
            )
            for kind, one in workloads[name]
            if not is_terminating(one)
        ]
        for name, role in roles.items()
    }
    facts = {
        name: RoleFacts(
            role=role,
            desired=desired[name],
            revision=hashes[name],
            pods=pods[name],
            workloads=[one for one in found[name] if one.kind == role.workload.kind],
            others=[one for one in found[name] if one.kind != role.workload.kind],
            now=now,
            size_in_batches=in_batches.get(name),
            is_made=bool(workloads[name]),
        )
        for name, role in roles.items()
    }
    return RbgFacts(facts, batches)


def _read_workloads(stores: RbgStores, applier: Applier, group: RoleBasedGroup) -> _Workloads:
    found: dict[str, list[tuple[str, RoleWorkload]]] = {role.name: [] for role in group.spec.roles}
    for kind, reflector in stores.workloads.items():
        for one in stores.owned(reflector, group):
            meta = one.metadata
            if (role := role_of(group.metadata.name, one, found)) in found:
                newest = applier.newest(WORKLOADS[kind], one, meta.namespace, meta.name)
                found[role].append((kind, newest or one))
    return found


def _released(group: RoleBasedGroup, coordination: Coordination, workloads: _Workloads) -> int:
    """Batches that were started. The status may lag: the workloads of all roles are scaled before
    the status is stored, so their replicas count as well."""
    before = group.status.coordination_named(coordination.name)
    stored = before.batches.started if before and before.batches else 0
    ratios = batching(coordination).ratios
    scaled = {
        name: max((one.spec.replicas or 0 for _, one in workloads[name]), default=0)
        for name in ratios
    }
    return max(stored, count(scaled, ratios))
