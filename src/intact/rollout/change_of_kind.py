"""How a role moves whose workload should be of another kind: the one comes up as the other goes down,
behind one Service and by one plan, as with two Deployments.

| the old workload is | it goes down |
|---|---|
| a StatefulSet | from the highest ordinal: Intact evicts the pod and holds it in its place, lowers the StatefulSet below it, and lets the pod go |
| a Deployment | as in a rollout between two Deployments |
| a LeaderWorkerSet | Intact lowers it, and its controller takes the highest replicas down |

The new workload takes the room that has become free; if no replica may be unavailable, it runs one
ahead instead. An old replica that is not ready and cannot go first, because of its ordinal, leaves
its room all the same.

The new workload may be there already, with replicas of an earlier template: the kind was changed
back, and the template with it. These stay until the other kind is gone, and move after that.

A StatefulSet and a LeaderWorkerSet cannot have the same name: a LeaderWorkerSet makes a StatefulSet
of its own name.
"""  # noqa: E501

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import msgspec

from intact.model.amounts import parse_count
from intact.model.pod import Pod
from intact.model.pod_state import is_ready
from intact.model.rbg import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET, Json
from intact.rollout import deployment
from intact.rollout.deployment import Orders, Pair, earlier_role
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import other_name, workload_name
from intact.rollout.orders import Eviction, WorkloadOrder
from intact.rollout.plan import PlannedRole, Replica, RolePlan
from intact.rollout.ratios import most_unavailable
from intact.rollout.replicas import GROUP_INDEX, RoleReplica, ordinal_of, replicas


@dataclass(frozen=True, slots=True)
class Numbered:
    """A StatefulSet or a LeaderWorkerSet of the role: its replicas have numbers."""

    live: WorkloadFacts
    there: Mapping[int, RoleReplica]
    """Its replicas that stay, below its scale."""
    going: frozenset[int] = frozenset()
    """The numbers of replicas that are on their way out."""
    is_known: bool = True
    """Whether all of its replicas have been seen."""

    @property
    def serving(self) -> int:
        return sum(one.ready for one in self.there.values())


@dataclass(frozen=True, slots=True)
class Change:
    """A role with workloads of another kind than it should have."""

    facts: RoleFacts
    new: Numbered | None
    """The workload of the present kind; None for a Deployment, or if there is none yet."""
    old: Sequence[Numbered]
    """Oldest first."""
    pair: Pair
    """All Deployments of the role, whether old or new."""

    @property
    def is_deployment(self) -> bool:
        return self.facts.role.kind == DEPLOYMENT

    @property
    def kept(self) -> int:
        """Replicas of the new workload with an earlier template, which stay for now: those with the
        lowest numbers. Above the last one that serves, none has to stay."""
        if self.new is None:
            return 0
        if self.new.live.revision != self.facts.revision:
            return self.new.live.replicas
        return max((number for number, one in self._staying.items() if one.ready), default=-1) + 1

    @property
    def _staying(self) -> dict[int, RoleReplica]:
        """Replicas of the new workload with an earlier template that it does not take down: those
        below its partition. The others may serve still, but its controller may have decided."""
        if self.new is None:
            return {}
        live, revision = self.new.live, self.facts.revision
        return {
            number: one
            for number, one in self.new.there.items()
            if one.revision != revision and (live.revision != revision or number < live.partition)
        }

    @property
    def updated(self) -> int:
        """Replicas with the new revision."""
        return self.pair.updated if self.is_deployment else min(self.facts.desired, len(self._own))

    @property
    def _own(self) -> list[RoleReplica]:
        there = self.new.there.values() if self.new else ()
        return [one for one in there if one.revision == self.facts.revision]

    @property
    def started(self) -> int:
        if self.is_deployment:
            return self.pair.started
        scale = self.new.live.replicas if self.new else 0
        return max(0, min(self.facts.desired, scale) - self.kept)

    @property
    def ready(self) -> int:
        if self.is_deployment:
            return self.pair.ready
        return min(self.started, sum(one.ready for one in self._own))

    @property
    def serving_old(self) -> int:
        own = sum(one.ready for one in self._staying.values())
        deployments = sum(map(self.pair.serving, self.pair.old))
        return own + deployments + sum(one.serving for one in self.old)

    def role(self, ratio: Fraction | None) -> PlannedRole:
        desired = self.facts.desired
        first = desired - self.started
        places = [Replica(index, ready=index < self.serving_old) for index in range(first)]
        places += [
            Replica(first + index, new=True, ready=index < self.ready)
            for index in range(self.started)
        ]
        surge = most_unavailable(ratio, desired) == 0
        return PlannedRole(self.facts.role.name, desired, tuple(places), surge=surge)


