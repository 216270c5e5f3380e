import asyncio

import pytest

from intact.operator.background import in_background


class Parts:
    """Watches, and a server that needs some time to finish what is under way."""

    def __init__(self) -> None:
        self.watching = False
        self.finished_with_watches: list[bool] = []

    async def watch(self) -> None:
        self.watching = True
        try:
            await asyncio.Event().wait()
        finally:
            self.watching = False

    async def serve(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            self.finished_with_watches.append(self.watching)


async def test_the_watches_end_after_all_others() -> None:
    parts = Parts()
    async with in_background(parts.watch(), parts.serve(), parts.serve()):
        await asyncio.sleep(0)
        assert parts.watching
    assert parts.finished_with_watches == [True, True]
    assert not parts.watching


async def test_a_part_that_fails_ends_all() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    parts = Parts()
    with pytest.raises(ExceptionGroup) as raised:
        async with in_background(parts.watch(), parts.serve(), fail()):
            await asyncio.Event().wait()
    assert [str(error) for error in raised.value.exceptions] == ["broken"]
    assert not parts.watching
