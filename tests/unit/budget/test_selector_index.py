"""The index of selectors: the same answer as asking each of them, without asking each."""

from hypothesis import given
from hypothesis import strategies as st

from intact.budget.selector_index import SelectorIndex
from intact.budget.selectors import Selector
from intact.model.meta import LabelSelector
from tests.unit.budget.test_selectors import LABELS, SELECTORS, Labels, selector

NAMES = st.sampled_from("abcdef")
STEPS = st.lists(st.tuples(NAMES, st.none() | SELECTORS), max_size=12)


@given(steps=STEPS, labels=st.lists(LABELS, max_size=5))
def test_after_any_changes_the_index_answers_as_asking_each_selector(
    steps: list[tuple[str, LabelSelector | None]], labels: list[Labels]
) -> None:
    index: SelectorIndex[str] = SelectorIndex()
    known: dict[str, Selector] = {}
    for name, asked in steps:
        if asked is None:
            index.remove(name)
            known.pop(name, None)
        else:
            known[name] = Selector(asked)
            index.put(name, known[name])
    assert len(index) == len(known)
    for one in labels:
        expected = sorted(name for name, asked in known.items() if asked.selects(one))
        assert sorted(index.selecting(one)) == expected


class Counted(Selector):
    """Notes how often it was asked."""

    asked = 0

    def selects(self, labels: object) -> bool:
        Counted.asked += 1
        return super().selects(labels)  # type: ignore[arg-type]


def asked_for(labels: Labels, *, of: dict[str, str]) -> tuple[list[int], int]:
    """What a thousand selectors by `app` and these labels select, and how many were asked."""
    index: SelectorIndex[int] = SelectorIndex()
    for number in range(1000):
        index.put(number, Counted(LabelSelector(match_labels={"app": f"app-{number}", **of})))
    Counted.asked = 0
    return list(index.selecting(labels)), Counted.asked


def test_selectors_of_other_labels_are_not_asked() -> None:
    assert asked_for({"app": "app-7", "tier": "x"}, of={"tier": "x"}) == ([7], 1)


def test_a_selector_of_one_label_need_not_be_asked() -> None:
    assert asked_for({"app": "app-7", "tier": "x"}, of={}) == ([7], 0)


def test_a_removed_selector_leaves_nothing_behind() -> None:
    index: SelectorIndex[int] = SelectorIndex()
    index.put(1, selector(app="a"))
    index.put(1, selector(app="b"))
    assert list(index.selecting({"app": "a"})) == []
    assert list(index.selecting({"app": "b"})) == [1]
    index.remove(1)
    index.remove(1)
    assert not index
    assert list(index.selecting({"app": "b"})) == []
