"""A role on Deployments: one for each revision, scaled by the plan, behind one Service.

The pods of a Deployment have no order, so its places are made up: what is started stands at the
end, what is old and broken before it, so that it moves first. Old pods are evicted, and the old
Deployment is lowered by as many, so that budgets have their say. The new one takes the room that
has become free; where none may be unavailable, it is one ahead instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from intact.model.pod import Pod
from intact.model.rbg import Json
from intact.model.rbg import Role as GroupRole
from intact.rollout.names import role_revision_label, workload_name
from intact.rollout.orders import Eviction, RoleFacts, WorkloadFacts, WorkloadOrder
from intact.rollout.places import is_going, is_updated
from intact.rollout.plan import Replica, Role, RolePlan
from intact.rollout.ratios import most_unavailable


@dataclass(frozen=True, slots=True)
class Pair:
    """The Deployments of a role, as they are."""

    facts: RoleFacts
    new: WorkloadFacts | None
    old: list[WorkloadFacts]
    """Oldest first."""
    new_pods: list[Pod]
    old_pods: dict[str, list[Pod]]
    """By revision; those that are there to stay, first to go first."""

    @property
    def started(self) -> int:
        wanted = self.new.replicas if self.new else 0
        return min(self.facts.desired, max(wanted, len(self.new_pods)))

    @property
    def ready(self) -> int:
        return min(self.facts.desired, sum(map(self.facts.is_ready, self.new_pods)))

    def role(self, ratio: Fraction | None) -> Role:
        desired = self.facts.desired
        name = self.facts.role.name
        surge = most_unavailable(ratio, desired) == 0
        if not self.old:
            places = [
                Replica(index, new=True, ready=index < self.ready) for index in range(desired)
            ]
            return Role(name, desired, tuple(places), surge=surge)
        pods = [pod for found in self.old_pods.values() for pod in found]
        serving = sum(map(self.facts.is_ready, pods))
        first = desired - self.started
        places = [Replica(index, ready=index < serving) for index in range(first)]
        places += [
            Replica(first + index, new=True, ready=index < self.ready)
            for index in range(self.started)
        ]
        return Role(name, desired, tuple(places), surge=surge)


def pair(facts: RoleFacts, age: Mapping[str, int]) -> Pair:
    """`age` ranks the revisions of the role: higher is newer."""
    new = next((one for one in facts.workloads if one.revision == facts.revision), None)
    old = [one for one in facts.workloads if one.revision != facts.revision]
    label = role_revision_label(facts.role.name)
    old_pods: dict[str, list[Pod]] = {one.revision: [] for one in old}
    new_pods: list[Pod] = []
    for pod in facts.pods:
        if is_going(pod):
            continue
        if is_updated(facts, pod):
            new_pods.append(pod)
        elif (revision := pod.metadata.labels.get(label, "")) in old_pods:
            old_pods[revision].append(pod)
    for found in old_pods.values():
        found.sort(key=lambda pod: (facts.is_ready(pod), pod.metadata.name))
    return Pair(
        facts,
        new,
        sorted(old, key=lambda one: (age.get(one.revision, 0), one.name)),
        new_pods,
        old_pods,
    )


def order(
    group: str,
    pair: Pair,
    plan: RolePlan | None,
    ratio: Fraction | None,
    templates: Mapping[str, Json],
) -> tuple[list[WorkloadOrder], list[Eviction]]:
    """`templates` are the role's earlier ones, by revision. Without a plan there is nothing to
    coordinate: the role has just been made, or only one revision is there."""
    facts = pair.facts
    if plan is None or not pair.old:
        return [WorkloadOrder(_name(group, pair), facts.role, facts.revision, facts.desired)], []
    may_start = pair.started + len(plan.moves)
    if most_unavailable(ratio, facts.desired):
        # Only into room that has become free, so that no more run than desired.
        start = min(may_start, max(pair.started, facts.desired - sum(d.replicas for d in pair.old)))
        keep = facts.desired - may_start
    else:
        start, keep = may_start, facts.desired - pair.ready
    orders = [WorkloadOrder(_name(group, pair), facts.role, facts.revision, start)]
    evictions: list[Eviction] = []
    for deployment, at_least in _kept(pair, keep):
        pods = pair.old_pods[deployment.revision]
        if at_least == 0 and deployment.replicas == 0 and not pods:
            continue
        replicas = at_least
        if at_least < deployment.replicas:
            replicas = max(at_least, min(deployment.replicas, len(pods)))
        template = templates.get(deployment.revision)
        if template is None:
            raise LookupError(
                f"the template of Deployment {deployment.name} is in no revision any more"
            )
        role: GroupRole = msgspec.structs.replace(facts.role, template=template["template"])
        orders.append(WorkloadOrder(deployment.name, role, deployment.revision, replicas))
        evictions += [
            Eviction(pod, facts.role.name, deployment.name, replicas, at_least)
            for pod in pods[: max(0, len(pods) - at_least)]
        ]
    return orders, evictions


def _name(group: str, pair: Pair) -> str:
    """The plain one, unless an older revision has it."""
    if pair.new is not None:
        return pair.new.name
    plain = workload_name(group, pair.facts.role.name)
    taken = any(one.name == plain for one in pair.old)
    return f"{plain}-{pair.facts.revision}" if taken else plain


def _kept(pair: Pair, keep: int) -> list[tuple[WorkloadFacts, int]]:
    """How many each old Deployment keeps, newest first: the oldest is the last to shrink. Those are
    missing that the role should have more are the oldest's."""
    left = keep
    found = []
    for deployment in pair.old:
        number = min(left, deployment.replicas)
        left -= number
        found.append((deployment, number))
    oldest, number = found[0]
    found[0] = (oldest, number + left)
    return found[::-1]
