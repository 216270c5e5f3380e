"""A terminal for tests: a small screen that obeys the control sequences that Intact writes, and a
command that runs in a pseudo-terminal of a given size."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping, Sequence

_SEQUENCE = re.compile(r"\x1b\[(\d*)([A-Za-z])")


class Terminal:
    """Wraps long lines as xterm does: at the first character that no longer fits."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.scrolled: list[str] = []
        """Rows that have left the screen at its top."""
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._wrap = False

    @property
    def lines(self) -> list[str]:
        """What is to be seen, without the empty rows at its end."""
        found = ["".join(row).rstrip() for row in self._cells]
        while found and not found[-1]:
            found.pop()
        return found

    def write(self, text: str) -> None:
        at = 0
        while at < len(text):
            if match := _SEQUENCE.match(text, at):
                self._obey(match[2], match[1])
                at = match.end()
                continue
            self._put(text[at])
            at += 1

    def _obey(self, command: str, argument: str) -> None:
        self._wrap = False
        match command:
            case "A":
                self._row = max(0, self._row - int(argument or 1))
            case "H":
                self._row = self._column = 0
            case "J":
                if argument == "2":
                    self._cells = [[" "] * self.columns for _ in range(self.rows)]
                else:
                    rest = self.columns - self._column
                    self._cells[self._row][self._column :] = [" "] * rest
                    for row in range(self._row + 1, self.rows):
                        self._cells[row] = [" "] * self.columns
            case _:
                raise ValueError(f"an unknown sequence: {command}")

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column, self._wrap = 0, False
        elif character == "\n":
            self._down()
        else:
            if self._wrap:
                self._column = 0
                self._down()
            self._cells[self._row][self._column] = character
            self._wrap = self._column == self.columns - 1
            self._column = min(self.columns - 1, self._column + 1)

    def _down(self) -> None:
        self._wrap = False
        if self._row < self.rows - 1:
            self._row += 1
            return
        self.scrolled.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)


class InTerminal:
    """A command in a pseudo-terminal."""

    def __init__(self, columns: int, rows: int) -> None:
        self.screen = Terminal(columns, rows)
        self.written = ""

    async def run(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Until it ends; its exit code."""
        ours, theirs = pty.openpty()
        size = struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(env)
        )
        os.close(theirs)
        try:
            async with asyncio.timeout(120):
                await asyncio.to_thread(self._read, ours)
                return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            os.close(ours)

    async def wrote(self, text: str) -> None:
        """Wait until the command has written this."""
        async with asyncio.timeout(60):
            while text not in self.written:
                await asyncio.sleep(0.02)

    def _read(self, ours: int) -> None:
        rest = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                return
            if not chunk:
                return
            text, rest = _decoded(rest + chunk)
            self.written += text
            self.screen.write(text)


def _decoded(data: bytes) -> tuple[str, bytes]:
    """The text, and the bytes of a character or a sequence that has not come whole."""
    for cut in range(min(8, len(data)) + 1):
        whole, rest = data[: len(data) - cut], data[len(data) - cut :]
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            continue
        if not re.search(r"\x1b(\[\d*)?$", text):
            return text, rest
    return "", data
