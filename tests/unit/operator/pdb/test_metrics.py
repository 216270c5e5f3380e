"""What `/metrics` shows of PodDisruptionBudgets."""

import asyncio

import pytest

from intact.operator.pdb.metrics import metrics_of_pdbs
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import LABELS, Groups, holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import NS


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
        assert {name for name in shown if "intact_pdb_" not in name} == nothing.keys()


@simulated
async def test_a_budget_in_groups_shows_its_groups_and_its_denials() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)

        def shown() -> dict[str, float]:
            return {
                sample.name + sample.labels.get("reason", ""): sample.value
                for metric in metrics_of_pdbs(scene.pdb_controller)
                for sample in metric.samples
                if sample.labels.get("budget") == "b" and sample.labels["namespace"] == NS
            }

        units = {"total": 3.0, "available": 3.0, "desired": 2.0, "allowed": 1.0}
        standing = {"working": 1.0, "never_allows": 0.0, "oldest_refusal_seconds": 0.0}
        assert shown() == {
            **{f"intact_pdb_{name}_groups": number for name, number in units.items()},
            **{f"intact_pdb_{name}": number for name, number in standing.items()},
        }
        assert await scene.evict("red-0") == 200
        await groups.denial("blue-0")
        await scene.settle()
        assert shown()["intact_pdb_available_groups"] == 2
        assert shown()["intact_pdb_allowed_groups"] == 0
        assert shown()["intact_pdb_denials_totalBudgetExhausted"] == 1
        assert shown()["intact_pdb_oldest_refusal_seconds"] > 0
        await scene.client.delete(BUDGETS, "b", NS)
        await scene.settle()
        assert shown() == {}


@simulated
async def test_a_budget_in_groups_shows_whether_it_works_and_can_ever_allow() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=0)
        await scene.settle()
        shown = samples(scene)
        assert shown[f"intact_pdb_never_allows {NS} b"] == 1
        assert shown[f"intact_pdb_working {NS} b"] == 1
        await scene.edit(maxUnavailable=1)
        await scene.pod("lost", labels=LABELS)
        await scene.settle()
        shown = samples(scene)
        assert shown[f"intact_pdb_working {NS} b"] == 0, "a pod has no group"


@simulated
async def test_the_oldest_refusal_of_a_budget_in_groups_ends_with_its_pod() -> None:
    async with holding(door=True) as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        await scene.settle()
        await scene.set_ready("red-0", False)
        await scene.settle()
        await groups.denial("blue-0")
        await asyncio.sleep(30)
        name = f"intact_pdb_oldest_refusal_seconds {NS} b"
        assert samples(scene)[name] == pytest.approx(30, abs=1)
        await scene.set_ready("red-0")
        await scene.settle()
        assert await scene.evict("blue-0") in (200, 201)
        await scene.settle()
        assert samples(scene)[name] == 0
