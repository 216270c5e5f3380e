"""Lists of names in a sentence."""

from collections.abc import Iterable

_SHOWN = 5


def listed(names: Iterable[str], most: int = _SHOWN, separator: str = ", ") -> str:
    """`a, b and 3 more`; an empty name is `''`."""
    found = [name or "''" for name in names]
    more = len(found) - most
    return separator.join(found[:most]) + (f" and {more} more" if more > 0 else "")
