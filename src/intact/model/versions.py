"""Resource versions: the API server counts them up with every write."""

from collections.abc import Iterable


def is_at_least(seen: str, versions: Iterable[str]) -> bool:
    """Whether a store as of version `seen` is as new as all of these; an empty one says nothing.
    A store that has not listed yet has no version, and is older than any."""
    return seen.isdigit() and int(seen) >= max((int(each or 0) for each in versions), default=0)
