"""Evictions under one budget go in their order, few at a time, and none waits for ever."""

import asyncio

from intact.operator.pdb.turns import LONGEST_TURN, LONGEST_WAIT, Turns
from tests.unit.kube.simulated import simulated

BUDGET, OTHER = ("ns", "b"), ("ns", "c")


def now() -> float:
    return asyncio.get_running_loop().time()


@simulated
async def test_the_first_does_not_wait_and_the_others_come_in_their_order() -> None:
    turns = Turns(at_once=1)
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
        assert turns.going(BUDGET) == (pod,)
        turns.end(BUDGET, pod)
        await asyncio.sleep(0.01)
    assert gone == ["b", "c", "d"]
    turns.end(BUDGET, "d")
    assert turns.going(BUDGET) == ()
    assert await turns.wait(BUDGET, "e") is False
    await asyncio.gather(*waiting)


@simulated
async def test_two_go_at_once() -> None:
    turns = Turns()
    assert not await turns.wait(BUDGET, "a")
    assert not await turns.wait(BUDGET, "b")
    third, fourth = (asyncio.create_task(turns.wait(BUDGET, pod)) for pod in "cd")
    await asyncio.sleep(0.01)
    assert turns.going(BUDGET) == ("a", "b")
    turns.end(BUDGET, "b")
    assert await third
    assert turns.going(BUDGET) == ("a", "c")
    assert not fourth.done()
    turns.end(BUDGET, "a")
    assert await fourth
    assert turns.going(BUDGET) == ("c", "d")


@simulated
async def test_a_pod_that_is_asked_for_again_in_its_turn_has_one_turn() -> None:
    turns = Turns()
    await turns.wait(BUDGET, "a")
    await asyncio.sleep(LONGEST_TURN / 2)
    assert not await turns.wait(BUDGET, "a")
    assert turns.going(BUDGET) == ("a",)
    await asyncio.sleep(LONGEST_TURN * 0.75)
    assert turns.going(BUDGET) == ("a",)  # its time begins again
    turns.end(BUDGET, "a")
    assert turns.going(BUDGET) == ()


@simulated
async def test_another_budget_has_a_line_of_its_own() -> None:
    turns = Turns(at_once=1)
    await turns.wait(BUDGET, "a")
    assert await turns.wait(OTHER, "x") is False


@simulated
async def test_an_eviction_that_comes_to_nothing_holds_up_nobody_for_long() -> None:
    turns = Turns(at_once=1)
    await turns.wait(BUDGET, "a")
    begun = now()
    assert await turns.wait(BUDGET, "b") is True
    assert now() - begun <= LONGEST_TURN
    await asyncio.sleep(LONGEST_TURN)
    assert await turns.wait(BUDGET, "c") is False


@simulated
async def test_who_has_waited_too_long_goes_on_and_is_not_waited_for() -> None:
    turns = Turns(at_once=1)
    await turns.wait(BUDGET, "first")
    many = int(LONGEST_WAIT / LONGEST_TURN) + 5
    begun = now()
    waited = await asyncio.gather(*(turns.wait(BUDGET, f"{number}") for number in range(many)))
    assert all(waited)
    assert now() - begun <= LONGEST_WAIT + 0.1
    await asyncio.sleep(LONGEST_TURN + 0.1)
    assert turns.going(BUDGET) == ()


@simulated
async def test_a_client_that_hangs_up_leaves_the_line() -> None:
    turns = Turns(at_once=1)
    await turns.wait(BUDGET, "a")
    left = asyncio.create_task(turns.wait(BUDGET, "b"))
    stays = asyncio.create_task(turns.wait(BUDGET, "c"))
    await asyncio.sleep(0.01)
    left.cancel()
    await asyncio.sleep(0.01)
    turns.end(BUDGET, "a")
    assert turns.going(BUDGET) == ("c",)
    assert await stays is True
