"""What the page shows with --sandbox, in simulated time."""

from contextlib import aclosing
from datetime import datetime, timedelta

import pytest

from intact.cli.dashboard.show import Show
from intact.model.times import parse_time
from intact.sandbox.loop import run, wall_clock
from intact.sandbox.scene.shards import SHARDS

LONG_ENOUGH = 120.0
"""Seconds of its own time: two drains and two rollouts take 84."""


async def played() -> tuple[list[str], list[str]]:
    """What it says that is going on, in order, and each budget that was below what it requires."""
    show = Show(clock=wall_clock())
    said: list[str] = []
    whole: set[str] = set()
    broken = []
    async with show.running(), aclosing(show.moments()) as moments:
        async for moment in moments:
            if show.caption not in said:
                said.append(show.caption)
            for one in moment.picture.budgets:
                if one.current == len(SHARDS):
                    whole.add(one.reference)
                elif one.reference in whole and one.current < one.desired:
                    broken.append(one.reference)
            if show.caption == "version 3 runs":
                assert whole == {"pub/llm", "pdb/llm"}
                return said, broken
    raise AssertionError("it ended")


async def told() -> list[datetime]:
    """When those evictions were refused that the page still tells of in the third drain."""
    show = Show(clock=wall_clock())
    async with show.running(), aclosing(show.moments()) as moments:
        async for moment in moments:
            if show.caption.startswith("kubectl drain node-2"):
                budgets = moment.picture.budgets
                found = [await show.refused(budget) for budget in budgets]
                return [parse_time(one.last) for each in found for one in each]
    raise AssertionError("it ended")


def test_it_forgets_events_as_clusters_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intact.cli.dashboard.show.EVENTS_KEPT", timedelta(seconds=30))
    found = run(told(), seed=1, max_time=LONG_ENOUGH)
    assert found
    assert max(found) - min(found) < timedelta(seconds=30)


def test_it_drains_and_rolls_out_over_and_over_within_its_budgets() -> None:
    said, broken = run(played(), seed=1, max_time=LONG_ENOUGH)
    assert said == [
        "the first pods start",
        "kubectl drain node-0: of each budget, one shard may be down",
        "node-0 is drained, and comes back soon",
        "version 2 for both roles, in step",
        "version 2 runs",
        "kubectl drain node-1: of each budget, one shard may be down",
        "node-1 is drained, and comes back soon",
        "version 3 for both roles, in step",
        "version 3 runs",
    ]
    assert broken == []
