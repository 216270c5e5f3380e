"""Whether a store is as new as what others have seen."""

import pytest

from intact.model.versions import is_at_least, is_before, number_of

CASES = {
    "newer": ("11", ["9", "10"], True),
    "as new": ("10", ["9", "10"], True),
    "numbers, not texts": ("9", ["10"], False),
    "older than one": ("10", ["9", "11"], False),
    "not listed yet": ("", ["9"], False),
    "not listed yet, and nothing seen": ("", [""], False),
    "nothing seen": ("1", ["", ""], True),
    "nothing to compare with": ("0", [], True),
    "no number": ("9", ["abc"], False),
    "a number of 5,000 digits": ("9", ["1" * 5000], False),
    "digits of another script": ("9", ["\u0663"], False),
    "a negative number": ("9", ["-1"], False),
}


@pytest.mark.parametrize(("seen", "versions", "expected"), CASES.values(), ids=CASES)
def test_is_at_least(seen: str, versions: list[str], expected: bool) -> None:
    assert is_at_least(seen, versions) == expected


@pytest.mark.parametrize(
    ("version", "number"),
    [("", 0), ("0", 0), ("12", 12), ("abc", None), ("-1", None), (" 1", None), ("\u00b2", None)],
)
def test_the_number_of_a_version(version: str, number: int | None) -> None:
    assert number_of(version) == number


@pytest.mark.parametrize(
    ("version", "other", "expected"),
    [
        ("9", "10", True),
        ("10", "10", False),
        ("11", "10", False),
        ("9", "", False),
        ("a", "b", False),
    ],
)
def test_only_numbers_are_before_others(version: str, other: str, expected: bool) -> None:
    assert is_before(version, other) == expected
