"""Waiting for the cluster while the picture goes on."""

import asyncio
from collections.abc import Callable

from demo.errors import DemoError
from demo.stage import Stage

TICK = 0.1
"""Seconds between two looks."""


async def until(
    stage: Stage, condition: Callable[[], bool], what: str, within: float, show: Callable[[], None]
) -> None:
    """Look again and again, and show each look; fail after `within` seconds, or if Intact ends."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + within
    while not condition():
        if problem := stage.intact_failure():
            raise DemoError(problem)
        if clock() > deadline:
            raise DemoError(f"timed out after {within:.0f} s waiting for {what}")
        show()
        await asyncio.sleep(TICK)
