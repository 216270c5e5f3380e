"""Label and field selectors."""

import pytest

from intact.sandbox.api.builtin import PODS
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json
from intact.sandbox.api.selectors import label_selector, parse_labels, selection, selector_text

WIDGETS = Kind("contract.intact.dev", "v1", "widgets", "Widget")

QUERIES: list[tuple[str, list[dict[str, str]], list[dict[str, str]]]] = [
    ("", [{}, {"a": "1"}], []),
    ("a=1", [{"a": "1"}], [{}, {"a": "2"}, {"b": "1"}]),
    ("a==1", [{"a": "1"}], [{"a": "2"}]),
    ("a!=1", [{}, {"a": "2"}], [{"a": "1"}]),
    ("a=", [{"a": ""}], [{}, {"a": "1"}]),
    ("a in (1,2)", [{"a": "1"}, {"a": "2"}], [{}, {"a": "3"}]),
    ("a notin (1, 2)", [{}, {"a": "3"}], [{"a": "1"}]),
    ("a", [{"a": ""}, {"a": "x"}], [{}]),
    ("!a", [{}], [{"a": ""}]),
    ("a=1,b", [{"a": "1", "b": ""}], [{"a": "1"}, {"b": ""}]),
    ("a in (1,2),b!=3", [{"a": "2"}], [{"a": "2", "b": "3"}]),
    ("x.dev/a=1", [{"x.dev/a": "1"}], [{"a": "1"}]),
    ("a>3", [{"a": "4"}], [{}, {"a": "3"}, {"a": "many"}]),
    ("a<3", [{"a": "2"}], [{}, {"a": "3"}]),
]


@pytest.mark.parametrize(("query", "selected", "others"), QUERIES)
def test_the_grammar_of_queries(
    query: str, selected: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    holds = parse_labels(query)
    assert [labels for labels in selected + others if holds(labels)] == selected


@pytest.mark.parametrize("query", ["a b", "a in (1", "=1", "a=1,,b", "a in 1", "-a=1", "a=1=2"])
def test_what_is_not_a_selector(query: str) -> None:
    with pytest.raises(Failure, match="unable to parse requirement"):
        parse_labels(query)


OBJECTS: list[tuple[str, Json | None, list[dict[str, str]], list[dict[str, str]]]] = [
    ("none selects nothing", None, [], [{}, {"a": "1"}]),
    ("empty selects everything", {}, [{}, {"a": "1"}], []),
    ("labels", {"matchLabels": {"a": "1"}}, [{"a": "1"}], [{}, {"a": "2"}]),
    (
        "in",
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]},
        [{"a": "1"}],
        [{}, {"a": "2"}],
    ),
    (
        "not in",
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]},
        [{}, {"a": "2"}],
        [{"a": "1"}],
    ),
    ("exists", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, [{"a": ""}], [{}]),
    (
        "does not exist",
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
        [{}],
        [{"a": ""}],
    ),
]


@pytest.mark.parametrize(
    ("selector", "selected", "others"),
    [case[1:] for case in OBJECTS],
    ids=[case[0] for case in OBJECTS],
)
def test_label_selector_objects(
    selector: Json | None, selected: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    holds = label_selector(selector)
    assert [labels for labels in selected + others if holds(labels)] == selected


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Near"},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["1"]},
    ],
)
def test_a_malformed_requirement(expression: Json) -> None:
    with pytest.raises(ValueError, match="not a label selector requirement"):
        label_selector({"matchExpressions": [expression]})


def test_a_selector_as_text() -> None:
    expressions = [
        {"key": "b", "operator": "In", "values": ["2", "1"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ]
    text = selector_text({"matchLabels": {"a": "1"}, "matchExpressions": expressions})
    assert text == "a=1,b in (1,2),c,!d"


POD: Json = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "x"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("fields", "selected"),
    [
        ("metadata.name=p", True),
        ("metadata.name!=p", False),
        ("metadata.namespace==n,spec.nodeName=x", True),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("spec.nodeName=", False),
        ("spec.hostNetwork=false", True),
    ],
)
def test_field_selectors(fields: str, selected: bool) -> None:
    assert selection(PODS, {"fieldSelector": fields}).holds(POD) is selected


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (PODS, "spec.image=x", "field label not supported: spec.image"),
        (WIDGETS, "spec.size=1", "field label not supported: spec.size"),
        (PODS, "spec.nodeName", "invalid selector: 'spec.nodeName'"),
    ],
)
def test_unknown_fields(kind: Kind, fields: str, message: str) -> None:
    with pytest.raises(Failure, match=message):
        selection(kind, {"fieldSelector": fields})
