"""Resource versions: the API server counts them up with every write.

They go back only if its database is restored from a backup. Then a version of before says nothing
about what is stored now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Present:
    """What a consistent list says."""

    version: str
    objects: Mapping[str, str]
    """The versions of its objects, by UID."""

    def latest(self) -> str:
        """The latest version of an object; empty if there are none."""
        return max(self.objects.values(), key=lambda each: number_of(each) or 0, default="")


def number_of(version: str) -> int | None:
    """None if the text is not a version. One that was not given counts as 0."""
    if not version:
        return 0
    # Not isdigit alone, which also holds for other digits than those of ASCII; etcd counts to 2^63.
    return int(version) if version.isascii() and version.isdigit() and len(version) < 20 else None


def is_at_least(seen: str, versions: Iterable[str]) -> bool:
    """Whether a store as of version `seen` is as new as all of these; an empty one says nothing.
    A store that has not listed yet has no version, and is older than any. So is every store than
    what is not a version."""
    reached = number_of(seen)
    if not seen or reached is None:
        return False
    numbers = [number_of(each) for each in versions]
    return all(number is not None and number <= reached for number in numbers)


def is_before(version: str, other: str) -> bool:
    """Whether a version is surely older than another one of the same history."""
    one, two = number_of(version), number_of(other)
    return one is not None and two is not None and one < two
