"""A budget that no longer counts groups keeps nothing that Intact wrote for that."""

import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.model.meta import Condition
from intact.model.pdb import PdbMeta, PdbStatus, PodDisruptionBudget
from intact.operator.pdb.give_back import is_left_over
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, Groups, holding
from tests.unit.operator.pdb.scene import BUDGETS, counting
from tests.unit.operator.pub.scene import NS

WITHOUT_LABEL = {"metadata": {"labels": {SCOPE_LABEL: None}}}


@simulated
async def test_a_budget_that_loses_its_label_loses_everything_of_intact() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert scene.pdb_stored().metadata.annotations.keys() > BY_LABEL.keys()
        await scene.client.patch(BUDGETS, WITHOUT_LABEL, "b", NS)
        await scene.settle()
        assert scene.pdb_stored().metadata.annotations == BY_LABEL
        # What it keeps is its author's, and has no effect any more.
        said = [(each.type, each.reason) for each in scene.pdb_status().conditions][1:]
        assert said == [("BudgetConfigured", "WithoutEffect")]
        [event] = await scene.events("WithoutEffect")
        assert "intact.dev/group-label-key has no effect without the label" in event["message"]
        nothing = {"metadata": {"annotations": dict.fromkeys(BY_LABEL)}}
        await scene.client.patch(BUDGETS, nothing, "b", NS)
        await scene.settle()
        types = [each.type for each in scene.pdb_status().conditions]
        assert types == ["DisruptionAllowed"]
        await scene.set_status(disruptionsAllowed=1)
        assert scene.counters()[0] == 1


@simulated
async def test_where_pods_are_counted_too_only_the_ledger_goes() -> None:
    async with counting(groups=True, disruption=True) as scene:
        groups = Groups(scene)
        await groups.group("red")
        await groups.budget(minAvailable=1)
        assert groups.replicas() == (0, 1, 1, 1)
        await scene.client.patch(BUDGETS, WITHOUT_LABEL, "b", NS)
        await scene.settle()
        assert "intact.dev/ledger" not in scene.pdb_stored().metadata.annotations
        assert groups.replicas() == scene.counters() == (1, 2, 1, 2)


@simulated
async def test_a_write_that_loses_against_another_is_retried() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        scene.wire.delay = lambda request: 1.0 if request.method == "PATCH" else 0.0
        await scene.client.patch(BUDGETS, WITHOUT_LABEL, "b", NS)
        await scene.settle(0.5)  # the write is on its way
        await scene.edit(maxUnavailable=2)
        await scene.settle(10)
        assert scene.pdb_controller.group_writer.conflicts == 1
        assert not is_left_over(scene.pdb_stored())


def budget_with(annotations: list[str], conditions: list[str]) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=PdbMeta(name="b", annotations=dict.fromkeys(annotations, "{}")),
        status=PdbStatus(conditions=[Condition(type=each, status="True") for each in conditions]),
    )


@pytest.mark.parametrize(
    ("annotations", "conditions", "left_over"),
    [
        ([], [], False),
        (["intact.dev/replicas", "example.com/note"], ["DisruptionAllowed"], False),
        (["intact.dev/group-label-key"], ["DisruptionAllowed"], True),
        (["intact.dev/ledger"], [], True),
        ([], ["DisruptionAllowed", "BudgetConfigured"], True),
    ],
)
def test_what_is_left_over(annotations: list[str], conditions: list[str], left_over: bool) -> None:
    assert is_left_over(budget_with(annotations, conditions)) == left_over


@simulated
async def test_keys_without_effect_are_told_on_budgets_that_never_counted_groups() -> None:
    async with holding() as (scene, _groups):
        await scene.pdb("odd", labels={"intact.dev/budget-scpe": "Workload"}, maxUnavailable=1)
        await scene.pdb("plain", maxUnavailable=1)
        await scene.settle()
        [said] = scene.pdb_status("odd").conditions
        assert (said.type, said.status, said.reason) == (
            "BudgetConfigured",
            "False",
            "WithoutEffect",
        )
        assert "did you mean intact.dev/budget-scope?" in said.message
        assert scene.pdb_status("plain").conditions == []
        version = scene.pdb_stored("odd").metadata.resource_version
        await scene.settle(60)
        assert scene.pdb_stored("odd").metadata.resource_version == version
