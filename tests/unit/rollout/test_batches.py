from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.rollout.batches import Batched, Mode, batch_of, count, plan_in_batches, release
from intact.rollout.plan import PlannedRole, Replica, Rules, State
from tests.unit.rollout.cases import percent, role

RATIOS = {"prefill": 2, "decode": 1}
TWO_TO_ONE = Batched("together", RATIOS)
THIRD = Rules(max_skew=percent(1), max_unavailable=percent(34))


@pytest.mark.parametrize(
    ("prefill", "decode", "expected"), [(6, 3, 3), (4, 3, 2), (6, 2, 2), (0, 3, 0), (1, 1, 0)]
)
def test_there_are_as_many_as_every_role_can_fill(prefill: int, decode: int, expected: int) -> None:
    assert count({"prefill": prefill, "decode": decode}, RATIOS) == expected


def test_ordinals_fill_batches_in_their_order() -> None:
    assert [batch_of(ordinal, 2) for ordinal in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [batch_of(ordinal, 1) for ordinal in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("released", "ready", "expected"),
    [
        pytest.param(0, [], 1, id="the first"),
        pytest.param(1, [], 1, id="not the next before it is ready"),
        pytest.param(1, [0], 2, id="the next"),
        pytest.param(3, [0, 1, 2], 3, id="all"),
        pytest.param(3, [0, 2], 3, id="a batch that fails later takes none away"),
        pytest.param(5, [0, 1, 2], 3, id="scaled down"),
    ],
)
def test_sequential_waits_for_those_before(released: int, ready: list[int], expected: int) -> None:
    assert release(3, released, ready, Mode.SEQUENTIAL) == expected


def test_parallel_waits_for_none() -> None:
    assert release(3, 0, [], Mode.PARALLEL) == 3


def test_a_batch_moves_as_one() -> None:
    made = plan_in_batches([role("prefill", 6), role("decode", 3)], THIRD, [TWO_TO_ONE]).roles
    assert made["prefill"].moves == (5, 4)
    assert made["decode"].moves == (2,)
    assert (made["prefill"].partition, made["decode"].partition) == (4, 2)


def test_what_is_left_of_a_batch_moves_before_the_next() -> None:
    half = role("prefill", 6, new=1)
    made = plan_in_batches([half, role("decode", 3, new=1)], THIRD, [TWO_TO_ONE]).roles
    assert made["prefill"].moves == (4,)
    assert made["decode"].moves == ()


def test_the_next_batch_waits_until_all_of_this_one_is_ready() -> None:
    prefill = role("prefill", 6, new=2, ready=2)
    made = plan_in_batches([prefill, role("decode", 3, new=1, ready=0)], THIRD, [TWO_TO_ONE]).roles
    assert made["prefill"].moves == made["decode"].moves == ()
    assert made["decode"].state is State.UPDATING


def test_what_is_waited_for_is_said_in_batches() -> None:
    prefill = role("prefill", 6, new=2, ready=1)
    roles = [prefill, role("decode", 3, new=1), role("router", 3, new=1)]
    made = plan_in_batches(roles, THIRD, [TWO_TO_ONE]).roles
    assert made["prefill"].waits_for == ("coordination together: 1 batch started and not ready yet")
    assert made["router"].waits_for == (
        "coordination together: 0 of 3 batches updated and ready, 1 batch started and not ready yet"
    )
    held = plan_in_batches(roles[:2], replace(THIRD, partition=percent(67)), [TWO_TO_ONE]).roles
    assert held["decode"].keeps == 3


def test_batches_of_roles_that_are_not_all_in_the_plan() -> None:
    made = plan_in_batches([role("prefill", 6), role("router", 3)], THIRD, [TWO_TO_ONE]).roles
    assert made["prefill"].moves == (5, 4)
    assert set(made) == {"prefill", "router"}


def test_a_coordination_may_be_called_like_a_role() -> None:
    roles = [role("prefill", 6), role("decode", 3), role("together", 3)]
    assert set(plan_in_batches(roles, THIRD, [TWO_TO_ONE]).roles) == {one.name for one in roles}


def test_other_roles_go_along() -> None:
    roles = [role("prefill", 6), role("decode", 3), role("router", 3)]
    made = plan_in_batches(roles, THIRD, [TWO_TO_ONE]).roles
    assert made["router"].moves == (2,)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=18, max_size=18),
    st.integers(17, 100).map(percent),
)
def test_from_anything_that_may_be_found_batches_move_whole_and_it_ends(
    found: list[tuple[bool, bool]], unavailable: object
) -> None:
    replicas = [
        Replica(index % 12, new=new, ready=ready) for index, (new, ready) in enumerate(found)
    ]
    roles = [
        PlannedRole("prefill", 12, tuple(replicas[:12])),
        PlannedRole("decode", 6, tuple(replicas[12:])),
    ]
    rules = Rules(percent(1), unavailable)  # type: ignore[arg-type]
    for _ in range(8):
        roles = [
            replace(one, replicas=tuple(replace(slot, ready=True) for slot in one.replicas))
            for one in roles
        ]
        made = plan_in_batches(roles, rules, [TWO_TO_ONE])
        if made.completed:
            return
        batches = [
            {batch_of(index, RATIOS[one.name]) for index in made.roles[one.name].moves}
            for one in roles
        ]
        moved = []
        for one in roles:
            moves = made.roles[one.name].moves
            moved.append(
                replace(
                    one,
                    replicas=tuple(
                        replace(slot, new=slot.new or slot.index in moves, ready=False)
                        for slot in one.replicas
                    ),
                )
            )
            for batch in batches[0] | batches[1]:
                ratio = RATIOS[one.name]
                part = moved[-1].replicas[batch * ratio : (batch + 1) * ratio]
                assert all(slot.new for slot in part)
        roles = moved
    raise AssertionError("it does not end")
