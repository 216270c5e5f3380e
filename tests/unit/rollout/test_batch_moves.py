"""Pods of a running group that move into batches: where to, in which order, and that it ends."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intact.model.pod import PodMeta, PodSpec, RolePod, RolePodCondition, RolePodStatus
from intact.model.rbg import Coordination, Role, RoleBasedGroup
from intact.model.times import parse_time
from intact.rollout.batch_moves import Moves, Unit, limits_of, moves, units_of
from intact.rollout.coordinations import place_label
from intact.rollout.facts import RoleFacts
from tests.support.rbg_objects import batches, group, kind, role, rolling
from tests.unit.rollout.scene import pod

NODE, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def rules(ratios: dict[str, int], topology: str = NODE) -> Coordination:
    return msgspec.convert(batches(ratios, topologyKey=topology), Coordination)


TWO_ONE = rules({"prefill": 2, "decode": 1})
LIMITS = {"prefill": 2, "decode": 1}


def unit(name: str, batch: int | None, domain: str | None, **rest: Any) -> Unit:
    """`name` is the role and a number."""
    made = RolePod(metadata=PodMeta(name=name, namespace="ns", uid=name))
    found = Unit(name.rpartition("-")[0], (made,), batch, placed=False, domain=domain)
    return replace(found, **rest)


def names(found: Moves) -> list[str]:
    return [one.metadata.name for _, one in found.evict]


def plan(*units: Unit, limits: dict[str, int] | None = None) -> Moves:
    return moves(TWO_ONE, units, 1, limits or LIMITS)


def test_a_batch_that_is_together_is_adopted_and_nothing_moves() -> None:
    together = [unit("prefill-0", 0, "a"), unit("prefill-1", 0, "a"), unit("decode-0", 0, "a")]
    found = plan(*together)
    assert found.adopt == {"prefill-0": 0, "prefill-1": 0, "decode-0": 0}
    assert (names(found), found.left, found.waiting) == ([], 0, "")


def test_one_that_is_away_is_evicted() -> None:
    found = plan(unit("prefill-0", 0, "a"), unit("prefill-1", 0, "b"), unit("decode-0", 0, "a"))
    assert found.adopt == {"prefill-0": 0, "decode-0": 0}
    assert names(found) == ["prefill-1"]
    assert found.waiting == "1 replicas move to the others of their batch"


def test_the_role_that_may_spare_the_fewest_stays() -> None:
    found = plan(unit("prefill-0", 0, "a"), unit("prefill-1", 0, "a"), unit("decode-0", 0, "b"))
    assert found.adopt == {"decode-0": 0}


def test_no_more_goes_than_the_limits_allow() -> None:
    away = [unit("prefill-0", 0, "b"), unit("prefill-1", 0, "c"), unit("decode-0", 0, "a")]
    assert names(plan(*away)) == ["prefill-0"]
    down = replace(away[2], available=False)
    assert names(plan(*away[:2], down)) == ["prefill-0"], "a limit is of one role"
    held = plan(*away, limits={"prefill": 0, "decode": 0})
    assert names(held) == []
    assert "none may be unavailable" in held.waiting


def test_a_broken_one_costs_nothing() -> None:
    broken = unit("prefill-1", 0, "b", available=False)
    others = unit("prefill-0", 0, "a"), unit("decode-0", 0, "a")
    assert names(plan(broken, *others, limits={"prefill": 1, "decode": 1})) == ["prefill-1"]


def test_one_that_is_in_the_way_goes_for_one_that_waits() -> None:
    waits = unit("prefill-1", 0, None, placed=True, available=False, unschedulable=True)
    mine = [unit("prefill-0", 0, "a", placed=True), unit("decode-0", 0, "a", placed=True), waits]
    other = unit("prefill-2", 1, "a")
    home = [unit("decode-1", 1, "b", placed=True), unit("prefill-3", 1, "b", placed=True)]
    found = moves(TWO_ONE, [*mine, other, *home], 2, LIMITS)
    assert names(found) == ["prefill-2"]
    assert found.stuck == []
    alone = moves(TWO_ONE, [*mine, *home], 2, LIMITS)
    assert (names(alone), alone.stuck) == ([], [0])


def test_one_of_another_role_makes_room_where_no_other_may() -> None:
    one_one = rules({"prefill": 1, "decode": 1})
    waits = unit("decode-0", 0, None, placed=True, available=False, unschedulable=True)
    mine = unit("prefill-0", 0, "a", placed=True)
    other, home = unit("decode-1", 1, "a"), unit("prefill-1", 1, "b", placed=True)
    limits = {"prefill": 1, "decode": 1}
    found = moves(one_one, [waits, mine, other, home], 2, limits)
    assert names(found) == ["prefill-0"]
    assert found.awaited == [waits.pods[0]]
    back = replace(mine, domain=None, available=False, unschedulable=True, follows="decode-0")
    assert names(moves(one_one, [waits, back, other, home], 2, limits)) == [], "it has done so"
    there = replace(waits, domain="a", available=True, unschedulable=False)
    assert names(moves(one_one, [there, back, other, home], 2, limits)) == ["decode-1"]
    lost = replace(back, follows="another")
    assert names(moves(one_one, [there, lost, home], 2, limits)) == ["prefill-0"], "for good"


def test_a_budget_that_refuses_one_role_lets_another_make_room() -> None:
    waits = unit("prefill-1", 0, None, placed=True, available=False, unschedulable=True)
    mine = [unit("prefill-0", 0, "a", placed=True), unit("decode-0", 0, "a", placed=True), waits]
    others = [unit("prefill-2", 1, "a"), unit("decode-1", 1, "b", placed=True)]
    others.append(unit("prefill-3", 1, "b", placed=True))
    found = moves(TWO_ONE, [*mine, *others], 2, LIMITS, refused=["prefill"])
    assert names(found) == ["decode-0"]


def test_zones_may_be_home_to_several_batches() -> None:
    zones = rules({"prefill": 1, "decode": 1}, ZONE)
    there = [unit(f"{name}-{at}", at, "a") for name in ("prefill", "decode") for at in range(2)]
    found = moves(zones, there, 2, {"prefill": 1, "decode": 1})
    assert (len(found.adopt), found.left) == (4, 0)


def test_a_domain_that_takes_no_new_pods_is_no_home() -> None:
    there = [unit("prefill-0", 0, "a"), unit("prefill-1", 0, "b"), unit("decode-0", 0, "a")]
    found = moves(TWO_ONE, there, 1, LIMITS, usable=lambda domain: domain != "a")
    assert found.adopt == {"prefill-1": 0}


def facts(workload: str, *pods: RolePod) -> RoleFacts:
    return RoleFacts(msgspec.convert(role("prefill", 4, **kind(workload)), Role), 4, "r", pods)


def on(found: RolePod, node: str) -> RolePod:
    made: RolePod = msgspec.structs.replace(found, spec=PodSpec(node_name=node))
    return made


def test_units_of_a_stateful_set_know_their_batch_by_their_ordinal() -> None:
    label = place_label(TWO_ONE)
    pods = [
        on(pod("prefill", 0, "r", labels={label: "0"}), "a"),
        on(pod("prefill", 2, "r", labels={label: "0"}), "b"),
        on(pod("prefill", 3, "r"), "b"),
        on(pod("prefill", 4, "r"), "b"),
    ]
    found = units_of(TWO_ONE, facts("StatefulSet", *pods), 2, lambda node: node)
    assert [(one.batch, one.placed) for one in found] == [(0, True), (1, False), (1, False)]


def test_units_of_a_deployment_join_any_batch() -> None:
    label = place_label(TWO_ONE)
    pods = [pod("prefill", 0, "r", labels={label: "1"}), pod("prefill", 1, "r")]
    found = units_of(TWO_ONE, facts("Deployment", *pods), 2, lambda node: node)
    assert [(one.batch, one.placed) for one in found] == [(1, True), (None, False)]


def test_a_copy_without_a_controller_is_never_moved() -> None:
    there = pod("prefill", 0, "r")
    meta = msgspec.structs.replace(there.metadata, owner_references=[])
    copy = msgspec.structs.replace(there, metadata=meta)
    assert units_of(TWO_ONE, facts("Deployment", copy), 2, str) == []


def test_a_replica_of_a_leader_worker_set_is_one_unit() -> None:
    index = "leaderworkerset.sigs.k8s.io/group-index"
    label = place_label(TWO_ONE)

    def member(number: int, group: int, node: str, **labels: str) -> RolePod:
        return on(pod("prefill", number, "r", labels={index: str(group), **labels}), node)

    pods = [
        member(0, 0, "a", **{label: "0"}),
        member(1, 0, "a", **{label: "0"}),
        member(2, 2, "a", **{label: "1"}),
        member(3, 2, "b", **{label: "1"}),
    ]
    sets = {**role("prefill", 4, **kind("LeaderWorkerSet")), "leaderWorkerSet": {"size": 2}}
    found = RoleFacts(msgspec.convert(sets, Role), 4, "r", pods)
    first, second = units_of(TWO_ONE, found, 2, lambda node: node)
    assert (first.batch, first.domain, first.placed, first.available) == (0, "a", True, True)
    assert (second.batch, second.domain) == (1, "")
    assert moves(TWO_ONE, [first], 2, {"prefill": 4, "decode": 2}).left == 0


def test_an_evicted_pod_is_gone_before_it_is_seen_going() -> None:
    there = pod("prefill", 0, "r")
    [one] = units_of(TWO_ONE, facts("StatefulSet", there), 2, str, [there.metadata.uid])
    assert one.gone
    assert not one.available


def test_a_pod_that_terminates_for_long_is_not_waited_for() -> None:
    going = pod("prefill", 0, "r", going=True)
    until = parse_time(going.metadata.deletion_timestamp or "")
    for seconds, expected in [(30, False), (90, True)]:
        found = replace(facts("StatefulSet", going), now=until + timedelta(seconds=seconds))
        [one] = units_of(TWO_ONE, found, 2, str)
        assert (one.gone, one.lost) == (True, expected)


def test_a_gap_is_filled_before_another_has_to_go() -> None:
    """Decode waits for a node on which two of prefill are; one of those has a gap in its home."""
    waits = unit("decode-0", 0, None, placed=True, available=False, unschedulable=True)
    first = [waits, unit("prefill-0", 0, "a", placed=True), unit("prefill-1", 0, "a", placed=True)]
    second = [unit("decode-1", 1, "b", placed=True), unit("prefill-2", 1, "b", placed=True)]
    in_the_way = unit("prefill-3", 1, "a")
    third = [unit(f"prefill-{at}", 2, "c", placed=True) for at in (4, 5)]
    third.append(unit("decode-2", 2, "c", placed=True))
    units = [*first, *second, in_the_way, *third]
    assert names(moves(TWO_ONE, units, 3, LIMITS)) == ["prefill-3"]


def test_a_pod_that_finds_no_node_waits() -> None:
    status = RolePodStatus(
        phase="Pending", conditions=[RolePodCondition(type="PodScheduled", status="False")]
    )
    waits = msgspec.structs.replace(pod("prefill", 0, "r"), status=status)
    [one] = units_of(TWO_ONE, facts("StatefulSet", waits), 2, str)
    assert (one.unschedulable, one.domain, one.available) == (True, None, False)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"prefill": 2, "decode": 1}, id="a quarter, at least one batch"),
        pytest.param(
            {"coordination": [rolling("prefill", "decode", maxUnavailableRatio="70%")]},
            {"prefill": 4, "decode": 2},
            id="as in a rolling update",
        ),
        pytest.param(
            {"coordination": [rolling("prefill", "decode", maxUnavailableRatio="0%")]},
            {"prefill": 0, "decode": 0},
            id="none",
        ),
        pytest.param({"paused": True}, {"prefill": 0, "decode": 0}, id="paused"),
    ],
)
def test_limits(spec: dict[str, object], expected: dict[str, int]) -> None:
    body = group("llm", role("prefill", 6), role("decode", 3), **spec)
    assert limits_of(msgspec.convert(body, RoleBasedGroup), TWO_ONE, 3) == expected


@dataclass
class Cluster:
    """Nodes that hold exactly one batch each, and a scheduler that takes any that it may take."""

    coordination: Coordination
    ratios: dict[str, int]
    limits: dict[str, int]
    units: dict[str, Unit]
    batches: int
    rng: random.Random
    room: int
    budget: int
    """Of each role, how many may be unavailable."""
    evicted: list[str] = field(default_factory=list)

    def step(self) -> bool:
        """Whether anything is still to be done."""
        refused: set[str] = set()
        changed = False
        while True:
            there = list(self.units.values())
            found = moves(self.coordination, there, self.batches, self.limits, refused=refused)
            assert found.stuck == []
            for name, batch in found.adopt.items():
                self.units[name] = replace(self.units[name], batch=batch, placed=True)
            awaited = [one.metadata.name for one in found.awaited]
            budgets = {one.role for _, one in self._ask(found, awaited)}
            changed |= bool(found.adopt) or len(budgets) < len(found.evict)
            if not budgets:
                break
            assert not budgets <= refused, "it does not ask again at once"
            refused |= budgets
        for name, ratio in self.ratios.items():
            down = sum(one.role == name and not one.available for one in self.units.values())
            assert down <= min(self.limits[name], self.budget), (name, down, ratio)
        if not (self._schedule() or changed):
            assert found.left == 0
            assert all(one.available for one in self.units.values())
            return False
        return True

    def _ask(self, found: Moves, awaited: Sequence[str]) -> list[tuple[str, Unit]]:
        """Evict within the budgets. Returns those that were refused."""
        refused = []
        for name in names(found):
            one = self.units[name]
            down = sum(each.role == one.role and not each.available for each in self.units.values())
            if one.available and down >= self.budget:
                refused.append((name, one))
            else:
                self._evict(name, awaited)
        return refused

    def _evict(self, name: str, awaited: Sequence[str]) -> None:
        self.evicted.append(name)
        mine = [one for one in awaited if self.units[one].batch == self.units[name].batch]
        self.units[name] = replace(
            self.units[name],
            domain=None,
            placed=True,
            available=False,
            unschedulable=True,
            follows=mine[0] if mine and mine[0] != name else "",
        )

    def _schedule(self) -> bool:
        waiting = [name for name, one in self.units.items() if one.domain is None]
        self.rng.shuffle(waiting)
        any_placed = False
        for name in waiting:
            options = [node for node in self._nodes() if self._fits(self.units[name], node)]
            if options:
                self.units[name] = replace(
                    self.units[name],
                    domain=self.rng.choice(options),
                    available=True,
                    unschedulable=False,
                    follows="",
                )
                any_placed = True
        return any_placed

    def _nodes(self) -> list[str]:
        return [f"node-{number}" for number in range(self.batches)]

    def _fits(self, one: Unit, node: str) -> bool:
        there = [each for each in self.units.values() if each.domain == node]
        placed = [each for each in self.units.values() if each.domain and each.placed]
        mates = [each for each in placed if each.batch == one.batch]
        if len(there) >= self.room or (mates and all(each.domain != node for each in mates)):
            return False
        if one.follows and self.units[one.follows].domain != node:
            return False
        return all(each.batch == one.batch for each in there if each.placed)


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    prefill=st.integers(1, 3),
    decode=st.integers(1, 2),
    number=st.integers(2, 6),
    factor=st.integers(1, 3),
    budget=st.sampled_from([1, 2, 100]),
)
def test_any_layout_on_nodes_that_fit_exactly_comes_to_rest_within_the_limits(
    seed: int, prefill: int, decode: int, number: int, factor: int, budget: int
) -> None:
    rng = random.Random(seed)
    ratios = {"prefill": prefill, "decode": decode}
    room = sum(ratios.values())
    slots = [f"node-{node}" for node in range(number) for _ in range(room)]
    rng.shuffle(slots)
    units = {
        f"{name}-{at}": unit(f"{name}-{at}", at // ratio, slots.pop())
        for name, ratio in ratios.items()
        for at in range(number * ratio)
    }
    limits = {name: ratio * factor for name, ratio in ratios.items()}
    cluster = Cluster(rules(ratios), ratios, limits, units, number, rng, room, budget)
    steps = 0
    while cluster.step():
        steps += 1
        assert steps < 40 * len(units)
    homes = {one.batch: one.domain for one in cluster.units.values()}
    assert all(homes[one.batch] == one.domain for one in cluster.units.values())
    assert len(cluster.evicted) <= 2 * len(units), "each moves once, and may lend its place"
