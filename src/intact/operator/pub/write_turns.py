"""Replicas that write to one budget take turns instead of colliding.

A collision costs both sides: the API server has worked for nothing, and who has lost must read and
decide everything again, and often loses again. So whoever has stored lets another go first, if one
was heard of lately. Nobody has to be told: the next version in the watch is the sign.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

_PATIENCE = 3
"""How many times in a row nobody may come before this replica takes itself to be alone."""
_SHORTEST = 0.02
_LONGEST = 0.3
"""Seconds to wait for another; in between, as long as four writes take."""


class Turn:
    def __init__(self) -> None:
        self._own = 0
        self._latest = 0
        self._took = 0.0
        self._patience = 0
        self._writing = False
        self._others = asyncio.Event()
        """Set if somebody else has stored the latest version that is known."""

    @contextmanager
    def write(self) -> Generator[None, None, None]:
        """The block asks the server to store. What is heard meanwhile may be one's own version: the
        watch is often ahead of the answer."""
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
        """This replica has stored this version."""
        self._own = int(version)
        self._others.clear()

    def heard(self, version: str) -> None:
        """A version was seen, whoever has stored it."""
        self._latest = max(self._latest, int(version))
        if not self._writing:
            self._look()

    def _look(self) -> None:
        if self._latest > self._own:
            self._patience = _PATIENCE
            self._others.set()

    @property
    def is_shared(self) -> bool:
        """Whether others were heard of lately."""
        return self._patience > 0

    async def come(self) -> None:
        """Wait until it is this replica's turn, but not for long."""
        if self.is_shared and not self._others.is_set():
            try:
                async with asyncio.timeout(min(max(4 * self._took, _SHORTEST), _LONGEST)):
                    await self._others.wait()
            except TimeoutError:
                self._patience -= 1
