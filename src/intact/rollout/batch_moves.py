"""How a running group's pods get into the batches of an AffinityScheduling coordination.

Placement is decided when a pod is created. Pods that ran before the rules, or that were created
while Intact was down, have none. They get into their batches without a template being changed:

| a replica | is |
|---|---|
| adopted | in the domain of its batch already: it gets the labels, and stays |
| away | in another domain: it is evicted, and comes back with its batch |
| in the way | in the domain of another batch, whose replica finds no room there: it is evicted |

A batch's home is the domain where its first adopted or placed replica runs. Of the possible homes,
those come first that have room for a whole batch for certain, and then those with most replicas in
place of the roles that may spare the fewest. No node is the home of two batches, and as many as
possible get a home at once: on nodes that fit exactly, all of them.

While a replica waits for room in its home, there is a gap where it came from. First, others go to
gaps in their homes, one after another, until the gap is where the replica waits. If none can, one
that is in its way goes. If a limit or a budget lets none of those go, because they have the role of
the one that waits, then a replica of another role of its batch lends its place, and comes back
after it (`awaited`, `follows`).

Why it ends: a placed replica is in its home and is not evicted again, but for a loan. So each
replica moves once, and lends its place once in a while. No replica starts to move while another
has no node: a replica that waits for room holds back evictions of its role.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from intact.model.pod import Pod
from intact.model.pod_state import controller_of, is_gone
from intact.model.rbg import DEPLOYMENT, LEADER_WORKER_SET, Coordination, RoleBasedGroup
from intact.model.times import parse_time
from intact.rollout.batch_progress import batch_label, finds_no_node
from intact.rollout.batches import batch_of
from intact.rollout.coordinations import (
    ROLLING_UPDATE,
    batching,
    coordination_of,
    is_of_nodes,
    place_label,
)
from intact.rollout.facts import RoleFacts
from intact.rollout.ratios import most_unavailable
from intact.rollout.replicas import GROUP_INDEX, replica_index
from intact.rollout.rolling_update import rules_of

_LOST_AFTER = timedelta(seconds=60)
"""After the end of its grace period, a pod that is still terminating is waited for no longer."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A replica of a role, as the batches see it."""

    role: str
    pods: tuple[Pod, ...]
    batch: int | None
    """None: a Deployment's pod that is in no batch yet. It may join any."""
    placed: bool
    """It was given its batch by the present rules."""
    domain: str | None
    """None: it has no node yet. Empty: its pods are in several domains."""
    available: bool = True
    gone: bool = False
    lost: bool = False
    """It should have been gone for long: its node may be."""
    unschedulable: bool = False
    follows: str = ""
    """The UID of the pod that it made room for."""


@dataclass(frozen=True, slots=True)
class Moves:
    adopt: Mapping[str, int]
    """By pod name, its batch."""
    evict: Sequence[tuple[str, Pod]]
    """With their roles."""
    awaited: Sequence[Pod]
    """Pods that others make room for."""
    left: int
    """Replicas that are not in their batches yet, whether they can move now or not."""
    stuck: Sequence[int]
    """Batches with a replica that finds no room, although nothing is in its way."""
    waiting: str = ""
    """What the moves wait for; empty if nothing is left to move."""


NO_MOVES = Moves({}, (), (), 0, ())


def limits_of(group: RoleBasedGroup, coordination: Coordination, batches: int) -> dict[str, int]:
    """By role, how many replicas may be unavailable at once: as in a rolling update of so many
    batches, and at least one batch."""
    found: dict[str, int] = {}
    for role, ratio in batching(coordination).ratios.items():
        rolling = coordination_of(group.spec, role, ROLLING_UPDATE)
        most = rules_of(group, rolling).max_unavailable if rolling is not None else None
        held = group.spec.paused or most == 0
        found[role] = 0 if held else max(1, most_unavailable(most, batches)) * ratio
    return found


