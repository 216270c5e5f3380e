"""`intact why group/NAME`: its pods, and whether it may lose one."""

from collections.abc import Sequence
from datetime import datetime

from intact.cli.tables import table
from intact.cli.why.holders import gathered, holder_document, holder_lines
from intact.cli.why.pod import group_text
from intact.cli.why.report import MAY_GO, Report, report, strictest
from intact.cli.why.units import for_how_long, unit_document, unit_line
from intact.picture.budgets import BudgetPicture
from intact.picture.causes import waited
from intact.picture.picture import Picture
from intact.picture.reasons import Word
from intact.picture.units import UnitPicture
from intact.picture.verdict import Judge

Group = tuple[UnitPicture, tuple[BudgetPicture, ...]]


def about_groups(picture: Picture, groups: Sequence[Group], now: datetime) -> Report:
    """Of all groups that have the name: those of two applications may."""
    judge = Judge(picture, now)
    lines, documents, words = [], [], []
    for unit, budgets in groups:
        verdicts = [judge.of(pod) for pod in unit.pods]
        word = strictest(one.word for one in verdicts)
        holders = gathered(verdicts)
        lines += [
            f"group {unit.name} ({group_text(unit)}) is {_state(unit, now)}",
            *pod_table(unit),
            *([] if unit.is_up or not unit.pods else [f"  {unit_line(waited(unit), now)}"]),
            *holder_lines(holders, now),
        ]
        if not budgets:
            lines.append("  no budget counts it")
        if word is Word.MAY_GO and unit.pods:
            lines.append(MAY_GO)
        words.append(word)
        documents.append(
            {
                "kind": "group",
                "namespace": unit.namespace,
                **unit_document(unit, pods=True),
                "budgets": [one.reference for one in budgets],
                "verdict": str(word),
                "holders": [holder_document(one) for one in holders],
            }
        )
    document = documents[0] if len(documents) == 1 else {"kind": "group", "items": documents}
    return report(lines, document, strictest(words), picture.objects.unreadable)


def _state(unit: UnitPicture, now: datetime) -> str:
    since = for_how_long(unit.since, now)
    return f"{unit.state} for {since}" if since else str(unit.state)


def pod_table(unit: UnitPicture, indent: str = "  ") -> list[str]:
    if not unit.pods:
        return []
    rows = [
        (pod.metadata.name, "ready" if unit.serves(pod) else "down", pod.spec.node_name or "-")
        for pod in unit.pods
    ]
    return [indent + line for line in table(rows)]
