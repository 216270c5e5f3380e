"""Terms of pods that have a node are found by the pods that they are about."""

import pytest

from intact.sandbox.scheduler.pods import Term, chosen
from intact.sandbox.scheduler.terms import Terms, is_about, namespaces_of
from tests.support.scheduling import info

APP_A = chosen({"matchLabels": {"app": "a"}})
NAMED = Term(("ns",), b"", APP_A, "zone")
ANYWHERE = Term((), b"{}", APP_A, "zone")
IN_TEAM = Term(("extra",), b'{"matchLabels": {"team": "x"}}', APP_A, "zone")


def test_equal_terms_are_kept_once_with_their_weight_on_each_node() -> None:
    terms = Terms()
    for node, weight in (("x", 2), ("y", 1), ("x", 3)):
        terms.add(NAMED, node, weight)
    pod = info("p", labels={"app": "a"})
    assert [(term, dict(weights)) for term, weights in terms.about(pod, {})] == [
        (NAMED, {"x": 5, "y": 1})
    ]
    assert list(terms.about(info("q", labels={"app": "b"}), {})) == []
    assert list(terms.about(info("q", labels={"app": "a"}, namespace="b"), {})) == []
    for node, weight in (("x", -5), ("y", -1)):
        terms.add(NAMED, node, weight)
    assert not terms
    assert list(terms.about(pod, {})) == []


@pytest.mark.parametrize(
    ("term", "namespace", "labels", "about"),
    [
        (NAMED, "ns", {}, True),
        (NAMED, "b", {}, False),
        (ANYWHERE, "b", {}, True),
        (IN_TEAM, "b", {"team": "x"}, True),
        (IN_TEAM, "b", {"team": "y"}, False),
        (IN_TEAM, "extra", {}, True),
        (Term(("ns",), b"", chosen(None), "zone"), "ns", {}, False),
    ],
)
def test_whether_a_term_is_about_a_pod(
    term: Term, namespace: str, labels: dict[str, str], about: bool
) -> None:
    pod = info("p", labels={"app": "a"}, namespace=namespace)
    assert is_about(term, pod, labels) == about
    terms = Terms()
    terms.add(term, "x", 1)
    assert bool(list(terms.about(pod, labels))) == about


def test_the_namespaces_of_a_term_are_those_named_and_those_selected() -> None:
    namespaces = {"ns": {}, "a": {"team": "x"}, "b": {"team": "y"}}
    assert namespaces_of(NAMED, namespaces) == {"ns"}
    assert namespaces_of(IN_TEAM, namespaces) == {"extra", "a"}
    assert namespaces_of(ANYWHERE, namespaces) == {"ns", "a", "b"}
