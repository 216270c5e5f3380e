"""What several views show."""

from typing import Any

import pytest

from intact.cli.dashboard.views.parts import (
    MOST_MARKS,
    Unknown,
    bar,
    by_number,
    named,
    pages,
    row_of_pods,
    row_of_unit,
    row_values,
    state_of,
)
from intact.model.pod import DetailedPod
from tests.support.pictures import NOW, ago, group, pdb, picture, pod, pub
from tests.unit.cli.dashboard.shards import moment


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (pod("a"), "ready"),
        (pod("a", ready=False), "unready"),
        (pod("a", node="", ready=False), "pending"),
        (pod("a", deleted=ago(seconds=1)), "terminating"),
        (pod("a", phase="Succeeded"), "finished"),
    ],
)
def test_states_of_pods(found: DetailedPod, state: str) -> None:
    assert state_of(found) == state


def test_a_group_has_a_cell_for_each_column_one_for_other_nodes_and_one_for_none() -> None:
    pods = [pod(f"g-{where}", group="g", node=where, ready=bool(where)) for where in ("a", "b", "")]
    drawn = picture(*pods, pubs=[pub()])
    [(unit, budgets)] = drawn.groups
    found = row_values(row_of_unit(unit, budgets), ["a"], NOW)
    names = [[one["name"] for one in cell["marks"]] for cell in found["cells"]]
    assert names == [["g-a"], ["g-b"], ["g-"]]
    assert (found["available"], found["need"], found["up"]) == (2, 2, True)


def test_a_group_that_is_down_says_why() -> None:
    [(unit, budgets)] = [one for one in moment().picture.groups if one[0].name == "s2"]
    found = row_values(row_of_unit(unit, budgets), [], NOW)
    assert (found["up"], found["since"]) == (False, "60m")
    assert found["why"] == "s2 is down for 60m: s2-1 Running, not ready"


def test_pods_of_a_budget_that_counts_pods_are_one_row() -> None:
    drawn = picture(*(pod(f"web-{number:02}") for number in range(MOST_MARKS + 6)), pdbs=[pdb()])
    found = row_values(row_of_pods(drawn.budgets[0]), [], NOW)
    assert (found["name"], found["is_group"]) == ("pdb/llm-pods", False)
    assert [len(cell["marks"]) for cell in found["cells"]] == [MOST_MARKS, 0]
    assert found["cells"][0]["more"] == 6


def test_a_pod_that_the_budget_let_go_is_shown_as_going() -> None:
    record = {"name": "g-0", "operation": "DELETE", "at": ago(seconds=3), "resourceVersion": "7"}
    drawn = picture(*group("g"), pubs=[pub(ledger={"pods": {"uid-g-0": record}})])
    [(unit, budgets)] = drawn.groups
    cells = row_values(row_of_unit(unit, budgets), [], NOW)["cells"]
    assert [one["state"] for one in cells[0]["marks"]] == ["terminating", "ready"]


@pytest.mark.parametrize(
    ("numbers", "part", "mark", "below"),
    [
        ({"current": 3, "desired": 3, "total": 4}, 75, 75, False),
        ({"current": 2, "desired": 3, "total": 4}, 50, 75, True),
        ({"current": 0, "desired": 0, "total": 0}, 0, 0, False),
        ({"current": 5, "desired": 3, "total": 4}, 100, 60, False),
    ],
)
def test_the_bar_of_a_budget(numbers: dict[str, Any], part: int, mark: int, below: bool) -> None:
    found = bar(picture(pubs=[pub(**numbers)]).budgets[0])
    assert (found["part"], found["mark"], found["below"]) == (part, mark, below)
    assert (found["short"], found["reference"]) == ("pub", "pub/llm")


def test_nodes_are_sorted_by_their_numbers() -> None:
    names = ["node-10", "node-9", "10", "a", "node-9b", "²"]
    assert sorted(names, key=by_number) == ["10", "a", "node-9", "node-9b", "node-10", "²"]


def test_pages() -> None:
    rows = [row_of_unit(unit, ()) for unit, _budgets in moment().picture.groups]
    assert pages(rows, 1, 2) == (rows[:2], 1, 2)
    assert pages(rows, 2, 2) == (rows[2:], 2, 2)
    assert pages(rows, 9, 2) == (rows[2:], 2, 2)
    assert pages(rows, 0, 2) == (rows[:2], 1, 2)
    assert pages([], 1, 2) == ([], 1, 1)


def test_a_budget_by_its_name() -> None:
    budgets = moment().picture.budgets
    assert named(budgets, "pub", "llm", "llm") is budgets[0]
    for wrong in (("pdb", "llm", "llm"), ("pub", "other", "llm"), ("pub", "llm", "x")):
        with pytest.raises(Unknown, match=f"no budget {wrong[0]}/{wrong[2]} in namespace"):
            named(budgets, *wrong)
