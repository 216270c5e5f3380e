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
        (["intact.dev/replicas", "intact.dev/group-label-key"], ["DisruptionAllowed"], False),
        (["intact.dev/ledger"], [], True),
        ([], ["DisruptionAllowed", "BudgetConfigured"], True),
    ],
)
def test_what_is_left_over(annotations: list[str], conditions: list[str], left_over: bool) -> None:
    assert is_left_over(budget_with(annotations, conditions)) == left_over