def units_of(
    coordination: Coordination,
    facts: RoleFacts,
    started: int,
    domain_of: Callable[[str], str],
    evicted: Iterable[str] = (),
) -> list[Unit]:
    """The replicas of one role that stay, or are on their way out. `domain_of` is the domain of a
    node; `evicted` are UIDs of pods that may not have been seen going yet."""
    label, ratio = place_label(coordination), batching(coordination).ratios[facts.role.name]
    sets = facts.role.leader_worker_set
    size = (sets.size if sets else None) or 1
    going = set(evicted)
    found: list[Unit] = []
    for pods in _replicas(facts):
        if not all(map(controller_of, pods)):
            continue  # a copy without a controller does not come back
        gone = any(is_gone(pod) or pod.metadata.uid in going for pod in pods)
        numbers = {batch_label(pod, label) for pod in pods}
        number = numbers.pop() if len(numbers) == 1 else None
        batch = number
        if facts.role.kind != DEPLOYMENT:
            index = replica_index(pods[0].metadata.labels, pods[0].metadata.name)
            batch = None if index is None else batch_of(index, ratio)
            if batch is None or batch >= started:
                continue  # about to be removed
        nodes = {pod.spec.node_name for pod in pods}
        domains = {domain_of(node) for node in nodes if node}
        domain = None if "" in nodes else domains.pop() if len(domains) == 1 else ""
        found.append(
            Unit(
                facts.role.name,
                pods,
                batch,
                placed=number is not None and number == batch,
                domain=domain,
                available=not gone and len(pods) >= size and all(map(facts.is_ready, pods)),
                gone=gone,
                lost=any(_is_lost(pod, facts.now) for pod in pods),
                unschedulable=not gone and any(map(finds_no_node, pods)),
                follows=next(filter(None, (pod.metadata.annotations.follows for pod in pods)), ""),
            )
        )
    return found


def _is_lost(pod: Pod, now: datetime | None) -> bool:
    until = pod.metadata.deletion_timestamp
    return until is not None and now is not None and now - parse_time(until) > _LOST_AFTER


def _replicas(facts: RoleFacts) -> Iterator[tuple[Pod, ...]]:
    """The pods of each replica, the leader first."""
    if facts.role.kind != LEADER_WORKER_SET:
        yield from ((pod,) for pod in facts.pods)
        return
    groups: dict[str, list[Pod]] = {}
    for pod in sorted(facts.pods, key=lambda one: one.metadata.name):
        groups.setdefault(pod.metadata.labels.get(GROUP_INDEX, ""), []).append(pod)
    yield from map(tuple, groups.values())


def moves(
    coordination: Coordination,
    units: Sequence[Unit],
    started: int,
    limits: Mapping[str, int],
    usable: Callable[[str], bool] = lambda _: True,
    refused: Collection[str] = (),
) -> Moves:
    """`limits` are the replicas of each role that may be unavailable at once; `usable` says whether
    new pods may come to a domain; `refused` are roles of which a budget lets none go."""
    homes = _homes(coordination, units, started, limits, usable)
    units, adopt = _adopted(coordination, units, homes)
    return _Plan(coordination, units, homes, started, limits, refused).moves(adopt)


_Homes = Mapping[int, str]


def _homes(
    coordination: Coordination,
    units: Sequence[Unit],
    started: int,
    limits: Mapping[str, int],
    usable: Callable[[str], bool],
) -> _Homes:
    exclusive, ratios = is_of_nodes(coordination), batching(coordination).ratios
    there = [one for one in units if one.domain and not one.gone]
    homes: dict[int, str] = {}
    placed = Counter((one.batch, one.domain) for one in there if one.placed)
    for (batch, domain), _ in sorted(placed.items(), key=lambda one: (-one[1], str(one[0]))):
        if batch is None or batch in homes or domain is None:
            continue
        if not exclusive or domain not in homes.values():
            homes[batch] = domain
    by_limit = sorted(ratios, key=lambda name: (limits[name], name))
    crowd = Counter(one.domain for one in there)
    own = Counter((one.batch, one.domain, one.role) for one in there if not one.placed)

    def rank(batch: int, domain: str) -> tuple[bool, list[int]]:
        in_place = [
            min(ratios[name], own[batch, domain, name] + own[None, domain, name])
            for name in by_limit
        ]
        return exclusive and crowd[domain] >= sum(ratios.values()), in_place

    domains = sorted({one.domain for one in there if one.domain})
    options = [
        (rank(batch, domain), batch, domain)
        for batch in range(started)
        if batch not in homes
        for domain in domains
        if usable(domain) and any(rank(batch, domain)[1])
    ]
    options.sort(key=lambda one: (not one[0][0], [-count for count in one[0][1]], *one[1:]))
    for _, batch, domain in options:
        if batch not in homes and not (exclusive and domain in homes.values()):
            homes[batch] = domain
    if exclusive:
        _rearrange(homes, [(batch, domain) for _, batch, domain in options])
    return homes


