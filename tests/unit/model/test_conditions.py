"""The next conditions of an object, from those that are stored and those that hold now."""

from datetime import UTC, datetime

from intact.model.conditions import cut, merge
from intact.model.meta import Condition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
THEN = "2025-06-01T00:00:00Z"


def condition(kind: str, status: str = "True", message: str = "", since: str = "") -> Condition:
    return Condition(type=kind, status=status, message=message, last_transition_time=since)


def shown(conditions: list[Condition]) -> list[tuple[str, str, str]]:
    return [(one.type, one.status, one.last_transition_time) for one in conditions]


def test_a_new_condition_comes_last_and_is_dated() -> None:
    merged = merge([condition("Ready", since=THEN)], [condition("Stalled")], 3, NOW)
    assert shown(merged) == [("Ready", "True", THEN), ("Stalled", "True", "2026-01-01T00:00:00Z")]
    assert merged[1].observed_generation == 3


def test_a_transition_time_moves_only_with_the_status() -> None:
    old = [condition("Ready", "False", "no pod", THEN), condition("Stalled", "False", "", THEN)]
    wanted = [condition("Stalled", "True"), condition("Ready", "False", "1 of 2 pods")]
    merged = merge(old, wanted, 4, NOW)
    assert shown(merged) == [
        ("Ready", "False", THEN),
        ("Stalled", "True", "2026-01-01T00:00:00Z"),
    ]
    assert merged[0].message == "1 of 2 pods"
    assert [one.observed_generation for one in merged] == [4, 4]


def test_a_condition_without_a_date_gets_one() -> None:
    assert shown(merge([condition("Ready")], [condition("Ready")], 1, NOW)) == [
        ("Ready", "True", "2026-01-01T00:00:00Z")
    ]


def test_of_our_own_types_only_those_that_hold_stay() -> None:
    old = [condition("Ours", since=THEN), condition("Theirs", since=THEN)]
    assert shown(merge(old, [], 1, NOW, ours=("Ours",))) == [("Theirs", "True", THEN)]
    assert merge(old, [], 1, NOW) == old


def test_a_message_that_the_api_would_refuse_is_cut() -> None:
    long = "\N{GRINNING FACE}" * 10_000
    [merged] = merge([], [condition("Ready", message=long)], 1, NOW)
    assert len(merged.message.encode()) <= 32768
    assert merged.message == cut(long) == cut(merged.message)
    assert merged.message.endswith("...")
    assert cut("short") == "short"
