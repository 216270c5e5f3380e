"""What is read only for the views that people look at, once for all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from math import inf
from typing import Any, TypeVar

from intact.kube.errors import KubeError, Unreachable

AGAIN = 2.0
"""Seconds after which is read again what could not be read."""
PATIENCE = 5.0
"""Seconds for an answer: a reader waits for the page."""
KEPT = 16
T = TypeVar("T")


class Lately:
    """`kept`, of the last keys."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._known: dict[Hashable, tuple[float, Any]] = {}
        """When it is too old, and what was read or what went wrong."""

    async def read(self, key: Hashable, lasts: float, read: Callable[[], Awaitable[T]]) -> T:
        """Not older than `lasts` seconds. Raises `KubeError`."""
        clock = asyncio.get_running_loop().time
        until, known = self._known.get(key, (-inf, None))
        if clock() >= until:
            known = await _read(read)
            self._known.pop(key, None)
            self._known[key] = clock() + (AGAIN if isinstance(known, KubeError) else lasts), known
            if len(self._known) > self._kept:
                del self._known[next(iter(self._known))]
        if isinstance(known, KubeError):
            raise KubeError(str(known))
        found: T = known
        return found


async def _read(read: Callable[[], Awaitable[T]]) -> T | KubeError:
    try:
        async with asyncio.timeout(PATIENCE):
            return await read()
    except TimeoutError:
        return Unreachable(f"no answer within {PATIENCE:.0f} s")
    except KubeError as error:
        return error
