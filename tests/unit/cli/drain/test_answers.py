"""What the server's answers mean."""

from datetime import UTC, datetime

import pytest

from intact.cli.drain.answers import Answer, Said, blamed, explained, told_until, understand
from intact.kube.errors import KubeError, Unreachable, error_of_status
from intact.model.status import Status, StatusCause, StatusDetails
from tests.unit.cli.drain.objects import pdb, picture, pod, pub

TWO = "This pod has more than one PodDisruptionBudget, which eviction does not support."


def error(
    code: int, message: str = "no", *causes: StatusCause, retry_after: float | None = None
) -> KubeError:
    details = StatusDetails(causes=list(causes))
    return error_of_status(Status(code=code, message=message, details=details), retry_after)


BUDGET = StatusCause(reason="DisruptionBudget", message="The disruption budget llm needs 3")


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (error(404), Answer.GONE),
        (error(409), Answer.CONFLICT),
        (error(429), Answer.REFUSED),
        (error(429, "no", BUDGET), Answer.REFUSED),
        (error(429, "no", BUDGET, retry_after=10), Answer.REFUSED),
        (error(429, "too many", retry_after=1), Answer.BUSY),
        (error(403), Answer.ERROR),
        (error(403, "no", StatusCause(reason="NamespaceTerminating")), Answer.LEAVING),
        (error(500, TWO), Answer.ERROR),
        (error(500, 'failed calling webhook "gate"'), Answer.FAILED),
        (error(503), Answer.FAILED),
        (error(422), Answer.ERROR),
        (Unreachable("no answer"), Answer.UNREACHABLE),
    ],
)
def test_what_an_answer_means(given: KubeError, answer: Answer) -> None:
    assert understand(given).answer is answer


def test_a_refusal_is_blamed_on_the_budgets_that_it_names() -> None:
    budgets = picture([pod("a-0", "a")], pub("llm"), pdb("llm-pods")).budgets
    said = understand(error(429, "no", BUDGET))
    assert blamed(said, budgets) == ([("PodUnavailableBudget", "ns", "llm")], True)


def test_a_refusal_without_a_name_is_that_of_the_only_budget() -> None:
    budgets = picture([pod("a-0", "a")], pdb("other", allowed=1)).budgets
    said = understand(error(429, "no", BUDGET))
    assert blamed(said, budgets) == ([("PodDisruptionBudget", "ns", "other")], True)


def test_a_refusal_that_no_budget_explains_is_not_certain() -> None:
    budgets = picture([pod("a-0", "a")], pdb("one", allowed=1), pdb("two", allowed=0)).budgets
    said = understand(error(429, "a webhook says no"))
    assert blamed(said, budgets) == ([("PodDisruptionBudget", "ns", "two")], False)
    assert blamed(said, ()) == ([], False)


def test_two_budgets_on_a_pod_are_named() -> None:
    budgets = picture([pod("a-0", "a")], pdb("one"), pdb("two"), pub("third")).budgets
    assert explained(TWO, budgets).startswith("pdb/one and pdb/two cover it")
    assert explained("other", budgets) == "other"


def test_a_message_may_say_until_when_it_holds() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert told_until("Other pods go first until 2026-01-01T00:00:30Z.", now) == 30
    assert told_until("It waits until 2025-01-01T00:00:00Z.", now) == 0
    assert told_until("It waits for group a", now) is None
    assert Said(Answer.GRANTED).message == ""
