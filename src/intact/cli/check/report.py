"""What `intact check` has found, as text and as JSON, and its exit code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from intact.cli.check.installation.line import Line, State
from intact.cli.check.located import Located
from intact.cli.output import counted
from intact.picture.findings.finding import Severity

WARNINGS = 3
ERRORS = 4


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[Line] = ()
    """Of the installation."""
    findings: Sequence[Located] = ()
    budgets: int = 0
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """What may not be read, and why: about that nothing is said."""

    @property
    def exit_code(self) -> int:
        states = {line.state for line in self.lines}
        severities = {one.finding.severity for one in self.findings}
        if State.FAIL in states or Severity.ERROR in severities:
            return ERRORS
        return WARNINGS if State.WARN in states or Severity.WARNING in severities else 0

    def text(self) -> list[str]:
        width = max((len(line.name) for line in self.lines), default=0)
        shown = [f"{line.state:<4}  {line.name:<{width}}  {line.message}" for line in self.lines]
        shown += [""] if shown else []
        for what, why in self.unreadable.items():
            shown.append(f"SKIP  {what} cannot be read: {why}")
        for one in self.findings:
            finding = one.finding
            where = f"{one.place}: " if one.place is not None else ""
            shown.append(f"{where}{finding.severity}: {finding.about}: {finding.message}")
            shown.append(f"    {finding.action} [{finding.code} {finding.rule.name}]")
        return [*shown, self._summary()]

    def _summary(self) -> str:
        found = [
            counted(number, severity)
            for severity in Severity
            if (number := sum(one.finding.severity is severity for one in self.findings))
        ]
        told = counted(self.budgets, "budget")
        return f"{told}: {', '.join(found) or 'nothing found'}"

    def document(self) -> dict[str, Any]:
        return {
            "installation": [
                {"check": line.name, "state": str(line.state), "message": line.message}
                for line in self.lines
            ],
            "budgets": self.budgets,
            "unreadable": dict(self.unreadable),
            "findings": [_entry(one) for one in self.findings],
        }


def _entry(one: Located) -> dict[str, Any]:
    finding = one.finding
    entry: dict[str, Any] = {
        "code": finding.code,
        "rule": finding.rule.name,
        "severity": str(finding.severity),
        "kind": finding.about.kind,
        "namespace": finding.about.namespace,
        "name": finding.about.name,
        "field": finding.field,
        "message": finding.message,
        "action": finding.action,
    }
    if one.place is not None:
        entry |= {"file": one.place.file, "line": one.place.line}
    return entry
