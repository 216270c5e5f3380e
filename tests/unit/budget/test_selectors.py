"""Selectors: what they select, and when two of them are judged to overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.selectors import Selector, check_selector
from intact.model.meta import LabelSelector, LabelSelectorRequirement

Labels = dict[str, str]


def needs(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=list(values))


def selector(*expressions: LabelSelectorRequirement, **labels: str) -> Selector:
    return Selector(LabelSelector(match_labels=labels, match_expressions=list(expressions)))


A, B, BARE = {"app": "a"}, {"app": "b"}, {"other": "x"}
SELECTED: dict[str, tuple[Selector, list[bool]]] = {
    "nothing asked for": (selector(), [True, True, True]),
    "a label": (selector(app="a"), [True, False, False]),
    "In one": (selector(needs("app", "In", "a")), [True, False, False]),
    "In two": (selector(needs("app", "In", "a", "b")), [True, True, False]),
    "NotIn": (selector(needs("app", "NotIn", "a")), [False, True, True]),
    "Exists": (selector(needs("app", "Exists")), [True, True, False]),
    "DoesNotExist": (selector(needs("app", "DoesNotExist")), [False, False, True]),
    "a label and the same In": (
        selector(needs("app", "In", "a", "b"), app="a"),
        [True, False, False],
    ),
    "a label and another In": (selector(needs("app", "In", "b"), app="a"), [False, False, False]),
    "In and NotIn": (
        selector(needs("app", "In", "a", "b"), needs("app", "NotIn", "a")),
        [False, True, False],
    ),
    "NotIn and In": (
        selector(needs("app", "NotIn", "a"), needs("app", "In", "a", "b")),
        [False, True, False],
    ),
    "NotIn and NotIn": (
        selector(needs("app", "NotIn", "a"), needs("app", "NotIn", "b")),
        [False, False, True],
    ),
    "Exists and NotIn": (
        selector(needs("app", "Exists"), needs("app", "NotIn", "a")),
        [False, True, False],
    ),
    "Exists and DoesNotExist": (
        selector(needs("app", "Exists"), needs("app", "DoesNotExist")),
        [False, False, False],
    ),
    "In and DoesNotExist": (
        selector(needs("app", "In", "a"), needs("app", "DoesNotExist")),
        [False, False, False],
    ),
    "NotIn and DoesNotExist": (
        selector(needs("app", "NotIn", "a"), needs("app", "DoesNotExist")),
        [False, False, True],
    ),
    "two keys": (selector(app="a", other="x"), [False, False, False]),
}


@pytest.mark.parametrize("case", SELECTED.values(), ids=SELECTED)
def test_a_selector_selects_the_labels_that_satisfy_it(case: tuple[Selector, list[bool]]) -> None:
    asked, expected = case
    assert [asked.selects(labels) for labels in (A, B, BARE)] == expected


EVERY_KEY = {
    "In a": needs("k", "In", "a"),
    "In b": needs("k", "In", "b"),
    "In a, b": needs("k", "In", "a", "b"),
    "NotIn a": needs("k", "NotIn", "a"),
    "NotIn a, b": needs("k", "NotIn", "a", "b"),
    "Exists": needs("k", "Exists"),
    "DoesNotExist": needs("k", "DoesNotExist"),
}
# Of one key, all values that matter: both that are named, any other, and none.
STATES: list[Labels] = [{"k": "a"}, {"k": "b"}, {"k": "another"}, {}]


@pytest.mark.parametrize("one", EVERY_KEY)
@pytest.mark.parametrize("two", EVERY_KEY)
def test_on_one_key_two_overlap_if_some_label_satisfies_both(one: str, two: str) -> None:
    first, second = selector(EVERY_KEY[one]), selector(EVERY_KEY[two])
    meet = any(first.selects(labels) and second.selects(labels) for labels in STATES)
    assert first.overlaps(second) == meet


@pytest.mark.parametrize("one", EVERY_KEY)
@pytest.mark.parametrize("two", EVERY_KEY)
def test_on_one_key_one_is_within_the_other_if_it_selects_no_more(one: str, two: str) -> None:
    first, second = selector(EVERY_KEY[one]), selector(EVERY_KEY[two])
    expected = all(second.selects(labels) for labels in STATES if first.selects(labels))
    assert first.within(second) == expected


OVERLAPS: dict[str, tuple[Selector, Selector, bool]] = {
    "seed 1: the same label": (selector(app="webserver"), selector(app="webserver"), True),
    "seed 2: another value": (selector(app="webserver"), selector(app="db"), False),
    "seed 3: no common key": (selector(app="webserver"), selector(backend="true"), False),
    "one more label: every pod of the second is selected by the first": (
        selector(app="web"),
        selector(app="web", tier="x"),
        True,
    ),
    "one more label, and the common one differs": (
        selector(app="web"),
        selector(app="db", tier="x"),
        False,
    ),
    "a common key, and one more each": (
        selector(app="web", tier="x"),
        selector(app="web", zone="y"),
        False,
    ),
    "everything and something": (selector(), selector(app="web"), True),
    "fewer values and one more key": (
        selector(needs("app", "In", "a", "b")),
        selector(needs("tier", "Exists"), app="a"),
        True,
    ),
    "more values and one more key": (
        selector(app="a"),
        selector(needs("app", "In", "a", "b"), tier="x"),
        False,
    ),
    "NotIn says nothing about a label that is not asked for": (
        selector(needs("app", "NotIn", "a")),
        selector(tier="x"),
        False,
    ),
    "In, within NotIn of another, and one more key": (
        selector(needs("app", "NotIn", "a")),
        selector(app="b", tier="x"),
        True,
    ),
}


@pytest.mark.parametrize("case", OVERLAPS.values(), ids=OVERLAPS)
def test_two_selectors_overlap_if_that_can_be_shown(case: tuple[Selector, Selector, bool]) -> None:
    one, two, expected = case
    assert one.overlaps(two) == expected
    assert two.overlaps(one) == expected


WRONG = {
    "unknown operator": (needs("k", "Equals", "a"), "matchExpressions[0].operator"),
    "In of nothing": (needs("k", "In"), "matchExpressions[0].values"),
    "NotIn of nothing": (needs("k", "NotIn"), "matchExpressions[0].values"),
    "Exists with a value": (needs("k", "Exists", "a"), "matchExpressions[0].values"),
    "DoesNotExist with a value": (needs("k", "DoesNotExist", "a"), "matchExpressions[0].values"),
}


@pytest.mark.parametrize(("expression", "path"), WRONG.values(), ids=WRONG)
def test_a_malformed_expression_is_named(expression: LabelSelectorRequirement, path: str) -> None:
    problems = check_selector(LabelSelector(match_expressions=[expression]))
    assert [where for where, _ in problems] == [path]
    assert check_selector(LabelSelector(match_expressions=[needs("k", "In", "a")])) == []


KEYS, VALUES = st.sampled_from("xyz"), st.sampled_from("abc")
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: needs(key, operator, *values),
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.sets(VALUES, min_size=1).map(sorted),
    ),
    st.builds(needs, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.builds(
    lambda labels, expressions: LabelSelector(match_labels=labels, match_expressions=expressions),
    st.dictionaries(KEYS, VALUES, max_size=2),
    st.lists(EXPRESSIONS, max_size=3),
)
# One value that no selector names, so that there is always another.
LABELS = st.dictionaries(KEYS, st.sampled_from("abcd"))


def selects_by_the_book(asked: LabelSelector, labels: Labels) -> bool:
    """Kubernetes' rules, expression by expression."""

    def holds(one: LabelSelectorRequirement) -> bool:
        return {
            "In": labels.get(one.key) in one.values,
            "NotIn": labels.get(one.key) not in one.values,
            "Exists": one.key in labels,
            "DoesNotExist": one.key not in labels,
        }[one.operator]

    return labels.items() >= asked.match_labels.items() and all(
        holds(one) for one in asked.match_expressions
    )


