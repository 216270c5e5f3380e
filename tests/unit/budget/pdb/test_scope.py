"""What a budget counts, by its label or its field."""

import msgspec
import pytest

from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods, scope_of
from intact.model.pdb import PodDisruptionBudget

CASES = {
    "neither": (None, None, "Pod"),
    "label": ("Workload", None, "Workload"),
    "field": (None, "PodGroup", "PodGroup"),
    "the field overrides the label": ("Pod", "PodGroup", "PodGroup"),
    "the default of the field does not": ("Workload", "Pod", "Workload"),
    "an empty label is a value": ("", "Pod", ""),
    "an unknown word": ("Pods", None, "Pods"),
}


@pytest.mark.parametrize(("label", "field", "scope"), CASES.values(), ids=CASES)
def test_the_scope_of_a_budget(label: str | None, field: str | None, scope: str) -> None:
    labels = {} if label is None else {SCOPE_LABEL: label}
    body = {"metadata": {"name": "b", "labels": labels}, "spec": {"budgetScope": field}}
    budget = msgspec.convert(body, PodDisruptionBudget)
    assert scope_of(budget) == scope
    assert counts_pods(budget) == (scope == "Pod")
