"""What a budget's annotations say, read so that a bad value never protects less.

`validation` refuses bad values at admission. A budget may still have one, stored before Intact was
installed.
"""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class PubSettings:
    operations: frozenset[str] = DEFAULT_OPERATIONS
    """What the budget protects its pods from."""
    total: int | None = None
    """Overrides the scale of the workloads; None if the budget does not."""
    enforcement: Enforcement = Enforcement.ENFORCE


def read_settings(pub: PodUnavailableBudget) -> PubSettings:
    annotations = pub.metadata.annotations
    return PubSettings(
        operations=_protected(annotations.get(PROTECT_OPERATIONS, "")),
        total=parse_count(annotations.get(PROTECT_TOTAL_REPLICAS, "")),
        enforcement=_enforcement(annotations.get(ENFORCEMENT, "")),
    )


def _protected(text: str) -> frozenset[str]:
    """DELETE, UPDATE and EVICT unless the annotation says otherwise."""
    named = listed_operations(text)
    known = named.intersection(KNOWN_OPERATIONS)
    if not named or known != named:
        return DEFAULT_OPERATIONS | known
    return known


def listed_operations(text: str) -> frozenset[str]:
    """The items of a comma-separated list, known or not."""
    return frozenset(item.strip() for item in text.split(",") if item.strip())


def _enforcement(text: str) -> Enforcement:
    try:
        return Enforcement(text)
    except ValueError:
        return Enforcement.ENFORCE
