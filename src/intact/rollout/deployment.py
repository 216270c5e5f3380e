"""How a role on Deployments moves: one Deployment per revision, scaled by the plan, behind one
Service.

The pods of a Deployment have no order, so the plan gets made-up places: started pods at the end,
old broken pods before them, so that those move first. Intact evicts old pods, within their budgets,
and lowers the old Deployment by as many. The new Deployment takes the room that has become free; if
no pod may be unavailable, it runs one ahead instead.

A ReplicaSet replaces an evicted pod. A ReplicaSet that is lowered deletes pods of its own choice,
past all budgets: first those that it sees as not ready. What it sees may be old: lowered before it
has seen an eviction, it deletes one pod more. So a Deployment takes these steps, each after Intact
has seen the result of the one before:

| pods there | the Deployment | because |
|---|---|---|
| as many as its scale | has pods evicted within the rules | no other pods of it are about to go |
| fewer | is not lowered | its ReplicaSet may not have seen which pods went |
| as many again | is lowered by the evicted pods | the ReplicaSet that replaced them saw them go |
| more | is not scaled at all | its ReplicaSet has yet to choose which of them go |

An old Deployment may be in the middle of an update of its own, from before its role was
coordinated or because another client changed its template, and its newer pods may never be ready.
It has pods of several ReplicaSets, whatever revision they carry. It goes to the template that most
of its serving pods have, and is lowered after that. If it has that template already, or no revision
has it, there is nothing to go back to: then its own update takes down as many serving pods as may
go now (its `maxUnavailable`), until one ReplicaSet is left.

A Deployment that cannot create pods reports it (`short`), and is lowered to what it has. Intact
remembers evicted pods until then. They do not count, whether it has seen them go or not; nor do the
pods that a Deployment has above its scale.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from intact.model.pod import Pod
from intact.model.pod_state import controller_of, is_gone, is_ready
from intact.model.rbg import DEPLOYMENT, Json, Role
from intact.rollout.belonging import workload_of
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import role_revision_label, workload_name
from intact.rollout.orders import Eviction, WorkloadOrder
from intact.rollout.plan import PlannedRole, Replica, RolePlan
from intact.rollout.ratios import most_unavailable
from intact.rollout.revisions import role_with


@dataclass(frozen=True, slots=True)
class Pair:
    """The Deployments of a role: the one of the new revision, and the old ones."""

    facts: RoleFacts
    new: WorkloadFacts | None
    old: list[WorkloadFacts]
    """Oldest first."""
    new_pods: list[Pod]
    old_pods: dict[str, list[Pod]]
    """By the UID of the Deployment; only those that stay, in the order in which they would go."""

    @property
    def updated(self) -> int:
        """Pods with the new revision."""
        return min(self.facts.desired, len(self.new_pods))

    @property
    def started(self) -> int:
        wanted = self.new.replicas if self.new else 0
        return min(self.facts.desired, max(wanted, len(self.new_pods)))

    @property
    def ready(self) -> int:
        wanted = self.new.replicas if self.new else 0
        return min(self.facts.desired, wanted, sum(map(self.facts.is_ready, self.new_pods)))

    def pods(self, deployment: WorkloadFacts) -> list[Pod]:
        """Its pods that count."""
        return self.new_pods if deployment is self.new else self.old_pods[deployment.uid]

    def in_scale(self, old: WorkloadFacts) -> int:
        """Its ready pods but for those above its scale, which go."""
        ready = sum(map(self.facts.is_ready, self.pods(old)))
        return min(ready, max(0, old.replicas - len(old.evicted)))

    def serving(self, old: WorkloadFacts) -> int:
        """Its ready pods that stay: an update of its own may take down the others."""
        return min(self.in_scale(old), _spared(old))

    def is_torn(self, old: WorkloadFacts) -> bool:
        """Whether it is on its way between two templates by itself and serves: its ReplicaSets
        would shrink together, whichever has the broken pods."""
        return old.updating and self.in_scale(old) > 0

    def spare(self, ratio: Fraction | None, most_new: int | None = None) -> int:
        """How many serving pods may go now, whichever pods the ReplicaSets choose to delete. The
        new Deployment is lowered at once to what may be new, which is what is desired at most."""
        desired = self.facts.desired
        most_new = desired if most_new is None else min(desired, most_new)
        serving = 0
        for one in self.facts.workloads:
            ready = sum(map(self.facts.is_ready, self.pods(one)))
            scale = min(one.replicas, most_new) if one is self.new else one.replicas
            too_many = max(0, len(self.pods(one)) - scale + len(one.evicted))
            serving += min(max(0, ready - too_many), _spared(one))
        return serving - desired + most_unavailable(ratio, desired)

    def most_new(self, goal: int, ratio: Fraction | None) -> int:
        """How many pods may stay new. After a scale-in there may be more than the goal, and old
        pods that would have to go for them although the partition keeps these."""
        fewest = max(goal, self.facts.desired - sum(map(self.serving, self.old)))
        if fewest < self.started and self.spare(ratio, fewest) >= 0:
            return fewest
        return self.facts.desired

    def unseen(self, deployment: WorkloadFacts) -> list[Pod]:
        """Its evicted pods that Intact has not seen going yet."""
        pods = [pod for pod in self.facts.pods if pod.metadata.uid in deployment.evicted]
        return [pod for pod in pods if not is_gone(pod)]

    def must_wait(self, deployment: WorkloadFacts, scale: int) -> bool:
        """Whether its ReplicaSet may not have seen enough yet to scale it to that."""
        there = len(self.pods(deployment))
        if there >= deployment.replicas:
            return there > deployment.replicas
        short = deployment.short is not None and deployment.short <= there
        known = short and not self.unseen(deployment)
        return scale < deployment.replicas and not known

    def role(self, ratio: Fraction | None) -> PlannedRole:
        desired = self.facts.desired
        name = self.facts.role.name
        surge = most_unavailable(ratio, desired) == 0
        if not self.old:
            places = [
                Replica(index, new=True, ready=index < self.ready) for index in range(desired)
            ]
            return PlannedRole(name, desired, tuple(places), surge=surge)
        serving = sum(map(self.serving, self.old))
        first = desired - self.started
        places = [Replica(index, ready=index < serving) for index in range(first)]
        places += [
            Replica(first + index, new=True, ready=index < self.ready)
            for index in range(self.started)
        ]
        return PlannedRole(name, desired, tuple(places), surge=surge)


@dataclass(frozen=True, slots=True)
class Orders:
    workloads: list[WorkloadOrder]
    evict: Sequence[Eviction] = ()
    settled: Sequence[str] = ()
    """UIDs of Deployments whose evicted pods these orders account for."""
    waits_for: str = ""
    """What holds up an old Deployment, in words."""


def pair(facts: RoleFacts, age: Mapping[str, int]) -> Pair:
    """`age` ranks the revisions of the role: higher is newer."""
    present = [one for one in facts.workloads if one.revision == facts.revision]
    # Two may have it, as when a store was behind: the other one goes down like an old one.
    new = max(present, key=lambda one: (one.replicas, one.name), default=None)
    owned = _owned(facts, new)
    workloads, old, old_pods = [], [], {}
    for one in facts.workloads:
        if one is new:
            workloads.append(one)
            continue
        pods = owned[one.uid]
        updating = _have_several_templates(pods)
        pods.sort(key=is_ready, reverse=True)
        # What never gets ready stays above its scale for good, and does not count.
        while updating and len(pods) > one.replicas > 0 and not is_ready(pods[-1]):
            pods.pop()
        old.append(replace(one, updating=updating))
        workloads.append(old[-1])
        old_pods[one.uid] = pods
    evicted = {uid for one in facts.workloads for uid in one.evicted}
    for uid, pods in old_pods.items():
        staying = [pod for pod in pods if pod.metadata.uid not in evicted]
        old_pods[uid] = sorted(staying, key=lambda pod: (facts.is_ready(pod), pod.metadata.name))
    return Pair(
        replace(facts, workloads=workloads),
        new,
        sorted(old, key=lambda one: (age.get(one.revision, 0), one.name)),
        [pod for pod in owned[_NEW] if pod.metadata.uid not in evicted],
        old_pods,
    )


def _have_several_templates(pods: Sequence[Pod]) -> bool:
    """A Deployment has one ReplicaSet for each. Their revision does not tell: anyone may overwrite
    a label, or change a template and leave its labels."""
    return len({owner.name for pod in pods if (owner := controller_of(pod)) is not None}) > 1


def _spared(deployment: WorkloadFacts) -> int:
    """How many of its ready pods no update of its own takes down."""
    unavailable = deployment.unavailable if deployment.updating else 0
    return max(0, deployment.replicas - unavailable)


_NEW = ""
"""In place of the UID of a Deployment that may not be there yet."""


def _owned(facts: RoleFacts, new: WorkloadFacts | None) -> dict[str, list[Pod]]:
    """By the UID of its Deployment, the pods that it has. A Deployment that is on its way from one
    template to another by itself has pods of both: of the new one, those of the present template
    count; of an old one all, since they go with it. Where the Deployment is not known, the revision
    tells."""
    label = role_revision_label(facts.role.name)
    old = [one for one in facts.workloads if one is not new]
    names = {one.name: one.uid for one in old} | ({new.name: _NEW} if new else {})
    revisions = {one.revision: one.uid for one in old} | {facts.revision: _NEW}
    found: dict[str, list[Pod]] = {uid: [] for uid in (_NEW, *names.values())}
    for pod in facts.pods:
        if is_gone(pod) or not any(owner.controller for owner in pod.metadata.owner_references):
            continue  # a copy without a controller: no ReplicaSet counts it
        kind, name = workload_of(pod) or ("", "")
        uid = names.get(name) if kind == DEPLOYMENT[1] else None
        if uid is None:
            uid = revisions.get(pod.metadata.labels.get(label, ""))
        if uid is not None and (uid != _NEW or facts.is_updated(pod)):
            found[uid].append(pod)
    return found


def order(
    group: str,
    pair: Pair,
    plan: RolePlan | None,
    ratio: Fraction | None,
    templates: Mapping[str, Json],
    *,
    in_batches: bool = False,
) -> Orders:
    """`templates` are the role's earlier ones, by revision. Without a plan there is nothing to
    coordinate: the role is new. Raises LookupError if `templates` lacks one that still runs."""
    facts = pair.facts
    evictions = [  # again: the first answer may have been lost
        Eviction(pod, facts.role.name, one.uid)
        for one in facts.workloads
        for pod in pair.unseen(one)
    ]
    settled = [pair.new.uid] if pair.new and pair.new.evicted and not pair.unseen(pair.new) else []
    if plan is None or not pair.old:
        return Orders([of_new(group, pair, facts.desired)], evictions, settled)
    most_new = pair.most_new(facts.desired - plan.keeps, ratio)
    may_start = min(most_new, pair.started + len(plan.moves))
    ahead = most_unavailable(ratio, facts.desired) == 0
    keep = facts.desired - (min(most_new, pair.ready) if ahead else may_start)
    spare = pair.spare(ratio, most_new)
    lowered = lower(pair, keep, spare, templates, in_batches=in_batches)
    start = may_start
    if not ahead:  # only into free room, so that no more pods run than desired
        start = min(start, max(pair.started, facts.desired - lowered.taken))
    # The new Deployment first: a budget expects as many pods as the sum of the scales.
    return Orders(
        [of_new(group, pair, start), *lowered.workloads],
        [*evictions, *lowered.evict],
        [*settled, *lowered.settled],
        "; ".join(lowered.waits),
    )


@dataclass(frozen=True, slots=True)
class Lowered:
    """What the old Deployments of a role should be."""

    workloads: list[WorkloadOrder]
    evict: list[Eviction]
    settled: list[str]
    waits: list[str]
    """What they wait for, in words."""
    taken: int
    """Replicas that they hold, or will hold."""


def lower(
    pair: Pair, keep: int, spare: int, templates: Mapping[str, Json], *, in_batches: bool = False
) -> Lowered:
    """The old Deployments, down to so many replicas in all; `spare` serving pods may go."""
    facts = pair.facts
    found = Lowered([], [], [], [], 0)
    for deployment, at_least in _kept(pair, keep):
        pods = pair.pods(deployment)
        if at_least == 0 and deployment.replicas == 0 and not pods:
            continue
        scale = max(at_least, min(deployment.replicas - len(deployment.evicted), len(pods)))
        wanted = replace(deployment, unavailable=0)
        if pair.is_torn(deployment):
            wanted = _mended(pair, deployment, at_least, spare, templates)
            spare -= max(0, pair.serving(deployment) - pair.serving(wanted))
        if pair.is_torn(deployment) or pair.must_wait(deployment, scale):
            scale = deployment.replicas
            found.waits.append(_waiting(pair, deployment))
        elif deployment.evicted:
            found.settled.append(deployment.uid)
        elif len(pods) == scale and deployment.short is None:
            going = _going(pods[: max(0, scale - at_least)], spare)
            spare -= sum(map(is_ready, going))
            found.evict.extend(Eviction(pod, facts.role.name, deployment.uid) for pod in going)
        found.workloads.append(_of_old(facts, wanted, scale, templates))
        # A pod gets its batch when it is created, so one must have left before.
        taken = max(scale, len(pods)) if in_batches else scale
        if deployment.updating and not in_batches:
            taken = min(scale, pair.in_scale(deployment))  # what never gets ready leaves its room
        found = replace(found, taken=found.taken + taken)
    return found


def _waiting(pair: Pair, deployment: WorkloadFacts) -> str:
    """What an old Deployment that must wait waits for."""
    if pair.is_torn(deployment):
        return f"Deployment {deployment.name} has pods of two templates and has yet to keep one"
    there, wanted = len(pair.pods(deployment)), deployment.replicas
    work = "replace its evicted pods" if there < wanted else "delete the others"
    return f"Deployment {deployment.name} has {there} of {wanted} pods and has yet to {work}"


def of_new(group: str, pair: Pair, scale: int) -> WorkloadOrder:
    if pair.new is not None and pair.must_wait(pair.new, scale):
        scale = pair.new.replicas
    role, revision = pair.facts.role, pair.facts.revision
    return WorkloadOrder(_name(group, pair), role, revision, scale, max_unavailable=0)


def _mended(
    pair: Pair,
    deployment: WorkloadFacts,
    at_least: int,
    spare: int,
    templates: Mapping[str, Json],
) -> WorkloadFacts:
    """One that is on its way between two templates, as it should be to get to one."""
    revision = _most_serving(pair, deployment, templates)
    if revision != deployment.revision:
        return replace(deployment, revision=revision, unavailable=0)
    serving = pair.serving(deployment)
    # Less than none, if its update may take down more by now than can be spared.
    stays = serving - min(spare, serving - at_least)
    if stays >= pair.in_scale(deployment):
        return replace(deployment, unavailable=0)
    return replace(deployment, unavailable=deployment.replicas - stays)


def _of_old(
    facts: RoleFacts, wanted: WorkloadFacts, scale: int, templates: Mapping[str, Json]
) -> WorkloadOrder:
    role = facts.role
    if wanted.revision != facts.revision:
        role = earlier_role(role, wanted, templates)
    return WorkloadOrder(
        wanted.name, role, wanted.revision, scale, max_unavailable=wanted.unavailable
    )


def _most_serving(pair: Pair, deployment: WorkloadFacts, templates: Mapping[str, Json]) -> str:
    """Of the revisions of its pods, the one that serves most: to end an update of its own that may
    never end by itself, its Deployment goes there, which takes down only what does not serve."""
    label = role_revision_label(pair.facts.role.name)
    ready = Counter(
        pod.metadata.labels.get(label, "")
        for pod in pair.pods(deployment)
        if pair.facts.is_ready(pod)
    )
    known = {*templates, pair.facts.revision} & ready.keys()
    return max(
        (deployment.revision, *sorted(known - {deployment.revision})), key=lambda one: ready[one]
    )


def earlier_role(role: Role, workload: WorkloadFacts, templates: Mapping[str, Json]) -> Role:
    """The role as it was when a workload was made. Raises LookupError."""
    earlier = templates.get(workload.revision)
    if earlier is None:
        raise LookupError(
            f"no ControllerRevision has the template of {workload.kind} {workload.name} any more"
        )
    return role_with(role, earlier)


def _going(pods: Sequence[Pod], spare: int) -> list[Pod]:
    """Of these pods, first to last, as many as may go: one that does not serve costs nothing."""
    found = []
    for pod in pods:
        spare -= is_ready(pod)  # for however short a time
        if spare < 0 and is_ready(pod):
            break
        found.append(pod)
    return found


def _name(group: str, pair: Pair) -> str:
    """The role's plain workload name, unless an old Deployment has it."""
    if pair.new is not None:
        return pair.new.name
    plain = workload_name(group, pair.facts.role.name)
    taken = any(one.name == plain for one in pair.old)
    return f"{plain}-{pair.facts.revision}" if taken else plain


def _kept(pair: Pair, keep: int) -> list[tuple[WorkloadFacts, int]]:
    """How many each old Deployment keeps, newest first. Pods that do not serve go first, and the
    oldest Deployment shrinks last. If the role should have more pods, the oldest gets them."""
    kept = {one.uid: one.replicas for one in pair.old}
    left = sum(kept.values()) - keep
    kept[pair.old[0].uid] += max(0, -left)
    newest_first = pair.old[::-1]
    for stays in (pair.serving, lambda _: 0):
        for one in newest_first:
            going = max(0, min(left, kept[one.uid] - stays(one)))
            kept[one.uid] -= going
            left -= going
    return [(one, kept[one.uid]) for one in newest_first]
