"""Figures of Intact and a peer, side by side."""

from collections.abc import Callable
from dataclasses import dataclass

Format = Callable[[float], str]


def seconds(value: float) -> str:
    return f"{value:.2f} s"


def milliseconds(value: float) -> str:
    return f"{value * 1e3:.3f} ms"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


def ratio(value: float) -> str:
    return f"{value:.3f}"


def count(value: float) -> str:
    return f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    ours: float
    theirs: float
    format: Format
    bar: float | None = None
    """The ratio of ours to theirs that may not be exceeded."""
    compared: bool = True
    """Whether the ratio means anything."""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.theirs else float("inf")

    @property
    def passed(self) -> bool:
        return self.bar is None or self.ratio <= self.bar


def render(rows: list[Row], ours: str, theirs: str) -> str:
    """One line for each row; a row with a bar ends with a verdict."""
    cells = [("", ours, theirs, "ratio", "")]
    for row in rows:
        verdict = ""
        if row.bar is not None:
            verdict = f"{'PASS' if row.passed else 'FAIL'} (bar: {row.bar:g})"
        ratio = f"{row.ratio:.3f}" if row.compared else ""
        cells.append((row.name, row.format(row.ours), row.format(row.theirs), ratio, verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    lines = []
    for name, *figures, verdict in cells:
        right = "  ".join(
            text.rjust(width) for text, width in zip(figures, widths[1:4], strict=True)
        )
        lines.append(f"{name.ljust(widths[0])}  {right}  {verdict}".rstrip())
    return "\n".join(lines)
