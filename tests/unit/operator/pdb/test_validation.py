"""The admission of budgets: bad settings are refused by name, doubtful ones are told."""

from typing import Any

import msgspec
import pytest

from intact.operator.pdb.validation import PdbValidation
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, Groups, holding
from tests.unit.operator.pdb.scene import PdbScene, counting
from tests.unit.operator.pub.scene import NS

BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
SCOPE, NEED = "intact.dev/budget-scope", "intact.dev/min-ready-replicas"


async def answer(
    validation: PdbValidation, labels: dict[str, str], annotations: dict[str, str], **spec: Any
) -> Any:
    meta = {"name": "b", "namespace": NS, "labels": labels, "annotations": annotations}
    spec = {"selector": {"matchLabels": {"app": "a"}}, **(spec or {"maxUnavailable": 1})}
    request = {
        "uid": "u",
        "operation": "CREATE",
        "namespace": NS,
        "object": {**BUDGET, "metadata": meta, "spec": spec},
    }
    return await validation.review(msgspec.Raw(msgspec.json.encode(request)))


def validation_of(scene: PdbScene) -> PdbValidation:
    return scene.pdb_controller.validation


@simulated
async def test_budgets_without_a_bad_setting_are_allowed_without_a_word() -> None:
    async with counting() as scene:
        for labels, annotations in (
            ({}, {}),
            ({}, {"example.com/note": "x"}),
            ({SCOPE: "Workload"}, {"intact.dev/group-label-key": "g", NEED: "2"}),
        ):
            found = await answer(validation_of(scene), labels, annotations)
            assert (found.allowed, found.warnings) == (True, [])


@simulated
async def test_every_bad_setting_is_named() -> None:
    async with counting() as scene:
        found = await answer(validation_of(scene), {SCOPE: "Pods"}, {NEED: "0"})
    assert not found.allowed
    assert (found.status.code, found.status.reason) == (422, "Invalid")
    assert [cause.field for cause in found.status.details.causes] == [
        "metadata.labels[intact.dev/budget-scope]",
        "metadata.annotations[intact.dev/min-ready-replicas]",
    ]
    assert found.status.message.startswith('PodDisruptionBudget "b" is invalid: metadata.labels')
    assert found.audit_annotations == {
        "decision": "denied",
        "budget": f"PodDisruptionBudget/{NS}/b",
        "reason": "Invalid",
    }


@pytest.mark.parametrize(
    ("labels", "annotations", "spec", "told"),
    [
        ({}, {NEED: "x"}, {}, "has no effect without the label intact.dev/budget-scope"),
        ({}, {SCOPE: "Workload"}, {}, "it is a label of PodDisruptionBudgets"),
        ({SCOPE: "Workload"}, {"intact.dev/min-ready": "2"}, {}, "is unknown to Intact"),
        ({SCOPE: "Workload"}, {}, {"maxUnavailable": 0}, "never allows a disruption"),
        ({SCOPE: "Workload"}, {}, {"minAvailable": "100%"}, "never allows a disruption"),
    ],
)
@simulated
async def test_what_has_no_effect_and_what_allows_nothing_is_a_warning(
    labels: dict[str, str], annotations: dict[str, str], spec: dict[str, Any], told: str
) -> None:
    async with counting() as scene:
        found = await answer(validation_of(scene), labels, annotations, **spec)
        assert found.allowed
        [text] = found.warnings
        assert told in text


@simulated
async def test_the_pods_that_are_there_are_held_against_the_need_and_the_amount() -> None:
    async with holding() as (scene, groups):
        await few(groups)
        validation = validation_of(scene)
        found = await answer(validation, {SCOPE: "Workload"}, {**BY_LABEL, NEED: "8"})
        assert found.warnings == [
            "groups need 8 pods, and the largest has 3: nothing of them may go until one has 8"
        ]
        found = await answer(validation, {SCOPE: "Workload"}, BY_LABEL, minAvailable=2)
        [text] = found.warnings
        assert "requires 2 groups to be available, of 2 that there should be" in text
        assert (await answer(validation, {SCOPE: "Workload"}, BY_LABEL)).warnings == []


@simulated
async def test_pods_that_were_just_created_are_counted_before_a_warning() -> None:
    async with holding() as (scene, groups):
        await groups.group("red", 2)
        await scene.settle()
        scene.api.faults.hold_watches()
        await groups.group("blue", 2)
        found = await answer(validation_of(scene), {SCOPE: "Workload"}, BY_LABEL, minAvailable=1)
        assert found.warnings == []


async def few(groups: Groups) -> None:
    await groups.group("red", 2)
    await groups.group("blue", 3)
    await groups.scene.settle()
