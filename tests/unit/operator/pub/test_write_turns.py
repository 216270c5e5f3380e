"""Processes that take turns: one that has stored lets another go first, but not for ever."""

import asyncio

import pytest

from intact.operator.pub.write_turns import Turn
from tests.unit.kube.simulated import simulated


async def waited(turn: Turn) -> float:
    begun = asyncio.get_running_loop().time()
    await turn.come()
    return asyncio.get_running_loop().time() - begun


async def store(turn: Turn, version: str, took: float = 0.01, ahead: str = "") -> None:
    """`ahead`: a version that the watch shows before the server has answered."""
    with turn.write():
        await asyncio.sleep(took)
        if ahead:
            turn.heard(ahead)
        turn.stored(version)


async def lose(turn: Turn, version: str) -> None:
    with turn.write():
        turn.heard(version)
        raise RuntimeError("a conflict")


@simulated
async def test_a_process_that_is_alone_never_waits() -> None:
    turn = Turn()
    for version in ("5", "6"):
        assert await waited(turn) == 0
        await store(turn, version)
        turn.heard(version)
    turn.heard("5")
    assert await waited(turn) == 0
    assert not turn.is_shared


@simulated
async def test_a_processs_own_version_is_not_anothers_though_the_watch_shows_it_first() -> None:
    turn = Turn()
    for version in ("5", "6"):
        await store(turn, version, ahead=version)
        assert await waited(turn) == 0
    assert not turn.is_shared


@simulated
async def test_another_process_may_store_before_the_answer_arrives() -> None:
    turn = Turn()
    await store(turn, "5", ahead="6")
    assert turn.is_shared
    assert await waited(turn) == 0


@simulated
async def test_a_process_that_has_lost_a_race_has_heard_of_another() -> None:
    turn = Turn()
    with pytest.raises(RuntimeError):
        await lose(turn, "6")
    assert turn.is_shared
    assert await waited(turn) == 0


@simulated
async def test_after_another_process_has_stored_the_turn_comes_at_once() -> None:
    turn = Turn()
    await store(turn, "5")
    turn.heard("6")
    assert turn.is_shared
    assert await waited(turn) == 0


@simulated
async def test_a_process_that_has_stored_waits_for_the_other() -> None:
    turn = Turn()
    turn.heard("5")
    await store(turn, "6", 0.03)
    asyncio.get_running_loop().call_later(0.05, turn.heard, "7")
    assert await waited(turn) == pytest.approx(0.05)


@pytest.mark.parametrize(("took", "wait"), [(0.001, 0.02), (0.02, 0.08), (5.0, 0.3)])
@simulated
async def test_a_process_waits_neither_long_nor_for_ever(took: float, wait: float) -> None:
    turn = Turn()
    turn.heard("5")
    await store(turn, "6", took)
    assert [await waited(turn) for _ in range(4)] == pytest.approx([wait, wait, wait, 0])