def change(facts: RoleFacts, age: Mapping[str, int]) -> Change:
    """Of a role that has workloads of other kinds. `age` ranks its revisions: higher is newer."""
    everything = [*facts.workloads, *facts.others]
    deployments = [one for one in everything if one.kind == DEPLOYMENT[1]]
    numbered = [_numbered(facts, one) for one in everything if one.kind != DEPLOYMENT[1]]
    own = [one for one in numbered if one.live.kind == facts.role.workload.kind]
    own.sort(key=lambda one: one.live.revision != facts.revision)
    old = [one for one in numbered if one not in own[:1]]
    return Change(
        facts,
        own[0] if own else None,
        sorted(old, key=lambda one: (age.get(one.live.revision, 0), one.live.name)),
        deployment.pair(replace(facts, workloads=deployments), age),
    )


def _numbered(facts: RoleFacts, live: WorkloadFacts) -> Numbered:
    in_sets = live.kind == LEADER_WORKER_SET[1]
    pods = [pod for pod in facts.pods if (GROUP_INDEX in pod.metadata.labels) == in_sets]
    if not in_sets:
        pods = [
            pod
            for pod in pods
            if any(owner.uid == live.uid for owner in pod.metadata.owner_references)
        ]
    found = {}
    for one in replicas(facts.role, pods, facts.is_ready):
        number = _number(one.pods[0])
        if number is not None:
            found[number] = one
    numbers = {_number(pod) for pod in pods}
    going = frozenset(one for one in numbers if one is not None and one not in found)
    there = {number: one for number, one in found.items() if number < live.replicas}
    is_known = live.made is not None and live.made <= len(found) + len(going)
    return Numbered(live, there, going, is_known)


def _number(pod: Pod) -> int | None:
    index = pod.metadata.labels.get(GROUP_INDEX)
    if index is not None:
        return parse_count(index)
    return ordinal_of(pod.metadata.labels, pod.metadata.name)


def order(
    group: str,
    change: Change,
    plan: RolePlan,
    ratio: Fraction | None,
    templates: Mapping[str, Json],
    *,
    in_batches: bool = False,
) -> Orders:
    """`templates` are the role's earlier ones, by revision. Raises LookupError if it lacks one that
    still runs."""
    facts, kept = change.facts, change.kept
    may_start = change.started + len(plan.moves)
    if change.new is not None and change.new.live.revision != facts.revision:
        may_start = change.started  # nothing may move before the template is there
    may_start = min(may_start, facts.desired - kept)
    ahead = most_unavailable(ratio, facts.desired) == 0
    keep = max(0, facts.desired - kept - (change.ready if ahead else may_start))
    serving = change.serving_old + change.ready
    spare = serving - facts.desired + most_unavailable(ratio, facts.desired)
    down = _Down([], [], [], 0)
    waits: list[str] = []
    missing = keep - sum(one.live.replicas for one in change.old)
    missing -= sum(one.replicas for one in change.pair.old)
    for one in change.old:
        stays = min(one.live.replicas, keep)
        if missing > 0 and not change.pair.old and one is change.old[0]:
            stays += missing  # the role should have more, and the new workload may not have them
        keep -= stays
        spare -= down.numbered(facts, one, stays, spare, templates, in_batches=in_batches)
    if change.pair.old:
        lowered = deployment.lower(change.pair, keep, spare, templates, in_batches=in_batches)
        down.workloads += lowered.workloads
        down.evict += lowered.evict
        down.settled += lowered.settled
        down.taken += lowered.taken
        waits = lowered.waits
    down.evict += [  # again: the first answer may have been lost
        Eviction(pod, facts.role.name, one.uid)
        for one in change.pair.facts.workloads
        for pod in change.pair.unseen(one)
    ]
    new_one = change.pair.new
    if new_one is not None and new_one.evicted and not change.pair.unseen(new_one):
        down.settled.append(new_one.uid)
    start = may_start
    if not ahead:
        start = min(start, max(change.started, facts.desired - kept - down.taken))
    new = _of_new(group, change, start, ratio)
    return Orders([new, *down.workloads], down.evict, down.settled, "; ".join(waits))


