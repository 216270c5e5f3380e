"""Processes that write to one budget take turns instead of colliding.

A collision costs both sides: the API server has worked for nothing, and the process that has lost
must read and decide everything again, and often loses again. So a process that has stored lets
another go first, if it has heard of one lately. They need not talk to each other: the next version
in the watch is the sign.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

_PATIENCE = 3
"""How many times in a row this process waits in vain before it takes itself to be alone."""
_SHORTEST = 0.02
_LONGEST = 0.3
"""Seconds to wait for another process; between these bounds, as long as four writes take."""


class Turn:
    def __init__(self) -> None:
        self._own = 0
        self._latest = 0
        self._took = 0.0
        self._patience = 0
        self._writing = False
        self._others = asyncio.Event()
        """Set if another process has stored the latest known version."""

    @contextmanager
    def write(self) -> Generator[None, None, None]:
        """Around the request to store. A version that the watch shows meanwhile may be this
        process's own: the watch is often ahead of the answer."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
            self._took = clock() - begun
            self._look()

    def stored(self, version: str) -> None:
        """This process has stored this version."""
        self._own = int(version)
        self._others.clear()

    def heard(self, version: str) -> None:
        """The watch or an answer shows this version; any process may have stored it."""
        self._latest = max(self._latest, int(version))
        if not self._writing:
            self._look()

    def _look(self) -> None:
        if self._latest > self._own:
            self._patience = _PATIENCE
            self._others.set()

    @property
    def is_shared(self) -> bool:
        """Whether other processes have stored lately."""
        return self._patience > 0

    async def come(self) -> None:
        """Wait until it is this process's turn, but not for long."""
        if self.is_shared and not self._others.is_set():
            try:
                async with asyncio.timeout(min(max(4 * self._took, _SHORTEST), _LONGEST)):
                    await self._others.wait()
            except TimeoutError:
                self._patience -= 1
