"""Native budgets in groups, by the dozen of seeds; and with rules broken on purpose."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from intact.budget.pdb import group_decision
from intact.budget.pdb import group_recount as budget_recount
from intact.budget.pdb.disrupted_pods import Standing
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import decide
from intact.budget.pdb.group_recount import Recounted
from intact.kube.reflector import Reflector
from intact.model.admission import AdmissionResponse
from intact.operator.pdb import group_recount, status_gate
from intact.operator.pdb.door import Door
from tests.simulation.group_truth import TooManyDown
from tests.simulation.groups import Course, simulate_groups

SEEDS = 25
FOUND_WITHIN = 60


@pytest.mark.usefixtures("quiet")
def test_never_more_groups_are_down_than_the_budget_allows_and_every_drain_ends() -> None:
    allowed = denied = leaders = failures = free = doors = 0
    for seed in range(SEEDS):
        course = simulate_groups(Course(seed))
        allowed, denied = allowed + course.allowed, denied + course.denied
        leaders += course.leaders
        failures += course.truth.failures
        free += course.truth.taken_while_down
        doors += course.asked[Door]
    assert allowed > 10 * SEEDS
    assert denied > 50 * SEEDS
    assert leaders > 3 * SEEDS
    assert failures > 2 * SEEDS
    assert free > SEEDS
    assert doors > 100 * SEEDS


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


def _broken_groups_are_free(patch: pytest.MonkeyPatch) -> None:
    """Whatever the policy says, and however few groups are available."""
    for module in (group_decision, budget_recount):
        patch.setattr(module, "is_free", lambda *_: True)


def _every_need_is_proven(patch: pytest.MonkeyPatch) -> None:
    """A group counts as broken, not as misconfigured, if it never had as many pods as it needs."""

    def believing(*args: Any, **options: Any) -> Recounted:
        counts: GroupCounts = args[2]
        counts.reached |= counts.needs_of_all().keys()
        return budget_recount.recount(*args, **options)

    patch.setattr(group_recount, "recount", believing)


@dataclass(frozen=True, slots=True)
class Rule:
    broken: Callable[[pytest.MonkeyPatch], None]
    reachable: bool = True
    failing: bool = False
    lags: tuple[float, ...] = ()


BROKEN: dict[str, Rule] = {
    "nothing is spent": Rule(_nothing_is_spent),
    "the stock controller's writes pass": Rule(_stock_writes_pass),
    "records are cleared before the pod is seen to go": Rule(_records_are_cleared_at_once),
    "a leader's store may be behind": Rule(_a_leader_may_be_behind, lags=(0.02, 8.0)),
    "a gate's store may be behind": Rule(_a_gate_may_be_behind, lags=(0.02, 8.0)),
    "pods of broken groups are free": Rule(_broken_groups_are_free, failing=True),
    "every need is proven": Rule(_every_need_is_proven, reachable=False),
}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rule", BROKEN.values(), ids=BROKEN)
def test_the_simulation_finds_a_broken_rule_of_groups(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule.broken(monkeypatch)
    for seed in range(FOUND_WITHIN):
        try:
            simulate_groups(Course(seed, rule.reachable, rule.failing, rule.lags))
        except TooManyDown:
            return
    pytest.fail(f"{FOUND_WITHIN} runs did not notice it")
