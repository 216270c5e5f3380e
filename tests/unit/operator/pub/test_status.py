"""Reading and writing a budget's status: a compare-and-swap, with the ledger as one text."""

import asyncio
import json

import msgspec
import pytest

from intact.budget.pub.ledger import Operation, make_record
from intact.kube.errors import Conflict
from intact.model.pub import Ledger
from intact.operator.pub.index import PubEntry
from intact.operator.pub.status import read_again, store_status
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, Scene, running
from tests.unit.operator.pub.test_gate import three


async def counted(scene: Scene) -> PubEntry:
    """A budget that no recount writes to any more."""
    await three(scene)
    scene.leader = -1
    return scene.controller.index.entries[NS, "b"]


@simulated
async def test_a_status_is_stored_with_its_zeros_its_ledger_and_the_names_of_its_pods() -> None:
    async with running() as scene:
        entry = await counted(scene)
        base = entry.budget
        record = make_record("p-0", Operation.EVICT, scene.clock(), resource_version="7")
        status = msgspec.structs.replace(base.status, unavailable_allowed=0)
        await store_status(
            scene.client, entry, base, status.with_ledger(Ledger(pods={"uid": record}))
        )
        stored = (scene.api.peek(BUDGETS.full_name, NS, "b") or {})["status"]
        assert stored["unavailableAllowed"] == 0
        assert json.loads(stored["ledger"])["pods"].keys() == {"uid"}
        assert stored["disruptedPods"] == {"p-0": record.at}
        assert entry.budget == scene.stored()


@simulated
async def test_a_status_that_was_made_from_an_older_version_is_not_stored() -> None:
    async with running() as scene:
        entry = await counted(scene)
        base = entry.budget
        await scene.client.patch(
            BUDGETS, {"status": {"unavailableAllowed": 0}}, "b", NS, subresource="status"
        )
        with pytest.raises(Conflict):
            await store_status(scene.client, entry, base, base.status)
        assert scene.status().unavailable_allowed == 0


@simulated
async def test_a_budget_that_is_read_again_is_taken() -> None:
    async with running() as scene:
        entry = await counted(scene)
        scene.faults.hold_watches()
        await scene.client.patch(
            BUDGETS, {"status": {"unavailableAllowed": 0}}, "b", NS, subresource="status"
        )
        assert entry.budget.status.unavailable_allowed == 1
        await read_again(scene.client, entry)
        assert entry.budget.status.unavailable_allowed == 0


@simulated
async def test_a_budget_with_other_rules_is_not_taken_before_the_index_has_heard_of_it() -> None:
    async with running() as scene:
        entry = await counted(scene)
        scene.faults.hold_watches()
        before = entry.budget
        await scene.client.patch(BUDGETS, {"spec": {"maxUnavailable": 2}}, "b", NS)
        await read_again(scene.client, entry)
        assert entry.budget is before


@simulated
async def test_a_budget_whose_version_has_gone_back_makes_everything_begin_anew() -> None:
    async with running() as scene:
        entry = await counted(scene)
        backup = scene.api.snapshot()
        await scene.client.patch(
            BUDGETS, {"status": {"unavailableAllowed": 0}}, "b", NS, subresource="status"
        )
        await read_again(scene.client, entry)
        scene.faults.hold_watches()
        scene.api._state.store.restore(backup)  # the watches stand, and do not find out
        await scene.settle()
        lists = scene.controller.pods.stats.lists
        found = await read_again(scene.controller.commits._client, entry)
        assert found == scene.stored()
        assert entry.budget.status.unavailable_allowed == 0
        scene.faults.release_watches()
        await scene.settle()
        assert scene.controller.pods.stats.lists == lists + 1
        entry = scene.controller.index.entries[NS, "b"]
        assert entry.budget == scene.stored()
        assert entry.budget.status.unavailable_allowed == 1


@simulated
async def test_a_read_that_another_reading_has_overtaken_is_not_taken_for_a_restore() -> None:
    async with running() as scene:
        entry = await counted(scene)
        wire = scene.wires[0]
        reading = asyncio.create_task(read_again(scene.controller.commits._client, entry))
        wire.late = lambda request: 1.0 if request.path.endswith("/b") else 0.0
        await asyncio.sleep(0.5)
        await scene.client.patch(
            BUDGETS, {"status": {"unavailableAllowed": 0}}, "b", NS, subresource="status"
        )
        await reading
        assert entry.budget.status.unavailable_allowed == 0
