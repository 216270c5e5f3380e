"""The next step of a coordinated rolling update: from what is there to what each workload should be
now.

Pure, and without memory: it reads how far the rollout was from the RoleBasedGroup's status, so a
new leader goes on where the last one stopped. How each kind of workload moves is a module of its
own: `statefulset`, `leaderworkerset`, `deployment`, and `change_of_kind` from one to another.

A role whose workload is not there yet is in no plan: it may wait for other roles to start, and no
role waits for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from intact.model.amounts import IntOrPercent, check_amount, resolve
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.rbg import (
    DEPLOYMENT,
    STATEFUL_SET,
    Coordination,
    RoleBasedGroup,
    RoleProgress,
)
from intact.model.role_workload import ControllerRevision
from intact.rollout import change_of_kind, deployment, leaderworkerset, statefulset
from intact.rollout.batches import Batched, plan_in_batches
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    batching,
    of_type,
    rolling_rules,
)
from intact.rollout.facts import RoleFacts
from intact.rollout.names import role_revision_label, workload_name
from intact.rollout.orders import Eviction, RolloutStep, WorkloadOrder
from intact.rollout.plan import Plan, PlannedRole, RolePlan, Rules, State
from intact.rollout.progress import DEADLINE, STALLED, events, role_progress, until_deadline
from intact.rollout.ratios import ceil, parse
from intact.rollout.replicas import number_in_name
from intact.rollout.revision_labels import labels_of, relabelled
from intact.rollout.revisions import ages, completed, templates
from intact.rollout.spec.role_strategy import is_paused, rolling_of
from intact.rollout.unready import unready

_View = statefulset.Ordinals | leaderworkerset.Places | deployment.Pair | change_of_kind.Change
"""A role, as the module of its kind sees it."""


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


def next_step(
    group: RoleBasedGroup,
    coordination: Coordination,
    facts: Mapping[str, RoleFacts],
    history: Sequence[ControllerRevision],
    now: datetime,
    *,
    unstored: str = "",
) -> RolloutStep:
    """`facts` has all roles of the coordination, `history` the RoleBasedGroup's revisions, oldest
    first. `unstored` says why the present templates are in none of them: then no role moves to a
    template that it could not be brought back to later. Raises LookupError if it needs an earlier
    template that no revision has."""
    rules, in_batches = rules_of(group, coordination), batched(group)
    facts = {name: facts[name] for name in coordination.roles}
    if unstored and any(one.revision not in ages(history, name) for name, one in facts.items()):
        rules = replace(rules, paused=True, paused_by=unstored)
    views = {name: view for name in facts if (view := _view(facts[name], history)) is not None}
    last = completed(history, group.status.current_revision)
    state = group.status.coordination_named(coordination.name)
    told: Mapping[str, RoleProgress] = state.progress if state is not None else {}
    before = _of_these_templates(group, facts, told)
    roles = [
        replace(_planned(view, rules), stable=facts[name].revision == last.get(name))
        for name, view in views.items()
        if facts[name].workloads or facts[name].others
    ]
    # Its way back ends only when all replicas are ready, not when the last younger pod is gone.
    back = any(one.state == State.ROLLING_BACK for one in before.values())
    plan = plan_in_batches(roles, rules, in_batches, back=back or _goes_back(facts, history))
    orders: dict[str, list[WorkloadOrder]] = {}
    evict: list[Eviction] = []
    settled: list[str] = []
    waits: dict[str, str] = {}
    for name in coordination.roles:
        view, role_plan = views.get(name), plan.roles.get(name)
        if isinstance(view, deployment.Pair | change_of_kind.Change):
            made = _order(group, view, role_plan, rules.max_unavailable, history)
            orders[name] = made.workloads
            settled += made.settled
            waits[name] = made.waits_for
            evict += made.evict  # while it is paused, none of them moves: too many pods go
        elif view is None or role_plan is None:
            orders[name] = [_first_order(group.metadata.name, facts[name])]
        elif isinstance(view, statefulset.Ordinals):
            order, going = statefulset.order(view, role_plan)
            orders[name] = [order]
            evict += going
        else:
            orders[name] = [leaderworkerset.order(facts[name], role_plan, rules.max_unavailable)]
    deadline = group.spec.progress_deadline_seconds or DEADLINE
    progress = {
        name: role_progress(
            replace(one, waits_for=_waits_for(one, facts, waits.get(name, ""))),
            views[name].updated,
            before.get(name),
            deadline,
            now,
        )
        for name, one in plan.roles.items()
    }
    was_there = all(one.most_ready >= one.desired for one in before.values()) and bool(before)
    is_stable = all(one.revision == last.get(name) for name, one in facts.items())
    soon = [one for each in facts.values() if (one := each.until_ready()) is not None]
    until = until_deadline(progress.values(), deadline, now)
    return RolloutStep(
        orders=orders,
        progress=progress,
        evict=evict,
        settled=settled,
        relabel=_labels(facts, plan, history),
        events=events(coordination.name, told, progress, rolls=not (was_there or is_stable)),
        again_in=min([*soon, *([] if until is None else [until])], default=None),
        rollback_to=_rollback_to(group, progress),
        skew=plan.skew,
    )


def next_step_of_change(
    group: RoleBasedGroup,
    facts: RoleFacts,
    history: Sequence[ControllerRevision],
    *,
    unstored: str = "",
) -> RolloutStep:
    """Of a role in no coordinated rolling update that has workloads of another kind than it should
    have: its own update strategy has the limits. Raises LookupError like `next_step`."""
    rules = _own_rules(facts)
    if unstored and facts.revision not in ages(history, facts.role.name):
        rules = replace(rules, paused=True, paused_by=unstored)
    view = change_of_kind.change(facts, ages(history, facts.role.name))
    role = view.role(rules.max_unavailable)
    last = completed(history, group.status.current_revision).get(facts.role.name)
    role = replace(role, stable=facts.revision == last)
    plan = plan_in_batches([role], rules, batched(group))
    made = _order(group, view, plan.roles[facts.role.name], rules.max_unavailable, history)
    return RolloutStep(
        orders={facts.role.name: made.workloads},
        progress={},
        evict=made.evict,
        settled=made.settled,
        again_in=facts.until_ready(),
    )


def _own_rules(facts: RoleFacts) -> Rules:
    given = rolling_of(facts.role)

    def share(amount: IntOrPercent | None) -> Fraction | None:
        if amount is None or check_amount(amount) is not None:
            return None
        return Fraction(resolve(amount, facts.desired), max(1, facts.desired))

    return Rules(
        max_unavailable=share(given.max_unavailable),
        partition=min(Fraction(1), share(given.partition) or Fraction(0)),
        paused=is_paused(facts.role),
    )


def _order(
    group: RoleBasedGroup,
    view: deployment.Pair | change_of_kind.Change,
    plan: RolePlan | None,
    ratio: Fraction | None,
    history: Sequence[ControllerRevision],
) -> deployment.Orders:
    name = view.facts.role.name
    in_batches = any(name in one.ratios for one in batched(group))
    known = templates(history, name)
    if isinstance(view, deployment.Pair):
        return deployment.order(
            group.metadata.name, view, plan, ratio, known, in_batches=in_batches
        )
    assert plan is not None
    return change_of_kind.order(
        group.metadata.name, view, plan, ratio, known, in_batches=in_batches
    )


def _view(facts: RoleFacts, history: Sequence[ControllerRevision]) -> _View | None:
    """None if the workload is not there yet."""
    if facts.others:
        return change_of_kind.change(facts, ages(history, facts.role.name))
    if facts.role.kind == DEPLOYMENT:
        return deployment.pair(facts, ages(history, facts.role.name))
    if not facts.workloads:
        return None
    if facts.role.kind == STATEFUL_SET:
        return statefulset.ordinals(facts)
    return leaderworkerset.places(facts)


def _planned(view: _View, rules: Rules) -> PlannedRole:
    if isinstance(view, deployment.Pair | change_of_kind.Change):
        return view.role(rules.max_unavailable)
    return view.role


def _first_order(group: str, facts: RoleFacts) -> WorkloadOrder:
    """For a workload that is not there: nothing is held, unless old pods are there. Their workload
    was deleted without them, or lost the labels by which the store finds it."""
    old = any(not facts.is_updated(pod) and not is_terminating(pod) for pod in facts.pods)
    return WorkloadOrder(
        name=workload_name(group, facts.role.name),
        role=facts.role,
        revision=facts.revision,
        replicas=facts.desired,
        partition=facts.desired if old else 0,
    )


def _waits_for(plan: RolePlan, facts: Mapping[str, RoleFacts], deployment: str) -> str:
    """With the pods that are not ready, of the role that it waits for, and why. `deployment` says
    what its old Deployment waits for."""
    if plan.state is State.COMPLETED:
        return ""
    role = facts[plan.held_by or plan.name]
    return "; ".join(filter(None, [plan.waits_for, deployment, unready(role, role.is_ready)]))


def _of_these_templates(
    group: RoleBasedGroup, facts: Mapping[str, RoleFacts], progress: Mapping[str, RoleProgress]
) -> Mapping[str, RoleProgress]:
    """Empty if it is of others: how far those were, and how long they stood, says nothing about
    these."""
    stored = {one.name: one.revision for one in group.status.role_statuses}
    same = all(stored.get(name, one.revision) == one.revision for name, one in facts.items())
    return progress if same else {}


def _goes_back(facts: Mapping[str, RoleFacts], history: Sequence[ControllerRevision]) -> bool:
    """Whether pods run a revision that is younger than the one that they should have."""
    for name, one in facts.items():
        age = ages(history, name)
        label = role_revision_label(name)
        present = age.get(one.revision, len(history))
        if any(age.get(pod.metadata.labels.get(label, ""), -1) > present for pod in one.pods):
            return True
    return False


def _labels(
    facts: Mapping[str, RoleFacts], plan: Plan, history: Sequence[ControllerRevision]
) -> dict[str, str]:
    """By pod name, the revision that routers should read on the pod.

    An updated pod gets the coordination's new revision. A role whose template has not changed has
    nothing to move: its pods get the new label in step with the other roles, so that old and new
    pods of every role find a peer.
    """
    revisions = {name: one.revision for name, one in facts.items()}
    changing = [one for one in plan.roles.values() if one.started < one.desired]
    share = min((Fraction(one.ready, one.desired) for one in changing), default=Fraction(1))
    found: dict[str, str] = {}
    for name, role_plan in plan.roles.items():
        pods = [pod for pod in facts[name].pods if not is_terminating(pod)]
        due = sum(map(facts[name].is_updated, pods))
        if role_plan.started >= role_plan.desired:
            due = ceil(share * due)
        pods.sort(key=_newest_first)
        found |= relabelled(labels_of(name, revisions, history), pods, due)
    return found


def _newest_first(pod: Pod) -> tuple[int, str]:
    return -(number_in_name(pod.metadata.name) or 0), pod.metadata.name


def _rollback_to(group: RoleBasedGroup, progress: Mapping[str, RoleProgress]) -> str:
    """The revision that was completed last, if this rollout is stalled and `onFailure` asks for
    it."""
    status = group.status
    stalled = any(one.state == STALLED for one in progress.values())
    if not stalled or group.spec.on_failure != "Rollback":
        return ""
    return status.current_revision if status.current_revision != status.update_revision else ""
