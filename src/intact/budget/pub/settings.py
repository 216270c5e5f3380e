"""What a budget's annotations say, read so that a bad value never protects less.

`validation` refuses bad values at admission. A budget may still have one, stored before Intact was
installed.
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
    """What the gate does with a denial."""

    ENFORCE = "Enforce"
    WARN = "Warn"
    """Allows the request, with an admission warning."""
    AUDIT = "Audit"
    """Allows the request, and tells of the denial in an event and in the log."""


def protected_operations(pub: PodUnavailableBudget) -> frozenset[str]:
    """DELETE, UPDATE and EVICT unless the annotation says otherwise."""
    named = listed_operations(pub.metadata.annotations.get(PROTECT_OPERATIONS, ""))
    known = named.intersection(KNOWN_OPERATIONS)
    if not named or known != named:
        return DEFAULT_OPERATIONS | known
    return known


def listed_operations(text: str) -> frozenset[str]:
    """The items of a comma-separated list, known or not."""
    return frozenset(item.strip() for item in text.split(",") if item.strip())


def total_override(pub: PodUnavailableBudget) -> int | None:
    """The total that overrides the scale of the workloads; None if the budget has none."""
    return parse_count(pub.metadata.annotations.get(PROTECT_TOTAL_REPLICAS, ""))


def enforcement(pub: PodUnavailableBudget) -> Enforcement:
    try:
        return Enforcement(pub.metadata.annotations.get(ENFORCEMENT, Enforcement.ENFORCE))
    except ValueError:
        return Enforcement.ENFORCE
