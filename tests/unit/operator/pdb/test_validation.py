"""The admission of budgets: bad settings are refused by name, all else is allowed."""

from typing import Any

import msgspec
import pytest

from intact.operator.pdb.validation import review

BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}


async def answer(labels: dict[str, str], annotations: dict[str, str]) -> Any:
    meta = {"name": "b", "namespace": "ns", "labels": labels, "annotations": annotations}
    request = {"uid": "u", "operation": "CREATE", "object": {**BUDGET, "metadata": meta}}
    return await review(msgspec.Raw(msgspec.json.encode(request)))


SCOPE, NEED = "intact.dev/budget-scope", "intact.dev/min-ready-replicas"
ALLOWED = {
    "no label": ({}, {}),
    "a bad value on a budget that counts pods": ({}, {NEED: "x"}),
    "groups": ({SCOPE: "Workload"}, {NEED: "2"}),
}


@pytest.mark.parametrize(("labels", "annotations"), ALLOWED.values(), ids=ALLOWED)
async def test_budgets_without_a_bad_setting_are_allowed(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    assert (await answer(labels, annotations)).allowed


async def test_every_bad_setting_is_named() -> None:
    found = await answer({SCOPE: "Pods"}, {NEED: "0"})
    assert not found.allowed
    assert (found.status.code, found.status.reason) == (422, "Invalid")
    assert [cause.field for cause in found.status.details.causes] == [
        "metadata.labels[intact.dev/budget-scope]",
        "metadata.annotations[intact.dev/min-ready-replicas]",
    ]
    assert found.status.message.startswith('PodDisruptionBudget "b" is invalid: metadata.labels')