def _rearrange(homes: dict[int, str], options: Sequence[tuple[int, str]]) -> None:
    """Find homes for the batches that have none, by giving others their next best: augmenting paths
    of a bipartite matching. On nodes that fit exactly, every batch gets one."""
    fixed = {domain for batch, domain in homes.items() if (batch, domain) not in options}
    of_batch: dict[int, list[str]] = {}
    for batch, domain in options:
        if domain not in fixed:
            of_batch.setdefault(batch, []).append(domain)
    owner = {domain: batch for batch, domain in homes.items()}

    def take(batch: int, seen: set[str]) -> bool:
        for domain in of_batch[batch]:
            if domain in seen:
                continue
            seen.add(domain)
            if domain not in owner or take(owner[domain], seen):
                owner[domain] = batch
                return True
        return False

    for batch in of_batch:
        if batch not in homes:
            take(batch, set())
            homes.clear()
            homes.update({mine: domain for domain, mine in owner.items()})


def _adopted(
    coordination: Coordination, units: Sequence[Unit], homes: _Homes
) -> tuple[list[Unit], dict[str, int]]:
    """The units, with those placed that are in a home already; and the labels of their pods."""
    ratios = batching(coordination).ratios
    have = Counter((one.batch, one.role) for one in units if not one.gone and one.placed)
    adopt: dict[str, int] = {}
    found: list[Unit] = []
    for unit in units:
        one, batch = unit, unit.batch
        if not one.placed and not one.gone and one.domain:
            if batch is None:  # of a Deployment
                lacking = (
                    number
                    for number, home in sorted(homes.items())
                    if home == one.domain and have[number, one.role] < ratios[one.role]
                )
                batch = next(lacking, None)
            if batch is not None and homes.get(batch) == one.domain:
                one = replace(one, batch=batch, placed=True)
                have[batch, one.role] += 1
                adopt |= {pod.metadata.name: batch for pod in one.pods}
        found.append(one)
    return found, adopt


