"""Lists of names in a sentence."""

import pytest

from intact.model.listing import listed


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a, b"),
        ("abcde", "a, b, c, d, e"),
        ("abcdef", "a, b, c, d, e and 1 more"),
        ("abcdefgh", "a, b, c, d, e and 3 more"),
    ],
)
def test_five_names_are_shown(names: str, text: str) -> None:
    assert listed(iter(names)) == text


def test_the_caller_may_show_fewer() -> None:
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"


def test_an_empty_name_is_seen() -> None:
    assert listed(["", "b"]) == "'', b"
