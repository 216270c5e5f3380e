"""What a budget's annotations say, read so that a bad value never protects less.

`validation` refuses bad values at admission; one that was stored before Intact was there still has
to be lived with.
"""

from enum import StrEnum

from intact.model.amounts import parse_count
from intact.model.pub import PodUnavailableBudget

PROTECT_OPERATIONS = "kruise.io/pub-protect-operations"
PROTECT_TOTAL_REPLICAS = "pub.kruise.io/protect-total-replicas"
ENFORCEMENT = "intact.dev/enforcement"

KNOWN_OPERATIONS = ("DELETE", "UPDATE", "EVICT", "RESIZE")
DEFAULT_OPERATIONS = frozenset(("DELETE", "UPDATE", "EVICT"))


class Enforcement(StrEnum):
    """What becomes of a denial."""

    ENFORCE = "Enforce"
    WARN = "Warn"
    """Allowed, with an admission warning."""
    AUDIT = "Audit"
    """Allowed, and recorded."""


def protected_operations(pub: PodUnavailableBudget) -> frozenset[str]:
    """DELETE, UPDATE and EVICT unless the annotation says otherwise."""
    named = listed_operations(pub.metadata.annotations.get(PROTECT_OPERATIONS, ""))
    known = named.intersection(KNOWN_OPERATIONS)
    if not named or known != named:
        return DEFAULT_OPERATIONS | known
    return known


def listed_operations(text: str) -> frozenset[str]:
    """The items of a comma list, known or not."""
    return frozenset(item.strip() for item in text.split(",") if item.strip())


def total_override(pub: PodUnavailableBudget) -> int | None:
    """The total that stands before the workloads' scale; None if there is none."""
    return parse_count(pub.metadata.annotations.get(PROTECT_TOTAL_REPLICAS, ""))


def enforcement(pub: PodUnavailableBudget) -> Enforcement:
    try:
        return Enforcement(pub.metadata.annotations.get(ENFORCEMENT, Enforcement.ENFORCE))
    except ValueError:
        return Enforcement.ENFORCE
