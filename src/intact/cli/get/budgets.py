"""Budgets of both kinds in one list."""

from datetime import datetime

from intact.cli.get.listing import NONE, Heads, Row
from intact.cli.output import age_of
from intact.kube.resources import PDBS, PUBS
from intact.model.listing import listed
from intact.picture.budgets import BudgetPicture
from intact.picture.coverage import PUB
from intact.picture.picture import Picture

HEADS = Heads(
    ["NAME", "UNIT", "ALLOWED", "CURRENT", "DESIRED", "TOTAL", "DOWN", "WORKING", "SINCE"],
    ["UNITS DOWN", "ENFORCEMENT", "MESSAGE"],
)


def rows(picture: Picture, now: datetime) -> list[Row]:
    found = [_row(one, now) for one in picture.budgets]
    return sorted(found, key=lambda row: row.namespace)


def _row(budget: BudgetPicture, now: datetime) -> Row:
    resource = PUBS if budget.kind == PUB else PDBS
    full = f"{resource.kind.lower()}.{resource.group}/{budget.name}"
    plain = f"{resource.kind.lower()}/{budget.name}"
    down = max(0, budget.total - budget.current)
    message = budget.not_working or budget.never
    return Row(
        namespace=budget.namespace,
        names=(full, budget.reference, plain, budget.name),
        cells=[
            budget.reference,
            f"{budget.unit}s",
            str(budget.allowed),
            str(budget.current),
            str(budget.desired),
            str(budget.total),
            str(down),
            "False" if budget.not_working else "True",
            age_of(budget.working_since, now),
        ],
        more=[
            listed(unit.name for unit in budget.down) or NONE,
            str(budget.enforcement),
            message or NONE,
        ],
        document={
            "namespace": budget.namespace,
            "name": budget.name,
            "kind": budget.kind,
            "unit": budget.unit,
            "allowed": budget.allowed,
            "current": budget.current,
            "desired": budget.desired,
            "total": budget.total,
            "down": down,
            "unitsDown": [unit.name for unit in budget.down],
            "working": not budget.not_working,
            "since": budget.working_since or None,
            "enforcement": str(budget.enforcement),
            "message": message,
        },
        labels=[budget.budget.metadata.labels],
    )
