"""Runs of the RoleBasedGroup controller: edits by users, meddling by others, leaders that die.

A failing run prints its course; `pytest tests/simulation/rbg --seed N` replays it, and
`python -m tests.simulation --only-rbg --seeds 2000` runs many.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.many import simulate_all_rbg
from tests.simulation.rbg.broken import BROKEN, Rule
from tests.simulation.rbg.simulate import simulate_rbg
from tests.simulation.simulate import Failed

SEEDS = 12
FOUND_WITHIN = 12
"""Runs within which every broken rule must be found."""
ENOUGH = {
    "writes": 800,
    "evictions": 10,
    "deaths of a leader": 10,
    "workloads deleted": 5,
}
"""How often each event must have happened over all seeds: a quiet run proves nothing."""


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int | None:
    chosen: int | None = request.config.getoption("--seed")
    return chosen


@pytest.mark.usefixtures("quiet")
def test_no_role_loses_more_than_its_rules_allow_and_all_comes_to_rest(seed: int | None) -> None:
    if seed is not None:
        simulate_rbg(seed)
        return
    happened: Counter[str] = Counter()
    for result in simulate_all_rbg(range(SEEDS)):
        assert not isinstance(result, str), result
        happened.update(result.counts)
    assert {what: happened[what] for what in ENOUGH if happened[what] < ENOUGH[what]} == {}


def test_a_seed_replays_exactly() -> None:
    """Also in another process, with other hashes of strings."""
    program = (
        "from tests.simulation.rbg.simulate import simulate_rbg; print(simulate_rbg(4).digest)"
    )
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
    assert digests == {simulate_rbg(4).digest}
    assert simulate_rbg(5).digest not in digests


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rule", BROKEN.values(), ids=BROKEN)
def test_the_simulation_finds_a_broken_rule(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    rule.broken(monkeypatch)
    for seed in range(rule.first, rule.first + FOUND_WITHIN):
        try:
            simulate_rbg(seed, rule.make)
        except Failed as failure:
            if isinstance(failure.__cause__, rule.shows):
                return
    pytest.fail(f"{FOUND_WITHIN} runs did not notice the broken rule")
