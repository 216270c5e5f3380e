"""Groups, with the budgets that count them."""

from datetime import datetime

from intact.cli.get.listing import NONE, Heads, Row
from intact.cli.why.units import for_how_long, unit_document
from intact.model.listing import listed
from intact.picture.budgets import BudgetPicture
from intact.picture.picture import Picture
from intact.picture.units import UnitPicture

HEADS = Heads(["NAME", "BUDGET", "READY", "NEED", "STATE", "SINCE", "NODES"], ["PODS"])
_MOST_NODES = 3


def rows(picture: Picture, now: datetime) -> list[Row]:
    return [_row(unit, budgets, now) for unit, budgets in picture.groups]


def _row(unit: UnitPicture, budgets: tuple[BudgetPicture, ...], now: datetime) -> Row:
    pods = [pod.metadata.name for pod in unit.pods]
    references = [one.reference for one in budgets]
    return Row(
        namespace=unit.namespace,
        names=(f"group/{unit.name}", unit.name),
        cells=[
            unit.name,
            ",".join(references) or NONE,
            f"{unit.available}/{len(unit.pods)}",
            NONE if unit.need is None else str(unit.need),
            str(unit.state),
            for_how_long(unit.since, now) or NONE,
            listed(unit.nodes, _MOST_NODES, ",") or NONE,
        ],
        more=[listed(pods, separator=",") or NONE],
        document={
            "namespace": unit.namespace,
            **unit_document(unit, pods=True),
            "budgets": references,
        },
        labels=[pod.metadata.labels for pod in unit.pods],
    )
