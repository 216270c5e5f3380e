"""Which units are asked for next."""

from collections.abc import Mapping

from intact.cli.drain.plan import Candidate, Mark, next_units
from intact.cli.drain.units import BudgetKey

A: BudgetKey = ("PodUnavailableBudget", "ns", "a")
B: BudgetKey = ("PodUnavailableBudget", "ns", "b")


def unit(
    name: str, pods: int = 1, *budgets: BudgetKey, free: bool = False, refused: float = 0
) -> Candidate:
    return Candidate(("ns", "group", name), pods, free, dict.fromkeys(budgets, 1), name, refused)


def chosen(
    *units: Candidate,
    room: Mapping[BudgetKey, int] | None = None,
    marks: Mapping[tuple[BudgetKey, bool], Mark] | None = None,
    under_way: tuple[tuple[BudgetKey, bool], ...] = (),
) -> list[str]:
    found = marks or {}
    keys = next_units(
        units, room or {}, lambda key, free: found.get((key, free), Mark.NONE), under_way
    )
    return [key[2] for key in keys]


def test_what_breaks_nothing_goes_first_and_all_at_once() -> None:
    units = [unit("big", 9, A), unit("down", 1, A, free=True), unit("other", 2, A, free=True)]
    assert chosen(*units, room={A: 1}) == ["other", "down", "big"]


def test_the_unit_that_frees_the_most_goes_within_what_is_allowed() -> None:
    units = [unit("small", 1, A), unit("big", 3, A), unit("middle", 2, A)]
    assert chosen(*units, room={A: 2}) == ["big", "middle"]


def test_units_that_free_as_much_go_by_name() -> None:
    assert chosen(unit("b", 1, A), unit("a", 1, A), room={A: 1}) == ["a"]


def test_budgets_do_not_wait_for_each_other() -> None:
    stands = {(A, False): Mark.STANDS}
    units = [unit("held", 5, A), unit("goes", 1, B)]
    assert chosen(*units, room={A: 0, B: 1}, marks=stands) == ["goes"]


def test_a_unit_of_two_budgets_needs_both() -> None:
    stands = {(B, False): Mark.STANDS}
    assert chosen(unit("x", 1, A, B), room={A: 1, B: 0}, marks=stands) == []
    assert chosen(unit("x", 1, A, B), room={A: 1, B: 1}) == ["x"]


def test_where_numbers_allow_nothing_one_unit_is_asked_for_all_the_same() -> None:
    units = [unit("a", 2, A), unit("b", 1, A)]
    assert chosen(*units, room={A: 0}) == ["a"]
    assert chosen(*units, room={A: 0}, under_way=((A, False),)) == []


def test_what_was_refused_is_asked_for_again_only_once_something_has_changed() -> None:
    units = [unit("a", 2, A, refused=1.0), unit("b", 1, A)]
    assert chosen(*units, room={A: 0}, marks={(A, False): Mark.STANDS}) == []
    # The one that was not asked for longest: a unit that can never go must not hide the others.
    assert chosen(*units, room={A: 0}, marks={(A, False): Mark.CHANGED}) == ["b"]


def test_numbers_that_allow_and_a_server_that_refuses_are_asked_one_by_one() -> None:
    units = [unit("a", 2, A, refused=1.0), unit("b", 1, A), unit("c", 1, A)]
    assert chosen(*units, room={A: 3}, marks={(A, False): Mark.STANDS}) == ["b"]
    assert chosen(*units, room={A: 3}, marks={(A, False): Mark.CHANGED}) == ["a", "b", "c"]


def test_units_that_are_down_and_refused_are_asked_for_one_by_one() -> None:
    units = [unit("a", 1, A, free=True), unit("b", 1, A, free=True)]
    assert chosen(*units, marks={(A, True): Mark.STANDS}) == []
    assert chosen(*units, marks={(A, True): Mark.CHANGED}) == ["a"]
    assert chosen(*units, marks={(A, False): Mark.STANDS}) == ["a", "b"]
