"""Tests under simulated time."""

import asyncio
import functools
import random
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from intact.sandbox import run

P = ParamSpec("P")


def simulated(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs a coroutine test on a simulated loop, with the test's own `seed` if it has one."""

    @functools.wraps(test)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        seed = kwargs.get("seed")
        assert seed is None or isinstance(seed, int)
        run(test(*args, **kwargs), seed=seed, max_steps=5_000_000)

    return wrapper


def now() -> float:
    return asyncio.get_running_loop().time()


class NoJitter(random.Random):
    """With this a backoff's delay is its ceiling."""

    def random(self) -> float:
        return 1.0

    def getrandbits(self, k: int, /) -> int:
        return super().getrandbits(k)
