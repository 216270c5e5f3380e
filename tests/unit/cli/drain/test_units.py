"""What goes together, and what it would break."""

from intact.cli.drain.units import allowed, counts_groups, holds
from tests.unit.cli.drain.objects import LWS, pdb, picture, pod, pub, units


def names(unit: object) -> list[str]:
    return [one.metadata.name for one in unit.pods]  # type: ignore[attr-defined]


def test_pods_of_a_group_go_together_and_others_alone() -> None:
    pods = [pod("a-0", "a"), pod("a-1", "a"), pod("a-2", "a", node="other"), pod("x")]
    found = units(pods, pub(need=3))
    assert {name: names(unit) for name, unit in found.items()} == {"a": ["a-0", "a-1"], "x": ["x"]}
    assert found["a"].group == "a"
    assert found["x"].group == ""


def test_a_budget_that_counts_groups_tells_the_group_before_the_pods_do() -> None:
    labels = {f"{LWS}/name": "l", f"{LWS}/group-key": "key"}
    size = {f"{LWS}/size": "2"}
    pods = [pod("a-0", "a", labels=labels, annotations=size)]
    assert list(units(pods, pub(need=1))) == ["a"]
    assert list(units(pods, pdb())) == ["key"]
    assert list(units(pods)) == ["key"]


def test_a_group_is_free_as_far_as_it_does_not_break() -> None:
    whole = [pod("a-0", "a"), pod("a-1", "a")]
    assert units(whole, pub(need=2))["a"].free == 0
    assert units(whole, pub(need=1))["a"].free == 1
    assert not units(whole, pub(need=2))["a"].is_free
    down = [pod("a-0", "a"), pod("a-1", "a", ready=False)]
    assert units(down, pub(need=2))["a"].free == 2
    # The pod that nobody misses goes first.
    assert names(units(down, pub(need=1))["a"]) == ["a-1", "a-0"]
    assert units(down, pub(need=1))["a"].free == 1


def test_a_group_that_no_budget_counts_is_down_if_its_pods_say_so() -> None:
    labels = {f"{LWS}/name": "l", f"{LWS}/group-key": "key"}
    size = {f"{LWS}/size": "2"}
    up = pod("a-0", labels=labels, annotations=size)
    assert units([up, pod("a-1", labels=labels, annotations=size)], pdb())["key"].free == 0
    lost = pod("a-1", labels=labels, annotations=size, ready=False, node="other")
    assert units([up, lost], pdb())["key"].free == 1


def test_without_a_budget_everything_is_free() -> None:
    assert units([pod("x")])["x"].is_free


def test_a_budget_that_nobody_holds_is_none() -> None:
    [left_over] = picture([pod("a-0", "a")], pub(), intact=False).budgets
    [warns] = picture([pod("a-0", "a")], pub(enforcement="Warn")).budgets
    [unknown] = picture([pod("a-0", "a")], pub(), intact=None).budgets
    assert [holds(one) for one in (left_over, warns, unknown)] == [False, False, True]
    assert units([pod("a-0", "a")], pub(), intact=False)["a"].budgets == ()


def test_what_it_takes_of_a_budget_is_in_its_own_unit() -> None:
    pods = [pod("a-0", "a"), pod("a-1", "a")]
    costs = units(pods, pub(), pdb("pods"))["a"].costs
    assert {key[0]: cost for key, cost in costs.items()} == {
        "PodUnavailableBudget": 1,
        "PodDisruptionBudget": 2,
    }


def test_numbers_of_groups_are_those_of_pods_without_intact() -> None:
    budget = pdb(allowed=3)
    budget.metadata.labels["intact.dev/budget-scope"] = "Workload"
    [with_intact] = picture([pod("a-0", "a")], budget, intact=True).budgets
    [without] = picture([pod("a-0", "a")], budget, intact=False).budgets
    assert (counts_groups(with_intact), allowed(with_intact)) == (True, 0)
    assert (counts_groups(without), allowed(without)) == (False, 3)
