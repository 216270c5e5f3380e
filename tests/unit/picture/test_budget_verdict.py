"""What budgets say, and what they wait for, in a few words."""

from typing import Any

import pytest

from intact.model.pod import DetailedPod
from intact.picture.budget_verdict import allows, both, exhausted, ready_again
from intact.picture.budgets import BudgetPicture
from intact.picture.reasons import Reason, Word
from tests.support.pictures import ago, group, pdb, picture, pod, pub


def in_groups(*down: str, **numbers: Any) -> BudgetPicture:
    pods = [one for name in down for one in group(name, ready=False)]
    return picture(*group("up"), *pods, pubs=[pub(**numbers)]).budgets[0]


def in_pods(*pods: DetailedPod, **numbers: Any) -> BudgetPicture:
    return picture(*pods, pdbs=[pdb(**numbers)]).budgets[0]


@pytest.mark.parametrize(
    ("budget", "when"),
    [
        (in_groups("s0"), "s0 is ready again"),
        (in_groups("s0", "s1", current=2), "s0 and s1 are ready again"),
        (in_groups("s0", "s1"), "1 of s0, s1 is ready again"),
        (in_groups("s0", "s1", "s2", current=2), "2 of s0, s1, s2 are ready again"),
        (in_groups(), "1 more group is ready"),
        (in_groups("s0", current=2), "2 more groups are ready"),
        (in_pods(pod("a", ready=False)), "a is ready"),
        (in_pods(pod("a", deleted=ago(seconds=3))), "a is replaced"),
        (in_pods(pod("a", ready=False), pod("b", ready=False)), "1 more pod is ready"),
        (in_pods(pod("a", ready=False), current=2), "2 more pods are ready"),
        (in_pods(pod("a")), "1 more pod is ready"),
    ],
)
def test_it_waits_for_as_many_units_as_it_is_short_of(budget: BudgetPicture, when: str) -> None:
    assert ready_again(budget) == when


def test_an_exhausted_budget_says_what_it_has_and_what_it_requires() -> None:
    found = exhausted(in_groups("s0"))
    assert (found.word, found.reason) == (Word.WAITS, Reason.EXHAUSTED)
    assert found.text == "3 of 4 groups are available, the budget requires 3"
    assert [one.unit.name for one in found.waits_for] == ["s0"]


def test_one_of_several_is_available() -> None:
    text = exhausted(in_pods(pod("a"), current=1, desired=2)).text
    assert text == "1 of 4 pods is available, the budget requires 2"


def test_a_budget_that_never_allows_waits_for_nothing() -> None:
    found = exhausted(in_pods(pod("a"), desired=4))
    assert (found.word, found.reason) == (Word.NEVER, Reason.NEVER_ALLOWS)
    assert found.when == "pdb/llm-pods is changed, or its workload is scaled up"
    assert found.waits_for == ()


@pytest.mark.parametrize(("allowed", "text"), [(1, "1 disruption"), (2, "2 disruptions")])
def test_what_is_allowed_is_counted(allowed: int, text: str) -> None:
    assert allows(in_pods(pod("a"), allowed=allowed)).text == f"{text} allowed"


@pytest.mark.parametrize(
    ("names", "text"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcdefg", "a, b, c, d, e and 2 more")],
)
def test_names_are_joined_as_people_do(names: str, text: str) -> None:
    assert both(list(names)) == text
