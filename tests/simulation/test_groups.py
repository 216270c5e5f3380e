"""Native budgets in groups, by the dozen of seeds; and with rules broken on purpose."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from intact.budget.pdb.disrupted_pods import Standing
from intact.budget.pdb.group_decision import decide
from intact.kube.reflector import Reflector
from intact.model.admission import AdmissionResponse
from intact.operator.pdb import group_recount, status_gate
from tests.simulation.group_truth import TooManyDown
from tests.simulation.groups import simulate_groups

SEEDS = 25
FOUND_WITHIN = 60


@pytest.mark.usefixtures("quiet")
def test_never_more_groups_are_down_than_the_budget_allows() -> None:
    allowed = denied = leaders = 0
    for seed in range(SEEDS):
        course = simulate_groups(seed)
        allowed, denied = allowed + course.allowed, denied + course.denied
        leaders += course.leaders
    assert allowed > 10 * SEEDS
    assert denied > 50 * SEEDS
    assert leaders > 3 * SEEDS


def _nothing_is_spent(patch: pytest.MonkeyPatch) -> None:
    """Neither is a group taken from the ledger, nor is the live count looked at."""

    def free(budget: Any, ledger: Any, pod: Any, live: Any, now: Any) -> Any:
        rich = msgspec.structs.replace(ledger, allowed=99)
        return decide(budget, rich, pod, replace(live, needs={1: 99}), now)

    patch.setattr(status_gate, "decide", free)


def _stock_writes_pass(patch: pytest.MonkeyPatch) -> None:
    """And every decision believes what is stored."""
    _nothing_is_spent(patch)
    patch.setattr(status_gate, "patched", lambda _: AdmissionResponse(allowed=True))


def _records_are_cleared_at_once(patch: pytest.MonkeyPatch) -> None:
    def forget(*_args: Any, **_kwargs: Any) -> Standing:
        return Standing({}, (), ())

    patch.setattr(group_recount, "look_again", forget)


def _a_leader_may_be_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(group_recount, "is_current", lambda *_: True)
    patch.setattr(Reflector, "list_again", lambda _: None)


def _a_gate_may_be_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(status_gate, "is_current", lambda *_: True)


BROKEN: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "nothing is spent": _nothing_is_spent,
    "the stock controller's writes pass": _stock_writes_pass,
    "records are cleared before the pod is seen to go": _records_are_cleared_at_once,
    "a leader's store may be behind": _a_leader_may_be_behind,
    "a gate's store may be behind": _a_gate_may_be_behind,
}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_the_simulation_finds_a_broken_rule_of_groups(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    for seed in range(FOUND_WITHIN):
        try:
            simulate_groups(seed)
        except BaseExceptionGroup as failure:
            if failure.subgroup(TooManyDown):
                return
            raise
    pytest.fail(f"{FOUND_WITHIN} runs did not notice it")
