"""The parts of a cluster run beside the block, and end with it."""

import asyncio

import pytest

from intact.sandbox.cluster import Sandbox


class Ticking:
    def __init__(self) -> None:
        self.ticks = 0
        self.ended = False

    async def run(self) -> None:
        try:
            while True:
                self.ticks += 1
                await asyncio.sleep(1)
        finally:
            self.ended = True


class Failing:
    async def run(self) -> None:
        raise RuntimeError("no more")


async def test_parts_run_beside_the_block_and_end_with_it() -> None:
    sandbox, part = Sandbox(), Ticking()
    sandbox.parts.append(part)
    async with sandbox.running():
        await asyncio.sleep(0)
        assert part.ticks == 1
    assert part.ended


async def test_a_part_that_fails_ends_the_block() -> None:
    sandbox = Sandbox()
    sandbox.parts.append(Failing())
    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        async with sandbox.running():
            await asyncio.Event().wait()
