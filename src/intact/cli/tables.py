"""Tables of plain text."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with columns as wide as their widest cell."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
