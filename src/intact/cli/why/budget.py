"""`intact why pub/NAME` and `pdb/NAME`: its units, what it allows, what it waits for, and who was
refused lately."""

from collections.abc import Sequence
from datetime import datetime

from intact.cli.tables import table
from intact.cli.why.events import Refused, refused_document, refused_lines
from intact.cli.why.report import Report, report
from intact.cli.why.units import for_how_long, unit_document, unit_lines
from intact.model.listing import listed
from intact.picture.budget_standing import standing_of
from intact.picture.budget_verdict import BudgetVerdict
from intact.picture.budgets import BudgetPicture
from intact.picture.causes import waited
from intact.picture.picture import Picture
from intact.picture.reasons import Reason, Word
from intact.picture.units import UnitPicture

_MOST_UNITS = 30
_MOST_PODS = 8
NONE = "-"
_TOLD = (Reason.ALLOWED, Reason.EXHAUSTED)
"""The numbers say it."""


def about_budget(
    picture: Picture, budget: BudgetPicture, refused: Sequence[Refused], now: datetime
) -> Report:
    found = standing_of(budget, picture.objects.leading)
    lines = [f"{_title(budget)}   {found.word}", *_table(budget, now), *verdict_lines(found, now)]
    lines += refused_lines(refused, now)
    document = {
        "kind": budget.kind,
        "namespace": budget.namespace,
        "name": budget.name,
        "unit": budget.unit,
        "allowed": budget.allowed,
        "current": budget.current,
        "desired": budget.desired,
        "total": budget.total,
        "working": not budget.not_working,
        "reason": str(found.reason),
        "text": found.text,
        "when": found.when,
        "note": found.note,
        "units": [unit_document(unit, pods=unit.is_group) for unit in budget.units],
        "refused": [refused_document(one) for one in refused],
    }
    return report(lines, document, found.word, picture.objects.unreadable)


def _title(budget: BudgetPicture) -> str:
    unit = budget.unit
    return (
        f"{budget.reference} counts {unit}s: {budget.current} of {budget.total} available, "
        f"{budget.desired} required, {budget.allowed} may go now"
    )


def _table(budget: BudgetPicture, now: datetime) -> list[str]:
    """Units that are down come first; of those that are up, only as many as fit."""
    units = budget.units
    shown = units[: max(_MOST_UNITS, len(budget.down))]
    if not shown:
        return []
    if budget.in_groups:
        heads = ["GROUP", "STATE", "READY", "NEED", "SINCE", "PODS"]
    else:
        heads = ["POD", "STATE", "SINCE", "NODE"]
    rows = [heads, *(_row(unit, now, groups=budget.in_groups) for unit in shown)]
    lines = [f"  {line}" for line in table(rows)]
    if more := len(units) - len(shown):
        lines.append(f"  and {more} more that are available")
    return lines


def _row(unit: UnitPicture, now: datetime, *, groups: bool) -> list[str]:
    since = for_how_long(unit.since, now) or NONE
    name = unit.name if unit.is_group or not groups else f"{unit.name} (in no group)"
    if not groups:
        return [name, str(unit.state), since, listed(unit.nodes) or NONE]
    pods = [f"{pod.metadata.name} ({pod.spec.node_name or 'no node'})" for pod in unit.pods]
    ready = f"{unit.available}/{len(unit.pods)}"
    need = NONE if unit.need is None else str(unit.need)
    return [name, str(unit.state), ready, need, since, listed(pods, _MOST_PODS) or NONE]


def verdict_lines(found: BudgetVerdict, now: datetime) -> list[str]:
    """What it waits for, and when it lets a unit go."""
    budget = found.budget
    lines = [] if found.reason in _TOLD else [f"  {found.text}"]
    lines += unit_lines(found.waits_for or map(waited, budget.down), now, "    ")
    if found.word is Word.WAITS:
        lines.append(f"It lets a {budget.unit} go when {found.when}.")
    elif found.word is Word.NEVER:
        lines.append(f"It lets nothing go until {found.when}.")
    note = found.note or budget.not_working
    if note and note != found.text:
        lines.append(f"  note: {note}")
    return lines
