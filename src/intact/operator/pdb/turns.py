"""Evictions under one budget take turns on their way to its status.

Each of them is a write to the budget. Those that run at once collide, and each collision costs the
API server another round: fifty at once get through more slowly than one after the other. So the
door lets the next one through when the last one has been stored, or denied. Nothing depends on it:
who waits too long goes on anyway.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from intact.kube.store import Key

LONGEST_TURN = 0.5
"""Seconds after which the next one goes, whatever has become of the last."""
LONGEST_WAIT = 8.0
"""Seconds: less than the API server waits for the door."""


@dataclass(slots=True)
class _Line:
    """Those who wait for one budget, behind the one whose turn it is."""

    turn_of: str
    over: asyncio.TimerHandle | None = None
    waiting: deque[tuple[str, asyncio.Future[None]]] = field(default_factory=deque)


class Turns:
    def __init__(self) -> None:
        self._lines: dict[Key, _Line] = {}

    async def wait(self, budget: Key, pod: str) -> bool:
        """Until it is this pod's turn, or the wait has been too long. True if there was a wait."""
        line = self._lines.get(budget)
        if line is None:
            line = self._lines[budget] = _Line(pod)
            self._begin(budget, line)
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
        if line is not None and line.turn_of == pod:
            self._next(budget, line)

    def turn_of(self, budget: Key) -> str:
        """The pod whose turn it is; empty if it is nobody's."""
        line = self._lines.get(budget)
        return line.turn_of if line is not None else ""

    def _begin(self, budget: Key, line: _Line) -> None:
        loop = asyncio.get_running_loop()
        line.over = loop.call_later(LONGEST_TURN, self._next, budget, line)

    def _next(self, budget: Key, line: _Line) -> None:
        if line.over is not None:
            line.over.cancel()
        while line.waiting:
            pod, turn = line.waiting.popleft()
            if not turn.done():
                line.turn_of = pod
                turn.set_result(None)
                self._begin(budget, line)
                return
        if self._lines.get(budget) is line:
            del self._lines[budget]
