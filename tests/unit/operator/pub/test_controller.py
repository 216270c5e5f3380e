"""The controller: what every process does, and what only the leader does."""

import asyncio
import random

from intact.kube.client import Client
from intact.operator.pub.controller import PubController
from intact.operator.watch.shared import Watches
from intact.operator.webhook.configuration import GATED_LABEL
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, Scene, running
from tests.unit.operator.pub.test_gate import three


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
