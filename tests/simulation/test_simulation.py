"""Hundreds of runs with gates, a leader that recounts, drains, deletions, updates and failures.

A failing run prints its seed and its last events; `pytest tests/simulation --seed N` replays it.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.broken import BROKEN, Rule, asleep, behind, often_restored, stale
from tests.simulation.many import Make, simulate_all
from tests.simulation.simulate import Failed, simulate

SEEDS = 200
FOUND_WITHIN = 60
"""Runs within which every broken rule must be found."""
ENOUGH = {
    "admissions": 3000,
    "denials": 5000,
    "taken": 1500,
    "refused by others": 1000,
    "deaths of a leader": 200,
    "deaths of a follower": 200,
    "gate conflicts": 250,
    "recount conflicts": 150,
    "updates": 600,
    "marks": 200,
    "failures": 600,
    "drains": 500,
    "forgeries": 1000,
    "restores": 50,
}
"""How often each event must have happened over all seeds: a quiet run proves nothing."""


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int | None:
    chosen: int | None = request.config.getoption("--seed")
    return chosen


@pytest.mark.usefixtures("quiet")
def test_no_budget_is_overspent_and_every_drain_ends(seed: int | None) -> None:
    if seed is not None:
        simulate(seed)
        return
    happened: Counter[str] = Counter()
    for result in simulate_all(range(SEEDS)):
        assert not isinstance(result, str), result
        happened.update(result.counts)
    assert {what: happened[what] for what in ENOUGH if happened[what] < ENOUGH[what]} == {}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("make", [stale, behind, asleep, often_restored])
def test_no_budget_is_overspent_where_stores_are_far_behind_or_wrong(
    make: Make, seed: int | None
) -> None:
    for result in simulate_all(range(20), make) if seed is None else [simulate(seed, make)]:
        assert not isinstance(result, str), result


def test_a_seed_replays_exactly() -> None:
    """Also in another process, with other hashes of strings."""
    program = "from tests.simulation.simulate import simulate; print(simulate(7).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for hashes in ("1", "2")
    }
    assert len(digests) == 1
    assert digests == {simulate(7).digest}
    assert simulate(8).digest not in digests


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rule", BROKEN.values(), ids=BROKEN)
def test_the_simulation_finds_a_broken_rule(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    rule.broken(monkeypatch)
    for seed in range(rule.first, rule.first + FOUND_WITHIN):
        try:
            simulate(seed, rule.make)
        except Failed as failure:
            if isinstance(failure.__cause__, rule.shows):
                return
    pytest.fail(f"{FOUND_WITHIN} runs did not notice the broken rule")
