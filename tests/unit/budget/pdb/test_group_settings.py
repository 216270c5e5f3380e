"""The settings of a budget that counts groups, and which ledger was written under them."""

import msgspec
import pytest

from intact.budget.pdb.group_settings import (
    GroupSettings,
    check_settings,
    groups_alike,
    is_of,
    read_settings,
    rules_of,
)
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from tests.unit.budget.pdb.group_cases import a_budget


@pytest.mark.parametrize(
    ("scope", "annotations", "problem"),
    [
        ("Workload", {}, ""),
        ("PodGroup", {"group_label_key": "a.io/b", "min_ready_replicas": "2"}, ""),
        ("Pods", {}, "'Pods' is not one of Workload, PodGroup, Pod"),
        ("", {}, "'' is not one of Workload, PodGroup, Pod"),
        ("Workload", {"group_label_key": ""}, "'' is not a label key"),
        ("Workload", {"min_ready_replicas": "0"}, "'0' is not an integer from 1"),
        ("Workload", {"min_ready_replicas": "1.5"}, "'1.5' is not an integer from 1"),
        ("Workload", {"expected_replicas": "-1"}, "'-1' is not an integer from 0"),
    ],
)
def test_bad_settings_are_named(scope: str, annotations: dict[str, str], problem: str) -> None:
    budget = a_budget(1, scope=scope, **annotations)  # type: ignore[arg-type]
    found = check_settings(budget)
    assert [problem in str(error) for error in found] == ([True] if problem else [])
    assert read_settings(budget).min_ready == (2 if "2" in annotations.values() else None)


def test_settings_are_read_from_annotations() -> None:
    budget = a_budget(group_label_key="shard", min_ready_replicas="3", expected_replicas="0")
    assert read_settings(budget) == GroupSettings(label_key="shard", min_ready=3, expected=0)
    assert read_settings(a_budget()) == GroupSettings()


BUDGET = a_budget(1, group_label_key="shard", min_ready_replicas="2", expected_replicas="4")
OTHER_UID = msgspec.structs.replace(
    BUDGET, metadata=msgspec.structs.replace(BUDGET.metadata, uid="another")
)
LATER = msgspec.structs.replace(
    BUDGET, metadata=msgspec.structs.replace(BUDGET.metadata, generation=2)
)


@pytest.mark.parametrize(
    ("budget", "same_rules", "same_budget", "same_groups"),
    [
        (BUDGET, True, True, True),
        (LATER, False, True, True),
        (OTHER_UID, False, False, True),
        (
            a_budget(group_label_key="shard", min_ready_replicas="2", expected_replicas="5"),
            False,
            True,
            True,
        ),
        (
            a_budget(group_label_key="shard", min_ready_replicas="3", expected_replicas="4"),
            False,
            True,
            False,
        ),
        (
            a_budget(group_label_key="app", min_ready_replicas="2", expected_replicas="4"),
            False,
            True,
            False,
        ),
    ],
    ids=["itself", "generation", "uid", "expected", "need", "label"],
)
def test_what_a_change_makes_of_a_ledger(
    budget: PodDisruptionBudget, same_rules: bool, same_budget: bool, same_groups: bool
) -> None:
    ledger = GroupLedger(rules=rules_of(BUDGET))
    assert (rules_of(budget) == ledger.rules) == same_rules
    assert is_of(budget, ledger) == same_budget
    assert groups_alike(budget, ledger) == same_groups
