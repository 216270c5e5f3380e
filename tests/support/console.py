"""The commands of a page, and a shell in which a reader types them."""

import re
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_LONGEST = 900.0
"""Seconds that a command may take; then the shell is killed."""
_END = "-- the command ended with"


@dataclass(frozen=True)
class Command:
    section: str
    lead: str
    """The first words of the paragraph before the block of commands."""
    text: str


def commands(page: Path) -> list[Command]:
    """All lines after `$` in blocks of the kind `console`, in their order."""
    found: list[Command] = []
    section = lead = ""
    blocks = re.split(r"\n\n(?!\$ )", page.read_text())
    for block in blocks:
        if heading := re.match(r"#+ (.*)", block):
            section = heading[1]
        elif block.startswith("```console\n"):
            lines = block.splitlines()
            found += [Command(section, lead, line[2:]) for line in lines if line[:2] == "$ "]
        else:
            lead = block
    return found


class Shell:
    """One bash for all commands: what one sets, the next ones see. Ends with the block."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "-o", "pipefail"],
            cwd=directory,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bash.kill()
        self._bash.wait()
        for pipe in (self._bash.stdin, self._bash.stdout):
            assert pipe is not None
            pipe.close()

    def type(self, command: str, answer: str = "") -> str:
        """What the command prints; it must succeed. `answer` is typed if it asks."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{{ {command}\n}} <<< '{answer}'\necho \"{_END} $?\"\n")
        self._bash.stdin.flush()
        timer = threading.Timer(_LONGEST, self._bash.kill)
        timer.start()
        try:
            said = ""
            for line in self._bash.stdout:
                before, ended, code = line.partition(_END)
                said += before
                if ended:
                    assert code.strip() == "0", f"$ {command}\n{said}"
                    return said
            raise AssertionError(f"the shell ended\n$ {command}\n{said}")
        finally:
            timer.cancel()
