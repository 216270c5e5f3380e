"""What Intact writes into annotations, and reads back from them."""

import json

import pytest

from intact.budget.pdb.annotations import annotations_of, ledger_of, read_ledger
from intact.budget.pdb.group_settings import rules_of
from intact.model.group_ledger import GroupLedger, GroupRecord
from tests.unit.budget.pdb.group_cases import a_budget


def test_a_ledger_is_written_and_read_back_with_its_counters() -> None:
    ledger = GroupLedger(
        pods={"x": GroupRecord(uid="u", group="g", version="7")},
        needs={3: 2},
        allowed=1,
        available=2,
        desired=1,
        expected=4,
        rules=rules_of(a_budget()),
    )
    written = annotations_of(ledger)
    assert json.loads(written["intact.dev/replicas"]) == {
        "disruptionsAllowedReplicas": 1,
        "currentHealthyReplicas": 2,
        "desiredHealthyReplicas": 1,
        "expectedReplicas": 4,
    }
    budget = a_budget(ledger=written["intact.dev/ledger"])
    assert read_ledger(budget) == ledger_of(budget) == ledger


@pytest.mark.parametrize("text", ["", "x", '{"pods": 1}', '{"x": ' + "[" * 5000])
def test_a_text_that_is_no_ledger(text: str) -> None:
    budget = a_budget(ledger=text)
    assert read_ledger(budget) is None
    assert ledger_of(budget) == GroupLedger()


def test_a_budget_without_the_annotation_has_no_ledger() -> None:
    assert read_ledger(a_budget()) is None


def test_a_ledger_that_was_copied_from_another_budget_is_none() -> None:
    copied = GroupLedger(allowed=1, rules="another|1|||")
    budget = a_budget(ledger=annotations_of(copied)["intact.dev/ledger"])
    assert read_ledger(budget) == copied
    assert ledger_of(budget) == GroupLedger()
