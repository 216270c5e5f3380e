"""One finding: what is wrong with which object, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    """The budget blocks for good, or does not protect what it says."""
    WARNING = "warning"
    """It works, and most likely not as its author believes."""
    NOTE = "note"
    """Worth knowing. It changes no exit code."""


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    """Stays as it is from release to release, as does the name."""
    name: str
    severity: Severity
    """The usual one; a single finding may have another."""
    summary: str


@dataclass(frozen=True, slots=True)
class About:
    """The object that a finding is about."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}".replace(" /", " ")


@dataclass(frozen=True, slots=True)
class Finding:
    rule: Rule
    about: About
    message: str
    """Names the field and its value."""
    action: str
    """What to do."""
    field: str = ""
    """Path of the field, such as `spec.maxUnavailable`; empty if it is about the whole object."""
    severity: Severity = Severity.NOTE

    @property
    def code(self) -> str:
        return self.rule.code


def found(
    rule: Rule,
    about: About,
    message: str,
    action: str,
    field: str = "",
    severity: Severity | None = None,
) -> Finding:
    return Finding(rule, about, message, action, field, severity or rule.severity)
