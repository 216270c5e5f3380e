"""What is read for views, once for all of them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from intact.cli.dashboard.lately import AGAIN, PATIENCE, Lately
from intact.kube.errors import KubeError
from intact.sandbox.loop import run


def counted(answers: list[object]) -> Callable[[], Awaitable[object]]:
    """Gives one answer after the other, and raises those that are errors."""

    async def read() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return read


def test_it_is_read_again_when_it_is_too_old() -> None:
    async def reading() -> list[object]:
        lately, read = Lately(), counted(["a", "b"])
        found = [await lately.read("x", 10.0, read) for _ in range(3)]
        await asyncio.sleep(10.0)
        return [*found, await lately.read("x", 10.0, read)]

    assert run(reading()) == ["a", "a", "a", "b"]


def test_several_views_do_not_push_each_other_out() -> None:
    async def reading() -> list[object]:
        lately, read = Lately(kept=2), counted([1, 2, 3, 4])
        return [await lately.read(key, 10.0, read) for key in "abababca"]

    assert run(reading()) == [1, 2, 1, 2, 1, 2, 3, 4]


def test_what_could_not_be_read_is_tried_again_soon() -> None:
    async def reading() -> object:
        lately, read = Lately(), counted([KubeError("forbidden"), "found"])
        for _ in range(2):
            with pytest.raises(KubeError, match="forbidden"):
                await lately.read("x", 1000.0, read)
        await asyncio.sleep(AGAIN)
        return await lately.read("x", 1000.0, read)

    assert run(reading()) == "found"


def test_a_server_that_says_nothing() -> None:
    async def reading() -> float:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(KubeError, match="no answer within 5 s"):
            await Lately().read("x", 1.0, asyncio.Event().wait)
        return asyncio.get_running_loop().time() - begun

    assert run(reading()) == PATIENCE
