"""Parts of a benchmark that run in processes of their own and report in lines of JSON.

A child ends when its standard input is closed, so it never outlives the benchmark.
"""

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any, Self

from bench.usage import usage

TIMEOUT = 600.0
"""Seconds without a line after which a child counts as stuck."""


class BenchError(Exception):
    """The benchmark could not run, or its parts did not do the same work."""


class Child:
    """The parent's side: `python -m MODULE ARGUMENTS...`, ended on leaving the block."""

    def __init__(self, module: str, *arguments: object) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The API server is on loopback, where no proxy leads.
            env={k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def hear(self, word: str) -> dict[str, Any]:
        """Wait for the next line, which must have this word."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(TIMEOUT, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise BenchError(
                f"{self._module} ended, or was silent for {TIMEOUT:.0f} s, before {word!r}"
            )
        said: dict[str, Any] = json.loads(line)
        if said["word"] != word:
            raise BenchError(f"{self._module} said {said['word']!r} instead of {word!r}")
        return said


def end_with_parent() -> None:
    """The child calls this first."""

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def say(word: str, **facts: object) -> None:
    """Report to the parent, with the time and what this process has used so far."""
    now = usage(os.getpid()).as_dict()
    print(json.dumps({"word": word, "usage": now, "at": time.monotonic()} | facts), flush=True)
