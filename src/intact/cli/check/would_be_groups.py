"""The pods that LeaderWorkerSets and RoleBasedGroups would make, with the labels that say of which
group they are."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from intact.budget.pdb.group_sources import LWS_GROUP_KEY, LWS_NAME, LWS_WORKER_INDEX
from intact.model.labels import BATCH, BATCH_SIZE
from intact.model.rbg import LEADER_WORKER_SET, Coordination, Role, RoleBasedGroup
from intact.operator.rbg.templates import resolved
from intact.rollout.batches import batch_of, count
from intact.rollout.coordinations import batching, of_type
from intact.rollout.names import labels, workload_name

Json = dict[str, Any]
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
SIZE = "leaderworkerset.sigs.k8s.io/size"
_BATCHES = "AffinityScheduling"
_MOST_PODS = 5000
"""Of one role, or of one group."""


@dataclass(frozen=True, slots=True)
class Template:
    """One pod to be."""

    suffix: str
    """Of its name."""
    template: Json
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner: Json | None = None


def pods_of_set(name: str, spec: Json, replicas: int) -> Iterator[Template]:
    """Of a LeaderWorkerSet: a leader and its workers for each replica."""
    given = spec.get("leaderWorkerTemplate")
    template = given if isinstance(given, dict) else {}
    size = template.get("size", 1)
    worker = template.get("workerTemplate")
    leader = template.get("leaderTemplate") or worker
    if not isinstance(size, int) or not isinstance(worker, dict) or not isinstance(leader, dict):
        return
    for group in range(replicas):
        for index in range(min(size, _MOST_PODS)):
            own = _set_labels(name, group, index)
            suffix = f"{group}-{index}" if index else str(group)
            yield Template(suffix, worker if index else leader, own, {SIZE: str(size)})


def _set_labels(name: str, group: int, index: int) -> dict[str, str]:
    return {
        LWS_NAME: name,
        LWS_GROUP_KEY: f"{name}-{group}",
        GROUP_INDEX: str(group),
        LWS_WORKER_INDEX: str(index),
    }


def pods_of_rbg(group: RoleBasedGroup) -> Iterator[Template]:
    """Of all roles of a RoleBasedGroup, with the batches that they are placed in."""
    whole = resolved(group)
    coordinations = list(of_type(whole.spec, _BATCHES))
    for role in whole.spec.roles:
        mine = [one for one in coordinations if role.name in batching(one).ratios]
        for ordinal in range(_replicas(role)):
            placed = _placed(whole, role, ordinal, mine)
            if placed is not None:
                yield from _replica(whole, role, ordinal, *placed)


def _replicas(role: Role) -> int:
    return min(_MOST_PODS, 1 if role.replicas is None else max(0, role.replicas))


def _placed(
    group: RoleBasedGroup, role: Role, ordinal: int, coordinations: list[Coordination]
) -> tuple[dict[str, str], dict[str, str]] | None:
    """Labels and annotations; None for a surplus replica, which belongs to no batch and does not
    run."""
    own: dict[str, str] = {}
    annotations: dict[str, str] = {}
    by_name = {one.name: one for one in group.spec.roles}
    for one in coordinations:
        ratios = {name: ratio for name, ratio in batching(one).ratios.items() if name in by_name}
        if any(ratio < 1 for ratio in ratios.values()):
            continue
        number = batch_of(ordinal, ratios[role.name])
        if number >= count({name: _replicas(by_name[name]) for name in ratios}, ratios):
            return None
        size = sum(ratio * by_name[name].pods_per_replica for name, ratio in ratios.items())
        own[f"{BATCH}{one.name}"] = str(number)
        annotations[BATCH_SIZE] = str(size)
    return own, annotations


def _replica(
    group: RoleBasedGroup,
    role: Role,
    ordinal: int,
    placed: dict[str, str],
    annotations: dict[str, str],
) -> Iterator[Template]:
    meta = group.metadata
    own = labels(meta.namespace, meta.name, role.name) | placed
    if role.kind != LEADER_WORKER_SET:
        yield Template(f"{role.name}-{ordinal}", role.template, own, annotations)
        return
    size = role.pods_per_replica
    name = workload_name(meta.name, role.name)
    for index in range(min(size, _MOST_PODS)):
        suffix = f"{role.name}-{ordinal}" + (f"-{index}" if index else "")
        more = own | _set_labels(name, ordinal, index)
        yield Template(suffix, role.template, more, annotations | {SIZE: str(size)})
