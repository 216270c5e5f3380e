"""The recount of a budget waits for a pause between evictions.

Each eviction stores what the gate has decided, so the budget is right without a recount, only not
as generous as it could be. A recount that is written among evictions gets into their way, and they
into its own. It waits until no eviction has been stored for a moment, but not for long.
"""

import asyncio

from intact.kube.store import Key

QUIET = 0.25
"""Seconds without an eviction that make a pause."""
LONGEST = 2.0
"""Seconds for which a recount waits at most."""


class Pauses:
    def __init__(self) -> None:
        self._last: dict[Key, float] = {}
        self._waiting_since: dict[Key, float] = {}

    def evicted(self, budget: Key) -> None:
        """An eviction under this budget has been stored."""
        self._last[budget] = asyncio.get_running_loop().time()

    def wait(self, budget: Key) -> float:
        """Seconds after which the recount shall look again; 0 if it may write now."""
        now = asyncio.get_running_loop().time()
        pause = self._last.get(budget, now - QUIET) + QUIET
        since = self._waiting_since.setdefault(budget, now)
        if pause <= now or now >= since + LONGEST:
            self.forget(budget)
            return 0.0
        return min(pause, since + LONGEST) - now

    def forget(self, budget: Key) -> None:
        self._waiting_since.pop(budget, None)
        self._last.pop(budget, None)
