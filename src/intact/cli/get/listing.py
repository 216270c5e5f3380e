"""What a list shows: rows with their columns, and documents for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intact.cli.output import DOCUMENTS, document
from intact.cli.tables import table

Json = dict[str, Any]
NONE = "-"


@dataclass(frozen=True, slots=True)
class Row:
    namespace: str
    names: tuple[str, ...]
    """What it can be asked for by; the first is how kubectl prints it."""
    cells: Sequence[str]
    more: Sequence[str]
    """Of wide output."""
    document: Json
    labels: Sequence[Mapping[str, str]]
    """A selector must select one of these."""


@dataclass(frozen=True, slots=True)
class Heads:
    cells: Sequence[str]
    more: Sequence[str]


def shown(
    heads: Heads, rows: Sequence[Row], output: str, *, namespaces: bool, single: bool
) -> list[str]:
    """In the format that was asked for; `single` if one was asked for by its name."""
    if output == "name":
        return [row.names[0] for row in rows]
    if output in DOCUMENTS:
        items = [row.document for row in rows]
        return [document(items[0] if single and items else {"items": items}, output)]
    if not rows:
        return []
    wide = output == "wide"
    lines = [
        [*(["NAMESPACE"] if namespaces else []), *heads.cells, *(heads.more if wide else [])],
        *(
            [*([row.namespace] if namespaces else []), *row.cells, *(row.more if wide else [])]
            for row in rows
        ),
    ]
    return table(lines)
