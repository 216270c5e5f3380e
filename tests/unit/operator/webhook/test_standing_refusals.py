"""Refusals that still stand: when they begin, when they end, and how many are remembered."""

from intact.model.event import ObjectReference
from intact.operator.webhook import standing_refusals
from intact.operator.webhook.standing_refusals import ASKED_WITHIN, StandingRefusals

RED = ObjectReference(kind="PodUnavailableBudget", namespace="ns", name="red", uid="red")
BLUE = ObjectReference(kind="PodUnavailableBudget", namespace="ns", name="blue", uid="blue")


def pod(name: str) -> ObjectReference:
    return ObjectReference(kind="Pod", namespace="ns", name=name, uid=name)


def anywhere(_pod: ObjectReference) -> bool:
    return True


def test_the_oldest_refusal_of_each_budget_counts() -> None:
    standing = StandingRefusals()
    standing.note(RED, pod("p"), 100.0)
    standing.note(RED, pod("q"), 150.0)
    standing.note(BLUE, pod("p"), 170.0)
    assert standing.oldest(200.0, anywhere) == {"red": 100.0, "blue": 30.0}


def test_a_repeated_denial_is_the_same_refusal() -> None:
    standing = StandingRefusals()
    for at in range(0, 3600, 300):
        standing.note(RED, pod("p"), float(at))
    assert standing.oldest(3500.0, anywhere) == {"red": 3500.0}


def test_a_refusal_ends_when_the_pod_goes() -> None:
    standing = StandingRefusals()
    standing.note(RED, pod("p"), 0.0)
    standing.note(RED, pod("q"), 50.0)
    assert standing.oldest(60.0, lambda named: named.name != "p") == {"red": 10.0}
    assert standing.oldest(61.0, anywhere) == {"red": 11.0}, "p was forgotten"


def test_a_refusal_ends_when_nobody_asks_any_more() -> None:
    standing = StandingRefusals()
    standing.note(RED, pod("p"), 0.0)
    standing.note(RED, pod("p"), 100.0)
    assert standing.oldest(99.0 + ASKED_WITHIN, anywhere) == {"red": 99.0 + ASKED_WITHIN}
    assert standing.oldest(100.0 + ASKED_WITHIN, anywhere) == {}


def test_a_client_that_comes_back_later_begins_anew() -> None:
    standing = StandingRefusals()
    standing.note(RED, pod("p"), 0.0)
    standing.note(RED, pod("p"), ASKED_WITHIN)
    assert standing.oldest(ASKED_WITHIN + 5, anywhere) == {"red": 5.0}


def test_the_oldest_refusals_stay_when_there_are_too_many() -> None:
    standing = StandingRefusals()
    for number in range(standing_refusals.MOST + 100):
        standing.note(RED if number < 10 else BLUE, pod(f"p-{number}"), number / 100)
    assert len(standing._refusals) == standing_refusals.MOST
    assert standing.oldest(50.0, anywhere) == {"red": 50.0, "blue": 49.9}


def test_those_that_have_ended_make_room() -> None:
    standing = StandingRefusals()
    for number in range(standing_refusals.MOST):
        standing.note(RED, pod(f"p-{number}"), 0.0)
    standing.note(BLUE, pod("q"), ASKED_WITHIN)
    assert standing.oldest(ASKED_WITHIN + 1, anywhere) == {"blue": 1.0}