class _Plan:
    """Which replicas go now."""

    def __init__(
        self,
        coordination: Coordination,
        units: Sequence[Unit],
        homes: _Homes,
        started: int,
        limits: Mapping[str, int],
        refused: Collection[str],
    ) -> None:
        self._exclusive = is_of_nodes(coordination)
        self._ratios = batching(coordination).ratios
        self._there = [one for one in units if not one.gone]
        self._going = [one for one in units if one.gone and not one.lost]
        self._homes = homes
        self._started = started
        self._limits = limits
        self._room = {
            name: limits[name]
            - started * ratio
            + sum(one.available for one in self._there if one.role == name)
            for name, ratio in self._ratios.items()
        }
        self._room |= dict.fromkeys(refused, 0)
        self._evict: list[Unit] = []
        self._awaited: list[Pod] = []

    def moves(self, adopt: Mapping[str, int]) -> Moves:
        wrong = [one for one in self._there if not self._is_right(one)]
        waiting = [one for one in self._there if one.placed and one.unschedulable]
        stuck: set[int] = set()
        held = ""
        for one in waiting:
            if not self._fill_gap():
                held = self._make_room(one, stuck) or held
        present = {pod.metadata.uid for one in self._there for pod in one.pods}
        for one in self._there:
            # One without a batch comes back with it; one that follows a pod that is gone, without.
            if one.unschedulable and (one in wrong or (one.follows or "") not in {"", *present}):
                self._evict.append(one)
        in_motion = sum(
            max(0, self._started * ratio - self._running(name))
            for name, ratio in self._ratios.items()
        )
        # Two at once could wait for each other. The next may go as soon as this one has a node.
        for one in self._away(wrong) if not in_motion else ():
            if self._evict:
                break
            held = self._spend(one) or held
        text = f"{len(wrong)} replicas move to the others of their batch" if wrong else ""
        return Moves(
            adopt=adopt,
            evict=[(one.role, one.pods[0]) for one in self._evict],
            awaited=self._awaited,
            left=len(wrong),
            stuck=sorted(stuck),
            waiting=f"{text}; {held}" if text and held else text,
        )

    def _is_right(self, one: Unit) -> bool:
        """Whether it is where it should be, or will be."""
        if not one.placed or one.batch is None:
            return False
        return one.domain is None or one.domain == self._homes.get(one.batch, one.domain)

    def _running(self, name: str) -> int:
        return sum(one.role == name and one.domain is not None for one in self._there)

    def _away(self, wrong: Iterable[Unit]) -> list[Unit]:
        """Of replicas with a node: first those of the role that may spare the fewest, as long as
        other roles can make room for them; then one batch after another."""
        found = [one for one in wrong if one.domain is not None]
        last = self._started
        to_move = Counter(last if one.batch is None else one.batch for one in found)

        def order(one: Unit) -> tuple[bool, bool, bool, int, int, int, str, str]:
            batch = last if one.batch is None else one.batch
            limit, name = self._limits[one.role], one.pods[0].metadata.name
            entering, eases = self._can_enter(one), self._eases(one)
            return (
                one.available,
                not entering,
                not eases,
                limit,
                to_move[batch],
                batch,
                one.role,
                name,
            )

        return sorted(found, key=order)

    def _roles_at(self, one: Unit) -> set[str]:
        """The roles that run in its home."""
        home = None if one.batch is None else self._homes.get(one.batch)
        return {each.role for each in self._there if home is not None and each.domain == home}

    def _can_enter(self, one: Unit) -> bool:
        """Whether a replica of another role can leave its home for it, should a budget allow only
        one of each role at once."""
        return bool(self._roles_at(one) - {one.role}) or not self._roles_at(one)

    def _eases(self, one: Unit) -> bool:
        """Whether its home has replicas of one other role alone, and one of them can leave for a
        home that it can enter: afterwards all roles can enter this one."""
        roles = self._roles_at(one)
        home = None if one.batch is None else self._homes.get(one.batch)
        return len(roles) == 1 and any(
            each.domain == home and not self._is_right(each) and self._can_enter(each)
            for each in self._there
        )

    def _fill_gap(self) -> bool:
        """While a replica waits for room, others may go to where there is some: each leaves its own
        place to the next, until it is the one that is waited for. Returns whether one goes now, or
        has just gone."""
        if not self._exclusive:
            return False
        if self._going:
            return True
        there = [one for one in self._there if one not in self._evict]
        coming = [one for one in self._there if one.domain is None or one in self._evict]
        size = sum(self._ratios.values())
        for batch, home in sorted(self._homes.items()):
            taken = sum(one.domain == home for one in there)
            taken += sum(one.batch == batch for one in coming)
            if taken >= size:
                continue
            for one in self._away(one for one in there if one.batch == batch):
                if not self._is_right(one) and not self._spend(one):
                    return True
        return False

    def _make_room(self, waiting: Unit, stuck: set[int]) -> str:
        """Evict what is in the way of a replica that finds no room. Returns what holds it."""
        batch = waiting.batch
        assert batch is not None
        domain = self._homes.get(batch) or self._free_domain()
        if domain is None:
            stuck.add(batch)
            return ""
        leaving = sum(one.domain == domain for one in (*self._going, *self._evict))
        asking = sum(one.placed and one.unschedulable and one.batch == batch for one in self._there)
        if leaving >= asking:
            return ""
        chosen = {id(one) for one in self._evict}
        in_the_way = [
            one
            for one in self._there
            if one.domain == domain and not self._is_right(one) and id(one) not in chosen
        ]
        if not in_the_way:
            if not leaving:
                stuck.add(batch)
            return ""
        in_the_way.sort(
            key=lambda one: (
                one.available,
                one.available and self._room[one.role] < 1,
                not self._can_enter(one),
                -self._room[one.role],
                one.role,
                one.pods[0].metadata.name,
            )
        )
        if not self._spend(in_the_way[0]):
            return ""
        if self._exclusive and not waiting.follows and self._lend(waiting, domain):
            return ""
        return _held(in_the_way[0], self._limits)

    def _lend(self, waiting: Unit, domain: str) -> bool:
        """Let a replica of another role make room, and come back later."""
        mine = [one for one in self._there if one.batch == waiting.batch]
        if any(one.follows and one.domain is None for one in mine):
            return True  # one has done so already
        for one in mine:
            if one.domain == domain and one.role != waiting.role and not self._spend(one):
                self._awaited += waiting.pods
                return True
        return False

    def _free_domain(self) -> str | None:
        """For a batch without a home: the emptiest domain that is no batch's home."""
        if not self._exclusive:
            return None
        taken = set(self._homes.values())
        crowd = Counter(one.domain for one in self._there if one.domain and one.domain not in taken)
        return min(crowd, key=lambda domain: (crowd[domain], domain), default=None)

    def _spend(self, one: Unit) -> str:
        """Evict a replica if its role can spare it. Returns what holds it."""
        if one in self._evict:
            return ""
        if one.available and self._room[one.role] < 1:
            return _held(one, self._limits)
        self._room[one.role] -= one.available
        self._evict.append(one)
        return ""


def _held(one: Unit, limits: Mapping[str, int]) -> str:
    if not limits[one.role]:
        return f"{one.role}: none may be unavailable (maxUnavailableRatio or spec.paused)"
    return f"{one.role}: {limits[one.role]} may be unavailable, and as many are"
