"""A picture that is drawn again and again: in a terminal in its own place, elsewhere one after the
other.

Lines are folded here, not by the terminal: so the picture has as many rows as it has lines, at any
width. A picture that is higher than the terminal is cut while it changes, because what has left the
top of a terminal cannot be replaced; its last state is shown whole.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence

import click

_UP = "\x1b[{}A\r\x1b[J"
_CLEAR = "\x1b[H\x1b[2J"
_FALLBACK = (80, 24)
_NARROWEST = 2
"""What a wide character takes."""
_INDENT = re.compile(r"[│├└─ ]*")


def terminal_size() -> tuple[int, int]:
    """Columns and rows. COLUMNS is not asked: it stays as it was when the window changes."""
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return _FALLBACK
    return columns or _FALLBACK[0], rows or _FALLBACK[1]


class Screen:
    def __init__(
        self, *, in_place: bool | None = None, size: Callable[[], tuple[int, int]] = terminal_size
    ) -> None:
        self._in_place = sys.stdout.isatty() if in_place is None else in_place
        self._size = size
        self._drawn_at = (0, 0)
        self._rows = 0
        self._last: list[str] = []

    def show(self, picture: Sequence[str]) -> None:
        self._draw(picture, whole=False)

    def end(self, picture: Sequence[str]) -> None:
        """Show the last picture, whole."""
        self._draw(picture, whole=True)

    def _draw(self, picture: Sequence[str], *, whole: bool) -> None:
        lines = [printable(line) for line in picture]
        if not self._in_place:
            if lines != self._last:
                _write(([""] if self._last else []) + lines)
            self._last = lines
            return
        columns, height = size = self._size()
        # The last column stays free: a terminal may go to the next row once it is written.
        rows = [row for line in lines for row in folded(line, columns - 1)]
        if not whole and len(rows) >= height:
            kept = max(1, height - 2)
            rows = [*rows[:kept], f"… {len(rows) - kept} more rows"[: columns - 1]]
        if rows == self._last and size == self._drawn_at:
            return
        if self._rows and size != self._drawn_at:
            # Terminals differ in what they do to rows that no longer fit.
            _control(_CLEAR)
        elif self._rows:
            _control(_UP.format(self._rows))
        _write(rows)
        self._rows, self._last, self._drawn_at = len(rows), rows, size


def _control(sequence: str) -> None:
    click.echo(sequence, nl=False, color=True)  # or click would leave it out


def _write(lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join(lines))


def printable(line: str) -> str:
    """Messages of others are in it: they must not direct the terminal."""
    return "".join(each if each.isprintable() else " " for each in line)


def cells(text: str) -> int:
    """Columns that it takes."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def folded(line: str, width: int) -> list[str]:
    """In rows of at most that many columns, broken between words where that is possible. Further
    rows are indented below the first, and continue the lines of a tree."""
    width = max(_NARROWEST, width)
    found, rest, indent = [], line, ""
    while cells(indent + rest) > width:
        at = _break(rest, width - cells(indent))
        found.append((indent + rest[:at]).rstrip())
        rest = rest[at:].lstrip()
        if len(found) == 1:
            indent = _continued(line, width)
    return [*found, indent + rest] if rest or not found else found


def _break(text: str, width: int) -> int:
    """Where to break: after as many characters."""
    used = end = 0
    for character in text:
        used += _cells(character)
        if used > width:
            break
        end += 1
    end = max(1, end)
    if text[end : end + 1] == " ":
        return end
    words = text.rfind(" ", 0, end)
    return words + 1 if text[:words].strip(" │├└─") and words > 0 else end


def _continued(line: str, width: int) -> str:
    match = _INDENT.match(line)
    start = match[0] if match else ""
    below = start.replace("├", "│").replace("└", " ").replace("─", " ") + "  "
    return below if len(below) <= width // 2 else ""
