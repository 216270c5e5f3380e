"""How a role on a LeaderWorkerSet moves: a new template is written with a partition that holds
everything; then the partition goes down, and the controller of LeaderWorkerSets takes down the
replicas that the partition lets go. Those count as started.
"""

from dataclasses import dataclass
from fractions import Fraction

from intact.model.amounts import parse_count
from intact.rollout.facts import RoleFacts
from intact.rollout.orders import WorkloadOrder
from intact.rollout.plan import PlannedRole, Replica, RolePlan
from intact.rollout.ratios import most_unavailable
from intact.rollout.replicas import GROUP_INDEX, replicas


@dataclass(frozen=True, slots=True)
class Places:
    role: PlannedRole
    updated: int
    """Replicas with the new revision."""


def places(facts: RoleFacts) -> Places:
    """Of a role whose LeaderWorkerSet is there."""
    live = facts.workloads[0]
    present = live.revision == facts.revision
    there: dict[int, Replica] = {}
    updated = 0
    for one in replicas(facts.role, facts.pods, facts.is_ready):
        index = parse_count(one.pods[0].metadata.labels.get(GROUP_INDEX, ""))
        if index is not None:
            new = one.revision == facts.revision
            there[index] = Replica(index, new=new, ready=one.ready)
            updated += new and index < facts.desired
    only_new = live.observed and all(one.new for one in there.values())
    found = []
    for index in range(facts.desired):
        place = there.get(index, Replica(index))
        let_go = live.partition <= index < live.replicas
        if present and not place.new and (let_go or (only_new and index not in there)):
            place = Replica(index, new=True)
        found.append(place)
    return Places(PlannedRole(facts.role.name, facts.desired, tuple(found)), updated)


def order(facts: RoleFacts, plan: RolePlan, ratio: Fraction | None) -> WorkloadOrder:
    live = facts.workloads[0]
    held = live.revision != facts.revision
    return WorkloadOrder(
        name=live.name,
        role=facts.role,
        revision=facts.revision,
        replicas=facts.desired,
        partition=max(facts.desired, live.replicas) if held else plan.partition,
        max_unavailable=max(1, most_unavailable(ratio, facts.desired)),
    )
