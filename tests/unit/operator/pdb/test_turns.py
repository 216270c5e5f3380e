"""Evictions under one budget go one after the other, and none waits for ever."""

import asyncio

from intact.operator.pdb.turns import LONGEST_TURN, LONGEST_WAIT, Turns
from tests.unit.kube.simulated import simulated

BUDGET, OTHER = ("ns", "b"), ("ns", "c")


def now() -> float:
    return asyncio.get_running_loop().time()


@simulated
async def test_the_first_does_not_wait_and_the_others_come_in_their_order() -> None:
    turns = Turns()
    gone: list[str] = []

    async def go(pod: str) -> None:
        await turns.wait(BUDGET, pod)
        gone.append(pod)

    assert await turns.wait(BUDGET, "a") is False
    waiting = [asyncio.create_task(go(pod)) for pod in "bcd"]
    await asyncio.sleep(0.01)
    assert gone == []
    turns.end(BUDGET, "c")  # it is not its turn
    await asyncio.sleep(0.01)
    assert gone == []
    for pod in "abc":
        assert turns.turn_of(BUDGET) == pod
        turns.end(BUDGET, pod)
        await asyncio.sleep(0.01)
    assert gone == ["b", "c", "d"]
    turns.end(BUDGET, "d")
    assert turns.turn_of(BUDGET) == ""
    assert await turns.wait(BUDGET, "e") is False
    await asyncio.gather(*waiting)


@simulated
async def test_another_budget_has_a_line_of_its_own() -> None:
    turns = Turns()
    await turns.wait(BUDGET, "a")
    assert await turns.wait(OTHER, "x") is False


@simulated
async def test_an_eviction_that_comes_to_nothing_holds_up_nobody_for_long() -> None:
    turns = Turns()
    await turns.wait(BUDGET, "a")
    begun = now()
    assert await turns.wait(BUDGET, "b") is True
    assert now() - begun <= LONGEST_TURN
    await asyncio.sleep(LONGEST_TURN)
    assert await turns.wait(BUDGET, "c") is False


@simulated
async def test_who_has_waited_too_long_goes_on_and_is_not_waited_for() -> None:
    turns = Turns()
    await turns.wait(BUDGET, "first")
    many = int(LONGEST_WAIT / LONGEST_TURN) + 5
    begun = now()
    waited = await asyncio.gather(*(turns.wait(BUDGET, f"{number}") for number in range(many)))
    assert all(waited)
    assert now() - begun <= LONGEST_WAIT + 0.1
    await asyncio.sleep(LONGEST_TURN + 0.1)
    assert turns.turn_of(BUDGET) == ""


@simulated
async def test_a_client_that_hangs_up_leaves_the_line() -> None:
    turns = Turns()
    await turns.wait(BUDGET, "a")
    left = asyncio.create_task(turns.wait(BUDGET, "b"))
    stays = asyncio.create_task(turns.wait(BUDGET, "c"))
    await asyncio.sleep(0.01)
    left.cancel()
    await asyncio.sleep(0.01)
    turns.end(BUDGET, "a")
    assert turns.turn_of(BUDGET) == "c"
    assert await stays is True