@dataclass(slots=True)
class _Down:
    """The old workloads, as they should be."""

    workloads: list[WorkloadOrder]
    evict: list[Eviction]
    settled: list[str]
    taken: int

    def numbered(
        self,
        facts: RoleFacts,
        old: Numbered,
        keep: int,
        spare: int,
        templates: Mapping[str, Json],
        *,
        in_batches: bool,
    ) -> int:
        """Lower it to so many replicas, from the highest number. Returns how many serving replicas
        go for that."""
        live, scale, going = old.live, max(old.live.replicas, keep), 0
        while scale > keep and scale - 1 not in old.there:
            # One that has not been seen may serve: then the others must do without it.
            if scale - 1 not in old.going and not (old.is_known and spare >= 0):
                break
            scale -= 1
        if not scale and not live.replicas:
            return 0  # nothing is left of it
        evicts = live.kind == STATEFUL_SET[1]
        evicted = 0
        for number in range(scale - 1, keep - 1, -1):
            one = old.there.get(number)
            if one is None:
                break
            serves = all(map(is_ready, one.pods))  # for however short a time
            if serves and spare - going <= 0:
                break
            going += serves
            evicted += 1
            if evicts:
                self.evict.append(Eviction(one.pods[0], facts.role.name))
        if not evicts:
            scale -= evicted
        role = earlier_role(facts.role, live, templates)
        # These are of the other kind.
        role = msgspec.structs.replace(role, update_strategy=None, rollout_strategy=None)
        self.workloads.append(
            WorkloadOrder(
                live.name,
                role,
                live.revision,
                scale,
                # An update of its own that is under way stops here: one of the two takes pods.
                partition=max(facts.desired, live.replicas),
                max_unavailable=None if evicts else 1,
            )
        )
        # A replica that does not serve leaves its room, but not its place in a batch.
        self.taken += sum(
            one.ready or in_batches for number, one in old.there.items() if number < scale
        )
        return going


def _of_new(group: str, change: Change, start: int, ratio: Fraction | None) -> WorkloadOrder:
    facts, new = change.facts, change.new
    if change.is_deployment:
        return deployment.of_new(group, change.pair, start)
    partition = change.kept
    if new is not None and new.live.revision != facts.revision:
        partition = max(facts.desired, new.live.replicas)
    return WorkloadOrder(
        name=new.live.name if new is not None else _name(group, change),
        role=facts.role,
        revision=facts.revision,
        replicas=min(change.kept, facts.desired) + max(0, start),
        partition=partition,
        max_unavailable=(
            max(1, most_unavailable(ratio, facts.desired))
            if facts.role.kind == LEADER_WORKER_SET
            else None
        ),
    )


def _name(group: str, change: Change) -> str:
    role = change.facts.role.name
    plain = workload_name(group, role)
    taken = any(one.live.name == plain for one in change.old)
    return other_name(group, role, change.facts.revision) if taken else plain
