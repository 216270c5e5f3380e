"""A recount waits for a pause between evictions, but not for long."""

import asyncio

from intact.operator.pdb.pauses import LONGEST, QUIET, Pauses
from tests.unit.kube.simulated import simulated

BUDGET = ("ns", "b")


@simulated
async def test_without_evictions_nothing_waits() -> None:
    pauses = Pauses()
    assert pauses.wait(BUDGET) == 0
    pauses.evicted(BUDGET)
    await asyncio.sleep(QUIET)
    assert pauses.wait(BUDGET) == 0


@simulated
async def test_a_recount_waits_until_no_eviction_has_come_for_a_moment() -> None:
    pauses = Pauses()
    pauses.evicted(BUDGET)
    await asyncio.sleep(QUIET / 2)
    assert 0 < pauses.wait(BUDGET) <= QUIET / 2
    assert pauses.wait(("ns", "other")) == 0
    pauses.evicted(BUDGET)
    await asyncio.sleep(QUIET / 2)
    assert pauses.wait(BUDGET) > 0
    await asyncio.sleep(QUIET / 2)
    assert pauses.wait(BUDGET) == 0


@simulated
async def test_a_flow_without_end_holds_up_no_recount_for_long() -> None:
    pauses = Pauses()
    waited = 0.0
    while True:
        pauses.evicted(BUDGET)
        if not (delay := pauses.wait(BUDGET)):
            break
        waited += delay
        await asyncio.sleep(delay)
        assert waited <= LONGEST + QUIET
    assert waited >= LONGEST - QUIET


@simulated
async def test_a_budget_that_is_forgotten_is_new() -> None:
    pauses = Pauses()
    pauses.evicted(BUDGET)
    pauses.forget(BUDGET)
    assert pauses.wait(BUDGET) == 0
