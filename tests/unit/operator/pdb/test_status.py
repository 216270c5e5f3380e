"""The body of a status write: what it names, and what it leaves alone."""

import msgspec

from intact.model.meta import Condition
from intact.model.pdb import PdbMeta, PdbStatus, PodDisruptionBudget
from intact.operator.pdb.status import status_fields, status_patch

TIME = "2026-01-01T12:00:00Z"
BUDGET = PodDisruptionBudget(
    metadata=PdbMeta(
        name="b", namespace="ns", resource_version="7", annotations={"same": "x", "other": "y"}
    ),
    status=PdbStatus(disrupted_pods={"gone": TIME, "kept": TIME}),
)


def test_zeros_and_empty_texts_are_written_because_the_api_requires_them() -> None:
    status = PdbStatus(conditions=[Condition(type="DisruptionAllowed", status="False")])
    assert status_fields(status) == {
        "observedGeneration": 0,
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
        "conditions": [
            {"type": "DisruptionAllowed", "status": "False", "reason": "", "message": ""}
        ],
    }


def test_a_write_is_bound_to_the_version_and_names_what_goes() -> None:
    status = PdbStatus(current_healthy=2, disrupted_pods={"kept": TIME, "new": TIME})
    body = status_patch(BUDGET, status, {"same": "x", "other": None, "absent": None})
    assert body["metadata"] == {"resourceVersion": "7", "annotations": {"other": None}}
    assert body["status"]["disruptedPods"] == {"gone": None, "kept": TIME, "new": TIME}


def test_a_write_leaves_out_what_does_not_change() -> None:
    status = msgspec.structs.replace(BUDGET.status, current_healthy=2)
    body = status_patch(BUDGET, status, {"same": "x"})
    assert body["metadata"] == {"resourceVersion": "7"}
    assert "disruptedPods" not in body["status"]
