"""What `/metrics` shows of PodDisruptionBudgets."""

from intact.operator.pdb.metrics import metrics_of_pdbs
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import LABELS, Groups
from tests.unit.operator.pdb.scene import PdbScene, counting


def samples(scene: PdbScene) -> dict[str, float]:
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for metric in metrics_of_pdbs(scene.pdb_controller)
        for sample in metric.samples
    }


@simulated
async def test_budgets_of_both_kinds_are_shown() -> None:
    async with counting(groups=True, disruption=True) as scene:
        nothing = samples(scene)
        assert set(nothing.values()) == {0}
        groups = Groups(scene)
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        await scene.pdb("pods", selector={"matchLabels": {"app": "b"}}, minAvailable=1)
        await scene.pod("lost", labels=LABELS)
        await scene.settle()
        shown = samples(scene)
        assert shown["disruption_controller_pdbs_using_pod_grouping"] == 1
        assert shown["disruption_controller_pdb_grouping_misconfig_total"] == 1
        assert shown["disruption_controller_reconciliations_total group"] >= 2
        assert shown["disruption_controller_reconciliations_total pod"] >= 1
        assert shown["intact_group_recount_writes_total"] >= 2
        assert shown["intact_disruption_writes_total"] == 1
        assert shown.keys() == nothing.keys()
