"""What becomes of a denial: an annotation of budgets of both kinds."""

from collections.abc import Mapping
from enum import StrEnum

ENFORCEMENT = "intact.dev/enforcement"


class Enforcement(StrEnum):
    """What the gate does with a denial."""

    ENFORCE = "Enforce"
    WARN = "Warn"
    """Allows the request, with an admission warning."""
    AUDIT = "Audit"
    """Allows the request, and tells of the denial in an event and in the log."""


def enforcement_of(annotations: Mapping[str, str]) -> Enforcement:
    """A bad value never protects less."""
    try:
        return Enforcement(annotations.get(ENFORCEMENT, ""))
    except ValueError:
        return Enforcement.ENFORCE
