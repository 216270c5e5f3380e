"""Evictions under one budget take turns on their way to its status, two at a time.

Each of them is a write to the budget. Those that run at once collide, and each collision costs the
API server another round: fifty at once get through more slowly than one after the other. But one
alone leaves the budget idle while the API server reads it and asks the next webhook. So the door
lets the next one through when one of two has been stored, or denied. Nothing depends on it: an
eviction that waits too long goes on anyway.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from intact.kube.store import Key

AT_ONCE = 2
"""For each budget and replica. bench.pdb_evictions is slower with one, and with four."""
LONGEST_TURN = 0.5
"""Seconds after which the next one goes, whatever has become of the last."""
LONGEST_WAIT = 8.0
"""Seconds: less than the API server waits for the door."""


@dataclass(slots=True)
class _Line:
    """Those who wait for one budget, behind those whose turn it is."""

    going: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    waiting: deque[tuple[str, asyncio.Future[None]]] = field(default_factory=deque)


class Turns:
    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._lines: dict[Key, _Line] = {}

    async def wait(self, budget: Key, pod: str) -> bool:
        """Until it is this pod's turn, or the wait has been too long. True if there was a wait."""
        line = self._lines.setdefault(budget, _Line())
        if len(line.going) < self._at_once:
            self._begin(budget, line, pod)
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (pod, turn)
        line.waiting.append(place)
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await turn
        except TimeoutError:
            pass
        finally:
            if place in line.waiting:
                line.waiting.remove(place)
        return True

    def end(self, budget: Key, pod: str) -> None:
        """The eviction of this pod has been stored, or denied."""
        line = self._lines.get(budget)
        if line is None or pod not in line.going:
            return
        line.going.pop(pod).cancel()
        while line.waiting and len(line.going) < self._at_once:
            following, turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._begin(budget, line, following)
        if not line.going:
            del self._lines[budget]

    def going(self, budget: Key) -> Sequence[str]:
        """The pods whose turn it is."""
        line = self._lines.get(budget)
        return tuple(line.going) if line is not None else ()

    def _begin(self, budget: Key, line: _Line, pod: str) -> None:
        if pod in line.going:
            line.going.pop(pod).cancel()  # asked for twice
        loop = asyncio.get_running_loop()
        line.going[pod] = loop.call_later(LONGEST_TURN, self.end, budget, pod)
