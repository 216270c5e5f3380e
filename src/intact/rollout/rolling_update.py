"""The coordinated rolling update: from what is there to what each workload should be now.

Pure, and with no memory of its own but the group's status, so whoever takes over goes on where the
last one stood.

- StatefulSet: a new template is written with a partition that holds everything. A pod moves by
  being evicted; its end is held (`HELD`) until the partition is below it.
- LeaderWorkerSet: the same, but its own controller takes down what the partition lets go.
- Deployment: a new template gets a Deployment of its own, with no replicas; see `deployment`.

Roles whose workload is not there yet are in no plan: they may wait for others to start, and nobody
waits for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction

from intact.model.amounts import divide_up
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.rbg import Coordination, Json, RoleBasedGroup, RoleProgress
from intact.model.role_workload import ControllerRevision
from intact.rollout import deployment as deployments
from intact.rollout.batches import Batched, plan_in_batches
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    batching,
    of_type,
    rolling_rules,
)
from intact.rollout.names import REVISION, role_revision_label, workload_name
from intact.rollout.orders import Eviction, RoleFacts, RolloutStep, WorkloadOrder
from intact.rollout.places import Ordinals, groups, is_updated, ordinals
from intact.rollout.plan import Plan, PlannedRole, RolePlan, Rules
from intact.rollout.progress import DEADLINE, STALLED, events, role_progress, until_deadline
from intact.rollout.ratios import most_unavailable, parse
from intact.rollout.revisions import group_hash, hash_of
from intact.rollout.validation import DEPLOYMENT, STATEFUL_SET, kind_of


def rules_of(group: RoleBasedGroup, coordination: Coordination) -> Rules:
    given = rolling_rules(coordination)
    return Rules(
        max_skew=None if given.max_skew is None else parse(given.max_skew),
        max_unavailable=None if given.max_unavailable is None else parse(given.max_unavailable),
        partition=Fraction(0) if given.partition is None else parse(given.partition),
        paused=group.spec.paused,
    )


def batched(group: RoleBasedGroup) -> list[Batched]:
    """Which roles move in batches."""
    return [
        Batched(each.name, batching(each).ratios)
        for each in of_type(group.spec, AFFINITY_SCHEDULING)
    ]


@dataclass(slots=True)
class _Rollout:
    group: RoleBasedGroup
    coordination: Coordination
    facts: Mapping[str, RoleFacts]
    history: Sequence[ControllerRevision]
    rules: Rules
    ordinals: dict[str, Ordinals] = field(default_factory=dict)
    pairs: dict[str, deployments.Pair] = field(default_factory=dict)
    updated: dict[str, int] = field(default_factory=dict)


def drive(
    group: RoleBasedGroup,
    coordination: Coordination,
    facts: Mapping[str, RoleFacts],
    history: Sequence[ControllerRevision],
    now: datetime,
) -> RolloutStep:
    """`facts` has all roles of the coordination, `history` the group's revisions, oldest first.
    Raises LookupError if an earlier template is needed that no revision has."""
    rollout = _Rollout(group, coordination, facts, history, rules_of(group, coordination))
    completed = _completed(group, history)
    roles = [
        replace(role, stable=facts[name].revision == completed.get(name))
        for name in coordination.roles
        if (role := _role(rollout, name)) is not None
    ]
    back = _goes_back(rollout)
    plan = plan_in_batches(roles, rollout.rules, batched(group), back=back)
    orders: dict[str, list[WorkloadOrder]] = {}
    evict: list[Eviction] = []
    settled: list[str] = []
    for name in coordination.roles:
        role_plan = plan.roles.get(name)
        if name in rollout.ordinals and role_plan is not None:
            order, going = _stateful_set(rollout, name, role_plan)
            orders[name] = [order]
            evict += going
        elif name in rollout.pairs:
            made = deployments.order(
                group.metadata.name,
                rollout.pairs[name],
                role_plan,
                rollout.rules.max_unavailable,
                _templates(history, name),
                in_batches=any(name in one.ratios for one in batched(group)),
            )
            orders[name] = made.workloads
            settled += made.settled
            evict += made.evict if not rollout.rules.paused else []
        else:
            orders[name] = [_leader_worker_set(rollout, name, role_plan)]
    deadline = group.spec.progress_deadline_seconds or DEADLINE
    waits = [one for role_facts in facts.values() if (one := role_facts.until_ready()) is not None]
    before = _before(group, coordination)
    # What was said of other templates says nothing of how long these have stood.
    stood = {} if _has_other_templates(rollout) else before
    progress = {
        name: role_progress(one, rollout.updated[name], stood.get(name), deadline, now)
        for name, one in plan.roles.items()
    }
    return RolloutStep(
        orders=orders,
        progress=progress,
        evict=evict,
        settled=settled,
        relabel=_labels(rollout, plan),
        events=events(coordination.name, before, progress),
        again_in=_first(until_deadline(progress.values(), deadline, now), *waits),
        rollback_to=_rollback_to(group, progress),
        skew=plan.skew,
    )


def _completed(group: RoleBasedGroup, history: Sequence[ControllerRevision]) -> dict[str, str]:
    """By role, the revision that was last completed."""
    for one in history:
        if one.metadata.name == group.status.current_revision:
            return {name: hash_of(role) for name, role in one.data.get("roles", {}).items()}
    return {}


def _first(*waits: float | None) -> float | None:
    return min((wait for wait in waits if wait is not None), default=None)


def _before(group: RoleBasedGroup, coordination: Coordination) -> Mapping[str, RoleProgress]:
    states = group.status.coordination_state
    return next((one.progress for one in states if one.name == coordination.name), {})


def _has_other_templates(rollout: _Rollout) -> bool:
    """Than when its progress was stored last."""
    stored = {one.name: one.revision for one in rollout.group.status.role_statuses}
    return any(
        stored.get(name, facts.revision) != facts.revision for name, facts in rollout.facts.items()
    )


def _role(rollout: _Rollout, name: str) -> PlannedRole | None:
    """As the plan sees it; None if its workload is not there yet."""
    facts = rollout.facts[name]
    kind = kind_of(facts.role)
    if kind == DEPLOYMENT:
        pair = rollout.pairs[name] = deployments.pair(facts, _ages(rollout.history, name))
        rollout.updated[name] = min(facts.desired, len(pair.new_pods))
        return pair.role(rollout.rules.max_unavailable) if facts.workloads else None
    if not facts.workloads:
        return None
    live = facts.workloads[0]
    if kind == STATEFUL_SET:
        found = rollout.ordinals[name] = ordinals(facts, live)
        rollout.updated[name] = found.updated
        return found.role
    role, rollout.updated[name] = groups(facts, live)
    return role


def _stateful_set(
    rollout: _Rollout, name: str, plan: RolePlan
) -> tuple[WorkloadOrder, list[Eviction]]:
    facts, there = rollout.facts[name], rollout.ordinals[name]
    live = facts.workloads[0]
    moves = plan.moves
    if live.revision != facts.revision:
        # Nothing may move before the template is there.
        partition, moves = max(facts.desired, live.replicas), ()
    else:
        partition = _partition(facts, there, moves)
    evictions = [Eviction(pod, name) for at in moves if (pod := there.alive(at)) is not None]
    order = WorkloadOrder(live.name, facts.role, facts.revision, facts.desired, partition)
    return order, evictions


def _partition(facts: RoleFacts, there: Ordinals, moves: Sequence[int]) -> int:
    """The lowest ordinal from which on no old pod stands: its StatefulSet has none to delete."""
    partition = facts.desired
    for place in reversed(there.role.replicas):
        pod = there.alive(place.index)
        if pod is not None and not is_updated(facts, pod):
            break
        if pod is None and not place.new and place.index not in moves:
            break
        partition = place.index
    return partition


def _leader_worker_set(rollout: _Rollout, name: str, plan: RolePlan | None) -> WorkloadOrder:
    """Also the first order of a StatefulSet: without a plan nothing is held, unless old pods are
    there, whose workload is out of sight: deleted without them, or robbed of its labels."""
    facts = rollout.facts[name]
    at_once = most_unavailable(rollout.rules.max_unavailable, facts.desired)
    if plan is None or not facts.workloads:
        own = workload_name(rollout.group.metadata.name, name)
        old = any(not is_updated(facts, pod) and not is_terminating(pod) for pod in facts.pods)
        held_from = facts.desired if old else 0
        return WorkloadOrder(own, facts.role, facts.revision, facts.desired, held_from)
    live = facts.workloads[0]
    held = live.revision != facts.revision
    return WorkloadOrder(
        name=live.name,
        role=facts.role,
        revision=facts.revision,
        replicas=facts.desired,
        partition=max(facts.desired, live.replicas) if held else plan.partition,
        max_unavailable=max(1, at_once),
    )


def _templates(history: Sequence[ControllerRevision], role: str) -> dict[str, Json]:
    """The templates that a role has had, by their revision."""
    found = [one.data.get("roles", {}).get(role) for one in history]
    return {hash_of(template): template for template in found if template is not None}


def _ages(history: Sequence[ControllerRevision], role: str) -> dict[str, int]:
    """The revisions of a role by when they first were: higher is newer."""
    ordered = sorted(history, key=lambda one: (one.metadata.creation_timestamp, one.revision))
    found: dict[str, int] = {}
    for number, one in enumerate(ordered):
        template = one.data.get("roles", {}).get(role)
        if template is not None:
            found.setdefault(hash_of(template), number)
    return found


def _goes_back(rollout: _Rollout) -> bool:
    """Whether pods run a revision that is younger than the one that they shall have."""
    for name, facts in rollout.facts.items():
        ages = _ages(rollout.history, name)
        label = role_revision_label(name)
        present = ages.get(facts.revision, len(rollout.history))
        if any(ages.get(pod.metadata.labels.get(label, ""), -1) > present for pod in facts.pods):
            return True
    return False


def _labels(rollout: _Rollout, plan: Plan) -> dict[str, str]:
    """Pods by name, and the revision that routers shall read on them.

    An updated pod has the coordination's new one. A role whose template has not changed has nothing
    to move: its pods take the new label in step with the others, so that either side finds a peer.
    """
    target = group_hash({name: rollout.facts[name].revision for name in rollout.coordination.roles})
    changing = [one for one in plan.roles.values() if one.started < one.desired]
    share = min((Fraction(one.ready, one.desired) for one in changing), default=Fraction(1))
    found: dict[str, str] = {}
    for name in plan.roles:
        facts = rollout.facts[name]
        pods = [pod for pod in facts.pods if is_updated(facts, pod) and not is_terminating(pod)]
        due = len(pods)
        if plan.roles[name].started >= plan.roles[name].desired:
            due = divide_up(share.numerator * len(pods), share.denominator)
        pods.sort(key=_newest_first)
        labelled = sum(pod.metadata.labels.get(REVISION) == target for pod in pods)
        for pod in pods:
            present = pod.metadata.labels.get(REVISION)
            if present != target and (present is None or labelled < due):
                found[pod.metadata.name] = target
                labelled += 1
    return found


def _newest_first(pod: Pod) -> tuple[int, str]:
    number = pod.metadata.name.rpartition("-")[2]
    return (-int(number) if number.isdecimal() else 0, pod.metadata.name)


def _rollback_to(group: RoleBasedGroup, progress: Mapping[str, RoleProgress]) -> str:
    """The last revision that was completed, if this one is stalled and it is asked for."""
    status = group.status
    stalled = any(one.state == STALLED for one in progress.values())
    if not stalled or group.spec.on_failure != "Rollback":
        return ""
    return status.current_revision if status.current_revision != status.update_revision else ""
