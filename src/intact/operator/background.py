"""What runs beside the process's wait for its end, and the order in which it ends."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def in_background(
    watches: Coroutine[Any, Any, None], *parts: Coroutine[Any, Any, None]
) -> AsyncGenerator[None, None]:
    """Run all beside the block. If one fails, all end, with its error.

    The watches end last. Until the others have ended they may still decide, such as the webhooks
    about reviews that are under way, and without watches they would refuse them all.
    """
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watches)
        tasks = [group.create_task(part) for part in parts]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        watching.cancel()
