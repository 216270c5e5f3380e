"""Status writes: against one version, by the leader only, retried after a conflict."""

import random

import pytest

from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound
from intact.kube.queue import Queue
from intact.kube.store import Key
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.status import Status
from intact.operator.pdb.status_writer import GROUPS_MANAGER, StatusWriter
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import PdbScene
from tests.unit.operator.pub.scene import NS, Wire

KEY = (NS, "b")


class Writing:
    """A scene with one budget, and a writer whose attempts fail as a test wishes."""

    def __init__(self, scene: PdbScene, *, field_manager: str = "") -> None:
        self.scene = scene
        self.leads = True
        self.wire = Wire(scene.api)
        self.queue: Queue[Key] = Queue("test", rng=random.Random(1))
        self.attempts = 0
        self.refreshed: list[str] = []
        self.client = Client(self.wire, rng=random.Random(1))
        self.writer = StatusWriter(
            self.client,
            scene.pdb_controller.index,
            self.queue,
            leads=lambda: self.leads,
            field_manager=field_manager,
        )

    async def run(self, *failures: Exception) -> None:
        left = list(failures)

        async def attempt() -> None:
            self.attempts += 1
            if left:
                raise left.pop(0)

        def refresh(found: PodDisruptionBudget) -> None:
            self.refreshed.append(found.metadata.resource_version)

        await self.writer.retry_conflicts(KEY, attempt, refresh)

    async def run_with_index(self, *failures: Exception) -> None:
        left = list(failures)

        async def attempt() -> None:
            if left:
                raise left.pop(0)

        await self.writer.retry_conflicts(KEY, attempt)


async def writing(field_manager: str = "") -> Writing:
    scene = PdbScene()
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    await scene.pdb(minAvailable=1)
    return Writing(scene, field_manager=field_manager)


def conflict() -> Conflict:
    return Conflict(Status(code=409, reason="Conflict"))


@simulated
async def test_after_a_conflict_the_attempt_gets_the_stored_budget() -> None:
    test = await writing()
    await test.run(conflict(), conflict())
    version = test.scene.pdb_stored().metadata.resource_version
    assert (test.attempts, test.refreshed) == (3, [version, version])
    assert (test.writer.conflicts, len(test.queue)) == (2, 0)


@simulated
async def test_after_five_conflicts_the_queue_brings_the_budget_back() -> None:
    test = await writing()
    await test.run(*(conflict() for _ in range(5)))
    assert (test.attempts, test.writer.conflicts) == (5, 5)
    assert await test.queue.get() == KEY


@simulated
async def test_a_budget_that_is_gone_needs_no_other_attempt() -> None:
    test = await writing()
    await test.run(NotFound(Status(code=404, reason="NotFound")))
    assert (test.attempts, test.refreshed) == (1, [])


@simulated
async def test_a_process_that_leads_no_more_attempts_and_writes_nothing() -> None:
    test = await writing()
    test.leads = False
    await test.run()
    before = test.scene.pdb_stored()
    await test.writer.write(before, PdbStatus(current_healthy=3), {})
    assert (test.attempts, test.writer.writes) == (0, 0)
    assert test.scene.pdb_stored() == before


@simulated
async def test_a_write_stores_status_and_annotations_under_its_field_manager() -> None:
    test = await writing(GROUPS_MANAGER)
    budget = test.scene.pdb_stored()
    await test.writer.write(budget, PdbStatus(current_healthy=3), {"note": "x"})
    stored = test.scene.pdb_stored()
    assert (stored.status.current_healthy, stored.metadata.annotations) == (3, {"note": "x"})
    managers = {each.manager for each in stored.metadata.managed_fields if each.subresource}
    assert managers == {GROUPS_MANAGER}
    assert test.writer.writes == 1
    with pytest.raises(Conflict):
        await test.writer.write(budget, PdbStatus(current_healthy=4), {})
    assert (test.writer.writes, test.scene.pdb_status().current_healthy) == (1, 3)


@simulated
async def test_a_budget_with_another_selector_is_not_taken_before_its_pods_are_matched() -> None:
    test = await writing()
    index = test.scene.pdb_controller.index
    index._budget_changed(None, test.scene.pdb_stored())
    known = index.entries[KEY].budget
    await test.scene.edit(selector={"matchLabels": {"app": "other"}})
    await test.run_with_index(conflict())
    assert index.entries[KEY].budget is known
    await test.scene.edit(selector=known.spec.selector, minAvailable=2)
    await test.run_with_index(conflict())
    assert index.entries[KEY].budget == test.scene.pdb_stored()


@simulated
async def test_a_budget_whose_version_has_gone_back_makes_everything_begin_anew() -> None:
    test = await writing()
    index = test.scene.pdb_controller.index
    backup = test.scene.api.snapshot()
    await test.scene.edit(minAvailable=2)
    index._budget_changed(None, test.scene.pdb_stored())
    known = index.entries[KEY].budget
    test.scene.api.restore(backup)
    told: list[int] = []
    test.client.history.follow(lambda: told.append(1))
    await test.run(conflict())
    assert (told, test.refreshed) == ([1], [])
    assert index.entries[KEY].budget is known
