"""The parts put together: what runs where, and what a process does only while it leads."""

import asyncio

import pytest

from intact.budget.pdb.group_counts import GroupCounts
from intact.operator.pdb.controller import GATHER
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, Groups
from tests.unit.operator.pdb.scene import PdbScene, counting
from tests.unit.operator.pub.scene import NS

A = {"app": "a"}


@simulated
async def test_a_process_that_does_not_lead_keeps_its_index_and_writes_nothing() -> None:
    scene = PdbScene()
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    await scene.pdb(minAvailable=1)
    running = asyncio.create_task(scene.pdb_controller.run())
    await scene.pdb_controller.wait_synced()
    await scene.pods("p", "q", labels=A)
    await scene.settle()
    [entry] = scene.pdb_controller.index.entries.values()
    assert len(entry.members) == 2
    assert len(scene.pdb_controller.recounts) == 0
    assert scene.counters() == (0, 0, 0, 0)
    leading = asyncio.create_task(scene.pdb_controller.lead())
    await scene.settle()
    assert scene.counters() == (1, 2, 1, 2)
    for task in (leading, running):
        task.cancel()
    await asyncio.gather(leading, running, return_exceptions=True)


@simulated
async def test_changes_within_one_beat_cost_one_write() -> None:
    async with counting(groups=False) as scene:
        await scene.pdb(minAvailable=1)
        await scene.settle()
        before = scene.pdb_controller.disruption_writer.writes
        await scene.pods("p", "q", "r", labels=A)
        await scene.settle(GATHER * 2)
        assert scene.pdb_controller.disruption_writer.writes == before + 1
        assert scene.counters() == (2, 3, 1, 3)


@simulated
async def test_each_budget_is_counted_by_its_own_controller() -> None:
    async with counting(groups=True, disruption=True) as scene:
        groups = Groups(scene)
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        await scene.pdb("pods", selector={"matchLabels": {"g": "red"}}, minAvailable=1)
        await scene.settle()
        in_groups = {
            entry.key[1]: isinstance(entry.tally, GroupCounts)
            for entry in scene.pdb_controller.index.entries.values()
        }
        assert in_groups == {"b": True, "pods": False}
        assert groups.replicas() == (1, 1, 0, 1)
        assert scene.counters("pods") == (1, 2, 1, 2)


@simulated
async def test_overlaps_that_began_before_this_process_led_are_reported() -> None:
    scene = PdbScene()
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    await scene.pdb("one", minAvailable=0)
    await scene.pdb("two", minAvailable=0)
    await scene.pod("p", labels=A)
    running = asyncio.create_task(scene.pdb_controller.run())
    await scene.settle()
    assert await scene.events("MultiplePodDisruptionBudgets") == []
    leading = asyncio.create_task(scene.pdb_controller.lead())
    await scene.settle()
    [event] = await scene.events("MultiplePodDisruptionBudgets")
    assert event["involvedObject"]["name"] == "p"
    for task in (leading, running):
        task.cancel()
    await asyncio.gather(leading, running, return_exceptions=True)


@pytest.mark.parametrize("groups", [False, True])
def test_sources_of_groups_are_read_only_where_groups_are_counted(groups: bool) -> None:
    @simulated
    async def run() -> None:
        async with counting(groups=groups) as scene:
            await scene.pdb(annotations=BY_LABEL, minAvailable=1)
            await scene.settle()
            asked = scene.wire.count("GET", "/apis/scheduling.k8s.io/")
            assert bool(asked) == groups

    run()
