"""What is waited for, in words."""

from datetime import UTC, datetime

import msgspec

from intact.cli.drain.left import blocks, waits_for
from intact.model.pod import RolePodCondition
from tests.unit.cli.drain.objects import pdb, picture, pod, pub

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_numbers_explain_what_is_waited_for() -> None:
    [budget] = picture([pod("a-0", "a")], pub(current=3, desired=3, total=4)).budgets
    assert waits_for(budget, "") == "3 of 4 groups are available, the budget requires 3"
    [one] = picture([pod("a-0", "a")], pdb(current=1, desired=1, total=2)).budgets
    assert waits_for(one, "") == "1 of 2 pods is available, the budget requires 1"


def test_the_words_of_the_server_count_where_numbers_do_not_explain_it() -> None:
    [budget] = picture([pod("a-0", "a")], pub(allowed=1, current=4, desired=3, total=4)).budgets
    assert waits_for(budget, "the ledger is full") == "the ledger is full"
    [one] = picture([pod("a-0", "a")], pdb(allowed=0, current=4, desired=3, total=4)).budgets
    assert waits_for(one, "") == "the server refuses, and does not say why"


def test_a_budget_that_never_allows_anything_says_so() -> None:
    [budget] = picture([pod("a")], pdb(current=2, desired=2, total=2)).budgets
    assert waits_for(budget, "").startswith("it requires 2 of 2 pods: none can ever go")


def test_units_that_are_down_are_named_with_what_they_miss() -> None:
    pending = pod("a-1", "a", ready=False, phase="Pending", node="")
    unplaced = RolePodCondition(type="PodScheduled", status="False", message="0/3 nodes have gpu")
    status = msgspec.structs.replace(pending.status, conditions=[unplaced])
    pods = [pod("a-0", "a"), msgspec.structs.replace(pending, status=status), pod("b-0", "b")]
    [budget] = picture(pods, pub(current=1, desired=1, total=2)).budgets
    assert blocks(budget, "", NOW) == [
        "pub/llm in ns: 1 of 2 groups is available, the budget requires 1",
        "  a is down: a-1 Pending, not scheduled: 0/3 nodes have gpu",
        "  b is down: 1 pod does not exist",
    ]


def test_a_long_list_is_cut() -> None:
    pods = [pod(f"p-{number}", f"g-{number}", ready=False) for number in range(7)]
    [budget] = picture(pods, pub(need=1, current=1, desired=1, total=8)).budgets
    assert len(blocks(budget, "", NOW)) == 7
    assert blocks(budget, "", NOW)[-1] == "  and 2 more"
