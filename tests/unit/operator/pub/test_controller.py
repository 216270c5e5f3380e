"""The controller: what every process does, and what only the leader does."""

import asyncio
import random

import pytest

from intact.kube.client import Client
from intact.operator.pub.controller import PubController
from intact.operator.watch.shared import Watches
from intact.operator.webhook.configuration import GATED_LABEL
from intact.sandbox import Moment
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, Scene, running
from tests.unit.operator.pub.test_gate import replace, three


@simulated
async def test_a_controller_that_does_not_lead_writes_nothing() -> None:
    async with running(controllers=2) as scene:
        await three(scene)
        scene.leader = 1
        version = scene.stored().metadata.resource_version
        await scene.set_ready("p-0", False)
        await scene.settle(60)
        assert scene.stored().metadata.resource_version == version
        leading = asyncio.create_task(scene.controllers[1].lead())
        await scene.settle()
        assert scene.numbers() == (0, 2, 2, 3)
        leading.cancel()


@simulated
async def test_a_new_leader_lists_pods_afresh() -> None:
    async with running(controllers=2) as scene:
        await three(scene)
        lists = scene.controllers[1].pods.stats.lists
        scene.leader = 1
        leading = asyncio.create_task(scene.controllers[1].lead())
        await scene.settle()
        assert scene.controllers[1].pods.stats.lists == lists + 1
        leading.cancel()


@simulated
async def test_a_controller_that_does_not_lead_answers_at_the_gate() -> None:
    async with running(controllers=2) as scene:
        await three(scene, maxUnavailable=0)
        found = scene.api.peek("pods", NS, "p-0")
        request = {"uid": "u", "operation": "DELETE", "namespace": NS, "oldObject": found}
        answer = await scene.review(request, scene.controllers[1])
        assert answer["status"]["code"] == 429


@simulated
async def test_a_namespace_that_comes_later_is_gated_with_its_first_budget() -> None:
    async with running() as scene:
        await scene.settle()
        await scene.client.create(NAMESPACES, {"metadata": {"name": "later"}})
        body = {
            "apiVersion": BUDGETS.api_version,
            "kind": BUDGETS.kind,
            "metadata": {"name": "b"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1},
        }
        await scene.client.create(BUDGETS, body, "later")
        await scene.settle()
        found = scene.api.peek("namespaces", "", "later") or {}
        assert found["metadata"]["labels"][GATED_LABEL] == "true"
        assert scene.controller.gating.is_gated("later")


@simulated
async def test_the_caller_runs_the_watches_that_it_gives() -> None:
    scene = Scene(controllers=0)
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    await scene.pods("p")
    client = Client(scene.api, rng=random.Random(0))
    watches = Watches(client, rng=random.Random(0))
    controller = PubController(
        client, "intact-0", now=scene.clock, leads=lambda: False, watches=watches
    )
    tasks = [asyncio.create_task(controller.run())]
    await scene.settle()
    assert controller.budgets.store.synced
    assert not controller.pods.store.synced
    tasks.append(asyncio.create_task(watches.run()))
    await asyncio.wait_for(controller.wait_synced(), 60)
    assert controller.pods.store.get(NS, "p") is not None
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("leads", [0, 1])
@simulated
async def test_after_a_restore_of_the_server_budgets_answer_again_and_hold(leads: int) -> None:
    """Their versions, and those of all pods, are lower than what the processes have seen."""
    async with running(controllers=2) as scene:
        await three(scene)
        backup = scene.api.snapshot()
        leading = None
        if leads:
            scene.leader = leads
            leading = asyncio.create_task(scene.controllers[leads].lead())
        # A history that will be lost, in which each process has written to the budget.
        for name in ("p-0", "p-1"):
            assert await scene.delete(name) == 200
            await scene.finish(name)
            await replace(scene, name)
            await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        scene.api.restore(backup)
        await scene.settle(2)
        assert [await scene.delete(f"p-{number}") for number in range(3)] == [200, 429, 429]
        await scene.finish("p-0")
        await scene.settle()
        assert scene.numbers()[:2] == (0, 2)
        await replace(scene, "p-0")
        await scene.settle()
        assert [await scene.evict(f"p-{number}") for number in range(3)] == [200, 429, 429]
        if leading is not None:
            leading.cancel()


def is_doubtful(scene: Scene) -> bool:
    return scene.controller.pods.is_doubtful


@simulated
async def test_nothing_is_counted_from_stores_of_a_server_that_is_not_heard() -> None:
    """The server comes back from a backup in which a pod is not ready. A store that has not heard
    of it still shows that pod as ready."""
    async with running() as scene:
        await three(scene)
        await scene.set_ready("p-0", False)
        await scene.settle()
        backup = scene.api.snapshot()
        await scene.set_ready("p-0", True)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        pods = lambda request: request.path.endswith("/pods")  # noqa: E731
        scene.faults.fail_randomly(1.0, Moment.BEFORE, pods)
        scene.api.restore(backup)
        await scene.client.patch(BUDGETS, {"metadata": {"labels": {"a": "b"}}}, "b", NS)
        await scene.settle(20)
        assert is_doubtful(scene)
        assert scene.numbers() == (0, 2, 2, 3)
        assert await scene.delete("p-1") == 429
        scene.faults.heal()
        await scene.settle(10)
        assert not is_doubtful(scene)
        assert scene.numbers() == (0, 2, 2, 3)
        assert await scene.delete("p-1") == 429
        await scene.set_ready("p-0", True)
        await scene.settle()
        assert await scene.delete("p-1") == 200
