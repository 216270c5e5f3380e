"""Amounts: percentages round up in both forms; what is malformed is refused."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.model.amounts import check_amount, desired_available, parse_count, resolve

DESIRED = {
    "10% of 15 may be missing: two": ("10%", None, 15, 13),
    "25% of 10 may be missing: three": ("25%", None, 10, 7),
    "25% of 5 may be missing: two": ("25%", None, 5, 3),
    "30% of 1 may be missing: the one": ("30%", None, 1, 0),
    "none may be missing": (0, None, 4, 4),
    "0% may be missing": ("0%", None, 4, 4),
    "all may be missing": ("100%", None, 4, 0),
    "more may be missing than there are": (9, None, 4, 0),
    "two of four may be missing": (2, None, 4, 2),
    "30% of 10 must stay": (None, "30%", 10, 3),
    "33% of 10 must stay: four": (None, "33%", 10, 4),
    "1% of 3 must stay: one": (None, "1%", 3, 1),
    "100% must stay": (None, "100%", 7, 7),
    "0% must stay": (None, "0%", 7, 0),
    "an integer that must stay is not capped": (None, 9, 4, 9),
    "nothing is asked for": (None, None, 4, 0),
}


@pytest.mark.parametrize("case", DESIRED.values(), ids=DESIRED)
@pytest.mark.parametrize("both", [False, True])
def test_how_many_must_stay_available(
    case: tuple[int | str | None, int | str | None, int, int], both: bool
) -> None:
    max_unavailable, min_available, total, desired = case
    assert desired_available(max_unavailable, min_available, total, both=both) == desired


BOTH_SET = {
    "maxUnavailable asks for more": (1, 2, 10, 9, 9),
    "minAvailable asks for more": (5, 8, 10, 8, 5),
    "minAvailable asks for more than there is": ("50%", 20, 10, 20, 5),
}


@pytest.mark.parametrize(
    ("max_unavailable", "min_available", "total", "in_groups", "in_pods"),
    BOTH_SET.values(),
    ids=BOTH_SET,
)
def test_if_both_are_set_both_hold_for_groups_and_max_unavailable_wins_for_pods(
    max_unavailable: int | str, min_available: int | str, total: int, in_groups: int, in_pods: int
) -> None:
    assert desired_available(max_unavailable, min_available, total, both=True) == in_groups
    assert desired_available(max_unavailable, min_available, total, both=False) == in_pods


MALFORMED: dict[str, Any] = {
    "negative": -1,
    "beyond 32 bits": 2**31,
    "a number in words": "1",
    "no percentage": "ten",
    "above 100%": "101%",
    "far above 100%": "1000%",
    "negative percentage": "-1%",
    "a fraction": "1.5%",
    "a space": "10 %",
    "a leading zero": "05%",
    "a sign": "+5%",
    "a line break": "5%\n",
    "only a sign": "%",
    "empty": "",
    "other digits": "\u0665%",
    "a truth value": True,
    "a float": 1.0,
}


@pytest.mark.parametrize("amount", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_amount_is_refused(amount: Any) -> None:
    assert check_amount(amount)
    with pytest.raises(ValueError, match="is"):
        resolve(amount, 10)


@pytest.mark.parametrize("amount", [0, 1, 2**31 - 1, "0%", "7%", "10%", "99%", "100%"])
def test_a_good_amount(amount: int | str) -> None:
    assert check_amount(amount) is None


@given(percent=st.integers(0, 100), total=st.integers(0, 100_000))
def test_a_percentage_rounds_up(percent: int, total: int) -> None:
    assert resolve(f"{percent}%", total) == math.ceil(percent * total / 100)


@given(percent=st.integers(0, 100), total=st.integers(0, 100_000))
def test_what_may_be_missing_and_what_must_stay_make_the_total(percent: int, total: int) -> None:
    amount = f"{percent}%"
    must_stay = desired_available(amount, None, total, both=False)
    assert must_stay + resolve(amount, total) == total


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("3", 3),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("0" * 5000 + "7", 7),
        ("9" * 5000, None),
        ("-1", None),
        ("3.0", None),
        ("", None),
        (" 3", None),
        ("٣", None),
    ],
)
def test_a_count_is_written_in_plain_digits(text: str, count: int | None) -> None:
    assert parse_count(text) == count
