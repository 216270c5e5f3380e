"""An event loop that lets work gather.

Waking up costs a process more than most of the work that wakes it: at hundreds of events a second
most of the CPU time goes there. This loop wakes at most two hundred times a second and reads
together what has arrived meanwhile. It is for processes that no request waits for: those that serve
webhooks answer at once.
"""

import asyncio
import selectors
import time
from collections.abc import Callable

PACE = 0.005
"""Seconds."""


class PacedSelector(selectors.EpollSelector):
    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        self._now = now
        self._sleep = sleep
        self._woken = now() - PACE

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:  # else there is work to do at once
            wait = self._woken + PACE - self._now()
            if timeout is not None:
                wait = min(wait, timeout)
            if wait > 0:
                self._sleep(wait)
                timeout = None if timeout is None else timeout - wait
        found = super().select(timeout)
        self._woken = self._now()
        return found


def paced_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(PacedSelector())
