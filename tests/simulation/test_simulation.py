"""Gates, a recounting leader, drains, deletions, updates, failures and deaths, by the hundred.

A failing run prints its seed and its last events; `pytest tests/simulation --seed N` replays it.
"""

from collections import Counter

import pytest

from tests.simulation.broken import BROKEN
from tests.simulation.simulate import Failed, simulate

SEEDS = range(100)
PER_TEST = 25
ENOUGH = {
    "admissions": 1000,
    "denials": 1000,
    "deaths of a leader": 50,
    "gate conflicts": 50,
    "recount conflicts": 25,
    "updates": 150,
    "failures": 50,
    "drains": 150,
}
"""What must have happened over all seeds, at the least: a quiet world proves nothing."""

FOUND_SOON = (
    "surplus is not recorded",
    "a pod of a broken group is not recorded",
    "everybody recounts, from any store",
    "nothing is compared",
    "records by name",
)
"""Of the rules that can be broken, those that a hundred runs find; the others take a soak."""

_happened: Counter[str] = Counter()


@pytest.mark.usefixtures("quiet")
class TestSimulation:
    @pytest.mark.parametrize("first", range(0, len(SEEDS), PER_TEST))
    def test_no_budget_is_overspent_and_every_drain_ends(
        self, first: int, request: pytest.FixtureRequest
    ) -> None:
        chosen = request.config.getoption("--seed")
        seeds = SEEDS[first : first + PER_TEST] if chosen is None else [chosen]
        for seed in seeds:
            _happened.update(simulate(seed).counts)

    def test_much_has_happened(self, request: pytest.FixtureRequest) -> None:
        if request.config.getoption("--seed") is not None or not _happened:
            pytest.skip("one run alone says nothing about all of them")
        assert {what: _happened[what] for what in ENOUGH if _happened[what] < ENOUGH[what]} == {}

    def test_a_seed_replays_exactly(self) -> None:
        one, two = simulate(7), simulate(7)
        assert (one.digest, one.steps) == (two.digest, two.steps)
        assert simulate(8).digest != one.digest


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rule", FOUND_SOON)
def test_a_broken_rule_is_found(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BROKEN[rule].broken(monkeypatch)
    for seed in range(100):
        try:
            simulate(seed, BROKEN[rule].make)
        except Failed as failure:
            if "Violation" in str(failure).splitlines()[0]:
                return
    pytest.fail(f"100 runs did not notice that {rule}")
