"""Which labels and annotations of a PodDisruptionBudget are told to have no effect."""

import msgspec
import pytest

from intact.budget.pdb.ineffective import ineffective
from tests.unit.budget.pdb.group_cases import a_budget

SCOPE = "intact.dev/budget-scope"
KEY = "intact.dev/group-label-key"
NO_SCOPE = f"the annotation {KEY} has no effect without the label {SCOPE}: the budget counts pods"
AS_ANNOTATION = (
    f"the annotation {SCOPE} of a PodDisruptionBudget has no effect: it is a label of "
    "PodDisruptionBudgets"
)
SLIP = (
    "the annotation intact.dev/min-ready-replica is unknown to Intact and has no effect; did you "
    "mean intact.dev/min-ready-replicas?"
)


@pytest.mark.parametrize(
    ("labels", "annotations", "told"),
    [
        ({}, {}, []),
        ({"app": "a"}, {"example.com/note": "x", "intact.dev/replicas": "{}"}, []),
        ({}, {"intact.dev/ledger": "{}"}, []),
        ({SCOPE: "Workload"}, {KEY: "shard"}, []),
        ({}, {KEY: "shard"}, [NO_SCOPE]),
        # Whoever says Pod knows what the annotations are for.
        ({SCOPE: "Pod"}, {KEY: "shard"}, []),
        ({}, {SCOPE: "Workload"}, [AS_ANNOTATION]),
        ({SCOPE: "Workload"}, {"intact.dev/min-ready-replica": "2"}, [SLIP]),
        ({}, {SCOPE: "Workload", KEY: "shard"}, [AS_ANNOTATION, NO_SCOPE]),
    ],
)
def test_what_is_told(labels: dict[str, str], annotations: dict[str, str], told: list[str]) -> None:
    budget = a_budget(1)
    meta = msgspec.structs.replace(budget.metadata, labels=labels, annotations=annotations)
    assert ineffective(msgspec.structs.replace(budget, metadata=meta)) == told


def test_a_misspelt_scope_label_is_told() -> None:
    budget = a_budget(1)
    meta = msgspec.structs.replace(budget.metadata, labels={"intact.dev/budget-scpe": "Workload"})
    [text] = ineffective(msgspec.structs.replace(budget, metadata=meta))
    assert text.endswith(f"did you mean {SCOPE}?")
