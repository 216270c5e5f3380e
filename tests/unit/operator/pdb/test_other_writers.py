"""Other writers of the status of budgets that Intact counts are noticed and named."""

from intact.model.pdb import ManagedFields, PdbMeta, PodDisruptionBudget
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import NS

A = {"app": "a"}


@simulated
async def test_another_writer_is_named() -> None:
    async with counting() as scene:
        await scene.pdb(minAvailable=1)
        await scene.pods("p", "q", labels=A)
        await scene.settle()
        assert scene.pdb_controller.other_writers.seen == 0
        await scene.client.patch(
            BUDGETS,
            {"status": {"currentHealthy": 7}},
            "b",
            NS,
            subresource="status",
            field_manager="kube-controller-manager",
        )
        await scene.settle()
        assert scene.counters() == (1, 2, 1, 2)
        assert scene.pdb_controller.other_writers.seen == 1
        [event] = await scene.events("OtherStatusWriter")
        assert event["message"].startswith("kube-controller-manager writes the status")


@simulated
async def test_evictions_are_no_other_writer() -> None:
    async with counting() as scene:
        await scene.pdb(minAvailable=1)
        await scene.pods("p", "q", labels=A)
        await scene.settle()
        assert await scene.evict("p") == 200
        await scene.settle()
        assert scene.pdb_controller.other_writers.seen == 0


def test_a_manager_that_had_written_before_is_not_new() -> None:
    scene = PdbScene()
    meta = PdbMeta(
        name="b",
        namespace=NS,
        managed_fields=[ManagedFields(manager="x", subresource="status", time="t")],
    )
    budget = PodDisruptionBudget(metadata=meta)
    writers = scene.pdb_controller.other_writers
    writers.budget_changed(None, budget)
    writers.budget_changed(budget, budget)
    assert writers.seen == 0
