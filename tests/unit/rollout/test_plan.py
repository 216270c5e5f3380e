from dataclasses import replace
from fractions import Fraction

import pytest

from intact.rollout.plan import PlannedRole, Replica, Rules, State, plan
from tests.unit.rollout.cases import percent, role

TEN = Rules(max_skew=percent(10), max_unavailable=percent(10))


def after(prefill: tuple[int, int], decode: tuple[int, int], rules: Rules) -> tuple[int, int]:
    """How many of each role may have been started, from (desired, new and ready)."""
    made = plan([role("prefill", *prefill), role("decode", *decode)], rules).roles
    return tuple(made[name].started + len(made[name].moves) for name in ("prefill", "decode"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("prefill", "decode", "expected"),
    [
        pytest.param(0, 0, (4, 2), id="stage 1: both begin, in step"),
        pytest.param(10, 3, (10, 5), id="stage 2: 25 % against 15 %: only 2 decode move"),
        pytest.param(10, 5, (14, 7), id="stage 3: level again: both go on"),
        pytest.param(15, 8, (19, 9), id="stage 4: both go on"),
        pytest.param(40, 20, (40, 20), id="stage 5: done"),
    ],
)
def test_a_role_is_ahead_by_max_skew(prefill: int, decode: int, expected: tuple[int, int]) -> None:
    rules = Rules(max_skew=percent(10), max_unavailable=percent(25))
    assert after((40, prefill), (20, decode), rules) == expected


def test_what_is_started_and_not_ready_is_reserved() -> None:
    made = plan([role("prefill", 40, new=4, ready=0), role("decode", 20, new=2, ready=2)], TEN)
    assert made.roles["prefill"].moves == ()
    assert made.roles["decode"].moves == ()


def test_a_failing_role_holds_the_others_and_is_named() -> None:
    made = plan([role("prefill", 40, new=4), role("decode", 20, new=2, ready=0)], TEN).roles
    assert made["prefill"].state is State.WAITING
    assert made["prefill"].held_by == "decode"
    assert made["prefill"].waits_for.startswith("decode: 0 of 20 updated and ready, 2 started")
    assert made["decode"].state is State.UPDATING
    assert made["decode"].waits_for == "decode: 2 started and not ready yet"


def test_a_role_at_the_lowest_progress_may_start_one_whatever_the_skew() -> None:
    rules = Rules(max_skew=percent(1), max_unavailable=percent(50))
    assert after((7, 0), (3, 0), rules) == (1, 1)
    assert after((7, 1), (3, 1), rules) == (2, 1)


def test_the_partition_is_a_number_of_old_ones() -> None:
    rules = Rules(partition=percent(80), max_unavailable=percent(100))
    made = plan([role("prefill", 200), role("decode", 100)], rules).roles
    assert made["prefill"].moves == tuple(range(199, 159, -1))
    assert made["decode"].moves == tuple(range(99, 79, -1))
    assert (made["prefill"].partition, made["decode"].partition) == (160, 80)


def test_at_the_partition_it_pauses_and_says_so() -> None:
    made = plan([role("a", 10, new=2), role("b", 5, new=1)], replace(TEN, partition=percent(80)))
    assert made.at_rest
    assert not made.completed
    assert made.roles["a"].state is State.PAUSED
    assert made.roles["a"].waits_for == "partition: 8 of 10 stay old"
    alone = plan([role("a", 4, new=3), role("b", 4, new=3)], replace(TEN, partition=percent(25)))
    assert alone.roles["a"].waits_for == "partition: 1 of 4 stays old"


def test_goals_that_differ_by_rounding_are_all_reached() -> None:
    rules = Rules(max_skew=percent(1), max_unavailable=percent(50), partition=percent(50))
    assert after((10, 4), (3, 1), rules) == (5, 1)


def test_broken_old_ones_in_front_move_for_nothing() -> None:
    broken = PlannedRole("a", 4, tuple(Replica(index) for index in range(4)))
    made = plan([broken, role("b", 4)], Rules(max_skew=percent(100), max_unavailable=percent(25)))
    assert made.roles["a"].moves == (3, 2, 1, 0)
    assert made.roles["b"].moves == (3,)


def test_broken_old_ones_behind_keep_their_place_in_the_limit_and_are_named() -> None:
    broken = PlannedRole("a", 4, (Replica(0), *(Replica(index, ready=True) for index in (1, 2, 3))))
    made = plan([broken], Rules(max_unavailable=percent(25))).roles["a"]
    assert made.moves == ()
    assert made.held_by == "a"
    assert made.waits_for == "a: 1 unavailable, 1 may be; old and not ready: 0"


def test_a_role_without_replicas_holds_up_no_other() -> None:
    made = plan([role("a", 0), role("b", 10)], TEN).roles
    assert made["a"].state is State.COMPLETED
    assert made["b"].moves == (9,)


def test_places_that_are_not_there_yet_come_old_unless_they_are_moved() -> None:
    """A scale up in mid-rollout: the places above 4 are to be made."""
    made = plan([replace(role("a", 4, new=1), desired=8), role("b", 4, new=1)], TEN).roles["a"]
    assert made.started == 1
    assert made.moves == (7,)
    assert made.partition == 7


def test_replicas_on_their_way_out_count_for_nothing() -> None:
    made = plan([replace(role("a", 10, new=4), desired=6), role("b", 10)], TEN).roles["a"]
    assert (made.started, made.ready, made.desired) == (0, 0, 6)


def test_new_ones_among_old_ones_are_not_moved_again() -> None:
    mixed = PlannedRole(
        "a", 4, tuple(Replica(index, new=index in {1, 3}, ready=True) for index in range(4))
    )
    made = plan([mixed], Rules(max_unavailable=percent(25))).roles["a"]
    assert made.moves == (2,)
    assert made.partition == 1


def test_paused_moves_nothing_and_keeps_what_is_new() -> None:
    made = plan([role("a", 10, new=4), role("b", 10, new=4)], replace(TEN, paused=True)).roles["a"]
    assert (made.state, made.moves, made.partition) == (State.PAUSED, (), 6)


def test_the_way_back_is_a_plan_with_another_word() -> None:
    made = plan([role("a", 10, new=8), role("b", 10, new=8)], TEN, back=True).roles["a"]
    assert made.state is State.ROLLING_BACK


def test_a_ratio_that_lets_nothing_go_says_so() -> None:
    made = plan([role("a", 3)], Rules(max_unavailable=percent(0))).roles["a"]
    assert made.held_by == "a"
    assert made.waits_for == "maxUnavailableRatio: none of 3 replicas may be unavailable"


def test_a_role_scaled_to_less_than_one_of_its_ratio_goes_on_one_at_a_time() -> None:
    assert plan([role("a", 3)], Rules(max_unavailable=percent(10))).roles["a"].moves == (2,)


def test_a_role_that_may_surge_moves_all_the_same() -> None:
    made = plan([replace(role("a", 3), surge=True)], Rules(max_unavailable=percent(0)))
    assert made.roles["a"].moves == (2,)


def test_skew_is_between_what_is_updated_and_ready() -> None:
    assert plan([role("a", 4, new=2), role("b", 4, new=1)], TEN).skew == Fraction(1, 4)
