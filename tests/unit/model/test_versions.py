"""Whether a store is as new as what others have seen."""

import pytest

from intact.model.versions import is_at_least

CASES = {
    "newer": ("11", ["9", "10"], True),
    "as new": ("10", ["9", "10"], True),
    "numbers, not texts": ("9", ["10"], False),
    "older than one": ("10", ["9", "11"], False),
    "not listed yet": ("", ["9"], False),
    "not listed yet, and nothing seen": ("", [""], False),
    "nothing seen": ("1", ["", ""], True),
    "nothing to compare with": ("0", [], True),
}


@pytest.mark.parametrize(("seen", "versions", "expected"), CASES.values(), ids=CASES)
def test_is_at_least(seen: str, versions: list[str], expected: bool) -> None:
    assert is_at_least(seen, versions) == expected
