"""Pod affinity and anti-affinity."""

from typing import Any

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.neighbours import neighbourhood, scores
from tests.support.scheduling import ZONE, Books, info, near, term

A, B = {"app": "a"}, {"app": "b"}


def books() -> Books:
    found = Books()
    for name, zone in (("x", "1"), ("y", "1"), ("z", "2")):
        found.node(name, labels={ZONE: zone})
    return found


def refused(found: Books, **pod: Any) -> dict[str, str]:
    near_by = neighbourhood(info("new", **pod), found.accounts)
    if near_by is None:
        return {}
    answers = {name: near_by.refusal(node) for name, node in found.accounts.nodes.items()}
    return {name: answer[0] for name, answer in answers.items() if answer}


def test_affinity_wants_the_domains_that_have_such_pods() -> None:
    found = books()
    found.put("x", "p", labels=B)
    assert refused(found, affinity={"podAffinity": near(term(B))}) == {
        "y": reasons.AFFINITY,
        "z": reasons.AFFINITY,
    }
    assert list(refused(found, affinity={"podAffinity": near(term(B, ZONE))})) == ["z"]


def test_all_terms_of_an_affinity_are_about_the_same_pods() -> None:
    """Another pod for each term does not do: kube-scheduler counts pods that match all terms."""
    found = books()
    found.put("x", "one", labels={"app": "b"})
    found.put("x", "two", labels={"tier": "1"})
    both = near(term(B), term({"tier": "1"}, ZONE))
    assert len(refused(found, affinity={"podAffinity": both})) == 3
    found.put("x", "three", labels={"app": "b", "tier": "1"})
    assert list(refused(found, affinity={"podAffinity": both})) == ["y", "z"]


def test_the_first_pod_with_an_affinity_to_itself_goes_anywhere() -> None:
    own = {"podAffinity": near(term(A))}
    assert refused(books(), labels=A, affinity=own) == {}
    assert len(refused(books(), labels=B, affinity=own)) == 3
    found = books()
    found.put("x", "p", labels=A)
    assert list(refused(found, labels=A, affinity=own)) == ["y", "z"]


def test_a_node_needs_the_keys_of_an_affinity_even_for_the_first_pod() -> None:
    found = books()
    found.node("other")
    own = {"podAffinity": near(term(A, ZONE))}
    assert refused(found, labels=A, affinity=own) == {"other": reasons.AFFINITY}


def test_anti_affinity_keeps_away_from_such_pods() -> None:
    found = books()
    found.put("x", "p", labels=A)
    away = {"podAntiAffinity": near(term(A, ZONE))}
    assert refused(found, affinity=away) == {
        "x": reasons.ANTI_AFFINITY,
        "y": reasons.ANTI_AFFINITY,
    }


def test_pods_that_are_there_keep_others_away() -> None:
    found = books()
    found.put("x", "p", labels=B, affinity={"podAntiAffinity": near(term(A))})
    assert refused(found, labels=A) == {"x": reasons.EXISTING_ANTI_AFFINITY}
    assert refused(found, labels=B) == {}


def test_other_namespaces_matter_if_the_term_says_so() -> None:
    found = books()
    found.accounts.put_namespace("team", {"kind": "team"})
    found.put("x", "p", labels=A, namespace="team")
    assert refused(found, affinity={"podAntiAffinity": near(term(A))}) == {}
    for more in (
        {"namespaces": ["team"]},
        {"namespaceSelector": {"matchLabels": {"kind": "team"}}},
    ):
        away = {"podAntiAffinity": near(term(A, **more))}
        assert list(refused(found, affinity=away)) == ["x"]


def scored(found: Books, **pod: Any) -> list[int] | None:
    return scores(info("new", **pod), found.accounts, list(found.accounts.nodes.values()))


def test_preferences_score_and_those_of_others_too() -> None:
    found = books()
    found.put("x", "p", labels=B)
    assert scored(found) is None
    assert scored(found, affinity={"podAffinity": near(term(B), weight=5)}) == [100, 0, 0]
    assert scored(found, affinity={"podAntiAffinity": near(term(B, ZONE), weight=5)}) == [0, 0, 100]
    found.put("z", "q", affinity={"podAffinity": near(term(A), weight=4)})
    found.put("y", "r", affinity={"podAffinity": near(term(A))})
    assert scored(found, labels=A) == [0, 25, 100]
