"""How often each budget decided what: every decision counts once, in a bounded number of series."""

from intact.operator.webhook import decisions
from intact.operator.webhook.decisions import Decisions

KIND = "PodUnavailableBudget"
Series = dict[tuple[str, str], float]


def shown(counted: Decisions) -> Series:
    """By namespace and budget."""
    found: Series = {}
    for sample in counted.collect().samples:
        key = (sample.labels["namespace"], sample.labels["budget"])
        found[key] = found.get(key, 0) + sample.value
    return found


def deny(counted: Decisions, name: str, times: int = 1) -> None:
    for _ in range(times):
        counted.count((KIND, "ns", name), "EVICT", "denied", "BudgetExhausted")


def test_a_decision_is_counted_under_its_budget_operation_answer_and_reason() -> None:
    counted = Decisions()
    deny(counted, "b", 2)
    counted.count(("PodDisruptionBudget", "ns", "b"), "EVICT", "allowed", "Surplus")
    samples = counted.collect().samples
    same = {"namespace": "ns", "budget": "b", "operation": "EVICT"}
    assert [(sample.labels, sample.value) for sample in samples] == [
        (same | {"kind": KIND, "answer": "denied", "reason": "BudgetExhausted"}, 2),
        (same | {"kind": "PodDisruptionBudget", "answer": "allowed", "reason": "Surplus"}, 1),
    ]
    assert {sample.name for sample in samples} == {"intact_gate_decisions_total"}


def test_budgets_above_the_bound_share_a_series_and_no_decision_is_lost() -> None:
    counted = Decisions()
    for number in range(decisions.MOST + 50):
        deny(counted, f"b-{number}", 2)
    found = shown(counted)
    assert len(found) == decisions.MOST + 1
    assert found["", ""] == 100
    assert sum(found.values()) == 2 * (decisions.MOST + 50)


def test_a_deleted_budget_frees_its_series_and_changes_no_other() -> None:
    counted = Decisions()
    there = {("ns", f"b-{number}") for number in range(decisions.MOST)} | {("ns", "late")}
    counted.follow(KIND, there.__contains__)
    for number in range(decisions.MOST):
        deny(counted, f"b-{number}")
    deny(counted, "late", 3)
    before = shown(counted)
    assert before["", ""] == 3
    there.remove(("ns", "b-7"))
    after = shown(counted)
    assert before.keys() - after.keys() == {("ns", "b-7")}
    # A counter that grew by what the budget had would look like new decisions.
    assert all(before[key] == value for key, value in after.items())
    deny(counted, "late", 2)
    assert shown(counted) == after | {("ns", "late"): 2}


def test_kinds_that_nobody_follows_keep_their_series() -> None:
    counted = Decisions()
    counted.follow("PodDisruptionBudget", lambda _key: False)
    deny(counted, "b")
    assert shown(counted) == {("ns", "b"): 1}
