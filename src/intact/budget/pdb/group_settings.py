"""The settings of a PodDisruptionBudget that counts groups: a label and annotations.

Admission refuses a bad value. One that is older than Intact's webhook makes the budget fail closed.
"""

from dataclasses import dataclass

from intact.budget.enforcement import ENFORCEMENT, Enforcement
from intact.budget.pdb.scope import (
    GROUP_SCOPES,
    POD_SCOPE,
    SCOPE_LABEL,
    asks_by_field,
    scope_of,
)
from intact.model.amounts import MOST_REPLICAS, parse_count
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger
from intact.model.labels import is_label_key
from intact.model.pdb import PodDisruptionBudget

GROUP_LABEL_KEY = "intact.dev/group-label-key"
MIN_READY_REPLICAS = "intact.dev/min-ready-replicas"
EXPECTED_REPLICAS = "intact.dev/expected-replicas"
REPLICAS = "intact.dev/replicas"
LEDGER = "intact.dev/ledger"
WRITTEN = (REPLICAS, LEDGER)
"""Annotations that Intact writes with the status. They say nothing about how to count."""
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True)
class GroupSettings:
    label_key: str = ""
    """If empty, each pod refers to its group itself."""
    min_ready: int | None = None
    expected: int | None = None
    native: bool = False
    """Groups are those that an API server of KEP-5682 knows: PodGroups, and those of Workloads."""


def read_settings(budget: PodDisruptionBudget) -> GroupSettings:
    """A bad value counts as absent; `check_settings` reports it. The annotations are Intact's own:
    beside the field they have no effect."""
    if asks_by_field(budget):
        return GroupSettings(native=True)
    annotations = budget.metadata.annotations
    key = annotations.get(GROUP_LABEL_KEY, "")
    return GroupSettings(
        label_key=key if is_label_key(key) else "",
        min_ready=parse_count(annotations.get(MIN_READY_REPLICAS, "")) or None,
        expected=parse_count(annotations.get(EXPECTED_REPLICAS, "")),
    )


def check_settings(budget: PodDisruptionBudget) -> list[FieldError]:
    """What is wrong with the label and the annotations."""
    found = []
    scope = scope_of(budget)
    if asks_by_field(budget):
        return []
    if scope not in (*GROUP_SCOPES, POD_SCOPE):
        known = ", ".join((*GROUP_SCOPES, POD_SCOPE))
        found.append(
            FieldError(f"metadata.labels[{SCOPE_LABEL}]", scope, f"{scope!r} is not one of {known}")
        )
    annotations = budget.metadata.annotations
    key = annotations.get(GROUP_LABEL_KEY)
    if key is not None and not is_label_key(key):
        message = f"{key!r} is not a label key, such as app or example.com/shard"
        found.append(_error(GROUP_LABEL_KEY, key, message))
    for name, least in ((MIN_READY_REPLICAS, 1), (EXPECTED_REPLICAS, 0)):
        text = annotations.get(name)
        if text is None:
            continue
        number = parse_count(text)
        if number is None or number < least:
            message = f"{text!r} is not an integer from {least} to {MOST_REPLICAS}"
            found.append(_error(name, text, message))
    mode = annotations.get(ENFORCEMENT)
    if mode is not None and mode not in tuple(Enforcement):
        message = f"{mode!r} is not one of {', '.join(Enforcement)}"
        found.append(_error(ENFORCEMENT, mode, message))
    return found


def _error(name: str, value: str, message: str) -> FieldError:
    return FieldError(f"metadata.annotations[{name}]", value, message)


def rules_of(budget: PodDisruptionBudget) -> str:
    """Identifies a budget and its rules: a recount of another budget, or under other rules, is not
    valid. The generation does not change with annotations, and annotations may have been copied."""
    annotations = budget.metadata.annotations
    names = (GROUP_LABEL_KEY, MIN_READY_REPLICAS, EXPECTED_REPLICAS)
    values = [annotations.get(name, "") for name in names]
    return _SEPARATOR.join([budget.metadata.uid, str(budget.metadata.generation), *values])


def is_of(budget: PodDisruptionBudget, ledger: GroupLedger) -> bool:
    """Whether a ledger belongs to this budget, under whatever rules."""
    return ledger.rules.partition(_SEPARATOR)[0] == budget.metadata.uid


def groups_alike(budget: PodDisruptionBudget, ledger: GroupLedger) -> bool:
    """Whether a ledger was written when the budget formed its groups as it does now."""
    return ledger.rules.split(_SEPARATOR)[2:4] == rules_of(budget).split(_SEPARATOR)[2:4]