@given(asked=SELECTORS, labels=LABELS)
def test_any_selector_selects_by_the_book(asked: LabelSelector, labels: Labels) -> None:
    assert Selector(asked).selects(labels) == selects_by_the_book(asked, labels)


@given(one=SELECTORS, two=SELECTORS, labels=LABELS)
def test_what_is_within_another_selects_nothing_else(
    one: LabelSelector, two: LabelSelector, labels: Labels
) -> None:
    inner, outer = Selector(one), Selector(two)
    if inner.within(outer) and inner.selects(labels):
        assert outer.selects(labels)


@given(one=SELECTORS, two=SELECTORS, labels=LABELS)
def test_an_overlap_is_symmetric_and_never_overlooked_where_the_keys_are_the_same(
    one: LabelSelector, two: LabelSelector, labels: Labels
) -> None:
    first, second = Selector(one), Selector(two)
    assert first.overlaps(second) == second.overlaps(first)
    judged = first.requirements.keys() == second.requirements.keys()
    if judged and first.selects(labels) and second.selects(labels):
        assert first.overlaps(second)


@given(one=SELECTORS, two=SELECTORS, labels=LABELS)
def test_an_overlap_of_different_keys_means_that_one_selects_all_of_the_other(
    one: LabelSelector, two: LabelSelector, labels: Labels
) -> None:
    first, second = Selector(one), Selector(two)
    if first.requirements.keys() != second.requirements.keys() and first.overlaps(second):
        inner, outer = (first, second) if first.within(second) else (second, first)
        assert outer.selects(labels) or not inner.selects(labels)


@given(asked=SELECTORS, labels=LABELS)
def test_every_selected_pod_has_a_label_of_the_anchor(asked: LabelSelector, labels: Labels) -> None:
    found = Selector(asked).anchor()
    if found is not None and Selector(asked).selects(labels):
        key, values = found
        assert labels[key] in values
