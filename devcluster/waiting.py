"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from devcluster.errors import DeadlineError

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T | None],
    what: str,
    timeout: float = 60,
    interval: float = 0.05,
) -> T:
    """The first true value of `condition`. Raises DeadlineError, with `what`, after the timeout."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() >= deadline:
            raise DeadlineError(f"timed out after {timeout:.0f} s waiting for {what}")
        time.sleep(interval)
