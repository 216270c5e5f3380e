"""What no plan may do, whatever is there: 2 to 5 roles, 0 to 60 replicas, all rules."""

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from intact.rollout.plan import Plan, PlannedRole, Replica, Rules, plan
from intact.rollout.ratios import floor, most_unavailable, staying_old
from tests.unit.rollout.cases import percent, role

ratios = st.integers(0, 100).map(percent)
sizes = st.lists(st.integers(0, 60), min_size=2, max_size=5)


@st.composite
def rules_for(draw: st.DrawFn, desired: list[int]) -> Rules:
    """Rules that a RoleBasedGroup with roles of such sizes may have."""
    least = max((-(-100 // number) for number in desired if number), default=1)
    return Rules(
        max_skew=draw(st.none() | ratios),
        max_unavailable=draw(st.none() | st.integers(least, 100).map(percent)),
        partition=draw(ratios),
    )


@st.composite
def random_roles(draw: st.DrawFn) -> list[PlannedRole]:
    """Anything that may be found."""
    found = []
    for number, desired in enumerate(draw(sizes)):
        there = draw(
            st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=desired + 3)
        )
        replicas = [
            Replica(index, new=new, ready=ready)
            for index, (is_there, new, ready) in enumerate(there)
            if is_there
        ]
        found.append(PlannedRole(f"role-{number}", desired, tuple(replicas)))
    return found


class World:
    """Roles whose plans are carried out, while pods fail and become ready."""

    def __init__(self, roles: list[PlannedRole], rules: Rules) -> None:
        self.rules = rules
        self.places: dict[str, list[Replica]] = {}
        for one in roles:
            there = {slot.index: slot for slot in one.replicas}
            self.places[one.name] = [there.get(i, Replica(i)) for i in range(one.desired)]

    def plan(self) -> Plan:
        return plan(self.roles(), self.rules)

    def roles(self) -> list[PlannedRole]:
        return [PlannedRole(name, len(slots), tuple(slots)) for name, slots in self.places.items()]

    def move(self, made: Plan) -> None:
        for name, one in made.roles.items():
            for index in one.moves:
                self.places[name][index] = Replica(index, new=True)

    def become_ready(self, name: str, index: int) -> None:
        self.places[name][index] = replace(self.places[name][index], ready=True)

    def waiting(self) -> list[tuple[str, int]]:
        """What may become ready."""
        return [
            (name, slot.index)
            for name, slots in self.places.items()
            for slot in slots
            if not slot.ready
        ]

    def check(self) -> None:
        """The rules, counted afresh and not as the plan counts. What happens within one plan only
        adds to what is started and unavailable, and what becomes ready only takes away: the end of
        a plan is its worst moment."""
        there = {name: slots for name, slots in self.places.items() if slots}
        lowest = min(
            (
                Fraction(sum(s.new and s.ready for s in slots), len(slots))
                for slots in there.values()
            ),
            default=Fraction(0),
        )
        for slots in there.values():
            started = sum(slot.new for slot in slots)
            assert len(slots) - started >= staying_old(self.rules.partition, len(slots))
            unavailable = sum(not slot.ready for slot in slots)
            assert unavailable <= most_unavailable(self.rules.max_unavailable, len(slots))
            if self.rules.max_skew is not None:
                coarsest = Fraction(1, min(map(len, there.values())))
                bound = max(self.rules.max_skew, coarsest)
                assert Fraction(started, len(slots)) - lowest <= bound


@given(st.data())
def test_no_rule_is_broken_at_any_moment_and_every_plan_ends(data: st.DataObject) -> None:
    desired = data.draw(sizes)
    rules = data.draw(rules_for(desired))
    world = World([role(f"role-{i}", number) for i, number in enumerate(desired)], rules)
    for _ in range(data.draw(st.integers(0, 20), label="steps in disorder")):
        made = world.plan()
        # Budgets may refuse the rest of what a plan moves.
        part = data.draw(ratios, label="of the moves")
        world.move(
            replace(
                made,
                roles={
                    name: replace(one, moves=one.moves[: floor(len(one.moves) * part)])
                    for name, one in made.roles.items()
                },
            )
        )
        world.check()
        waiting = world.waiting()
        if waiting:
            for name, index in data.draw(st.lists(st.sampled_from(waiting)), label="ready"):
                world.become_ready(name, index)
    finish(world, world.check)
    for slots in world.places.values():
        started = sum(slot.new for slot in slots)
        assert len(slots) - started == staying_old(rules.partition, len(slots))


def finish(world: World, check: Callable[[], None] = lambda: None) -> None:
    """Everything that is started becomes ready, until nothing moves."""
    for _ in range(sum(map(len, world.places.values())) + 1):
        for name, index in world.waiting():
            world.become_ready(name, index)
        made = world.plan()
        if made.at_rest:
            return
        assert any(one.moves for one in made.roles.values()), made
        world.move(made)
        check()
    raise AssertionError("it does not end")


@given(random_roles(), st.data())
def test_from_anything_that_may_be_found_every_plan_ends(
    roles: list[PlannedRole], data: st.DataObject
) -> None:
    world = World(roles, data.draw(rules_for([one.desired for one in roles])))
    # In the middle of it: scaled, other rules, another template.
    for _ in range(data.draw(st.integers(0, 3), label="steps before")):
        world.move(world.plan())
        for name, index in world.waiting():
            world.become_ready(name, index)
    changed = []
    for one in world.roles():
        keep = data.draw(st.booleans(), label="same template")
        slots = tuple(replace(slot, new=slot.new and keep) for slot in one.replicas)
        number = data.draw(st.just(one.desired) | st.integers(0, 60), label="replicas")
        changed.append(replace(one, desired=number, replicas=slots))
    finish(World(changed, data.draw(rules_for([one.desired for one in changed]))))


@given(random_roles(), ratios, ratios, ratios)
def test_from_anywhere_a_move_makes_no_bound_worse(
    roles: list[PlannedRole], skew: Fraction, unavailable: Fraction, partition: Fraction
) -> None:
    rules = Rules(skew, unavailable, partition)
    desired = [one.desired for one in roles if one.desired]
    bound = max([skew, *(Fraction(1, number) for number in desired)])
    made = plan(roles, rules)
    world = World(roles, rules)
    for name, one in made.roles.items():
        if not one.moves:
            continue
        slots = world.places[name]
        after = one.started + len(one.moves)
        assert one.desired - after >= staying_old(partition, one.desired)
        available = [slot.index for slot in slots if slot.ready and slot.index in one.moves]
        missing = sum(not slot.ready for slot in slots) + len(available)
        most = max(most_unavailable(unavailable, one.desired), 1 if unavailable else 0)
        assert not available or missing <= most
        for other in made.roles.values():
            if other.desired:
                lead = Fraction(after, one.desired) - Fraction(other.ready, other.desired)
                assert lead <= bound or other.ready >= other.desired - other.keeps


@given(random_roles(), rules_for([60]), st.data())
def test_the_order_of_the_input_does_not_matter(
    roles: list[PlannedRole], rules: Rules, data: st.DataObject
) -> None:
    shuffled = [
        replace(one, replicas=tuple(data.draw(st.permutations(one.replicas))))
        for one in data.draw(st.permutations(roles))
    ]
    assert plan(roles, rules) == plan(shuffled, rules)


@given(random_roles(), rules_for([60]))
def test_no_float(roles: list[PlannedRole], rules: Rules) -> None:
    made = plan(roles, rules)
    assert type(made.skew) is Fraction
    for one in made.roles.values():
        for field in fields(one):
            assert not isinstance(getattr(one, field.name), float)


@given(random_roles(), rules_for([60]))
def test_moves_go_from_the_top_and_the_partition_lets_exactly_those_go(
    roles: list[PlannedRole], rules: Rules
) -> None:
    made = plan(roles, rules)
    for name, slots in World(roles, rules).places.items():
        one = made.roles[name]
        old = [slot.index for slot in slots if not slot.new]
        assert one.moves == tuple(sorted(old, reverse=True)[: len(one.moves)])
        assert {index for index in old if index >= one.partition} == set(one.moves)
