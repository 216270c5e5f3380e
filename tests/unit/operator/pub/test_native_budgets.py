"""PodDisruptionBudgets beside a PodUnavailableBudget: what they refuse costs it nothing."""

import asyncio
from typing import Any

import pytest

from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from intact.sandbox import Rule
from tests.support.objects import PDBS, PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Scene, running
from tests.unit.operator.pub.test_gate import replace, three
from tests.unit.operator.pub.test_index import A


async def native(scene: Scene, allowed: int, name: str = "native", **selector: Any) -> None:
    spec = {"selector": selector or {"matchLabels": A}, "maxUnavailable": allowed}
    await scene.make(PDBS, name, spec=spec)
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 3}
    status |= {"desiredHealthy": 3 - allowed, "expectedPods": 3}
    await scene.client.patch(PDBS, {"status": status}, name, NS, subresource="status")
    await scene.settle(1)


@simulated
async def test_an_eviction_that_a_pdb_refuses_costs_nothing() -> None:
    async with running(controllers=2) as scene:
        await three(scene)
        await native(scene, 0)
        for dry_run in (True, False):
            with pytest.raises(ApiError, match="the PodDisruptionBudget native needs 3 healthy"):
                await scene.client.evict(POD_VIEWS, "p-0", NS, dry_run=dry_run)
        assert scene.status().ledger.pods == {}
        assert await scene.delete("p-1") == 200


@simulated
async def test_the_refusal_of_a_pdb_is_told_on_the_pod_and_on_that_budget() -> None:
    async with running() as scene:
        await three(scene)
        await native(scene, 0)
        assert await scene.evict("p-0") == 429
        await scene.settle(1)
        events = await scene.events("DisruptionDenied")
        assert {each["involvedObject"]["name"] for each in events} == {"p-0", "native"}
        assert all("native needs 3 healthy pods" in each["message"] for each in events)
        assert scene.audited[-1] == {
            "decision": "denied",
            "budget": f"PodDisruptionBudget/{NS}/native",
            "reason": "PodDisruptionBudget",
        }


@pytest.mark.parametrize(
    "selector", [{"matchLabels": {"app": "other"}}, {"matchExpressions": []}, {"matchLabels": {}}]
)
@simulated
async def test_only_the_budgets_that_select_the_pod_count(selector: Json) -> None:
    async with running() as scene:
        await three(scene)
        await native(scene, 0, **selector)
        covers = not any(selector.values())
        assert await scene.evict("p-0") == (429 if covers else 200)


@simulated
async def test_a_budget_that_is_gone_refuses_no_more() -> None:
    async with running() as scene:
        await three(scene)
        await native(scene, 0)
        await native(scene, 1, "second")
        assert await scene.evict("p-0") == 429
        await scene.client.delete(PDBS, "native", NS)
        await scene.settle(1)
        assert await scene.evict("p-0") == 200


@simulated
async def test_a_drain_spends_no_more_units_than_the_pdb_lets_pods_go() -> None:
    async with running() as scene:
        await three(scene, maxUnavailable=3)
        await native(scene, 1)
        answers = await asyncio.gather(*(scene.evict(f"p-{number}") for number in range(3)))
        assert sorted(answers) == [200, 429, 429]
        assert len(scene.status().ledger.pods) == 1


class TestRefusedByOthers:
    """Not by a PodDisruptionBudget, but by another webhook, again and again."""

    async def refuse(self, scene: Scene, resource: str, operation: str) -> None:
        async def review(request: Json) -> Json:
            return {"allowed": request["name"] != "p-0", "status": {"code": 403}}

        scene.api.admit("other", review, [Rule((resource,), (operation,))])

    async def insist(self, scene: Scene) -> None:
        while True:
            await scene.evict("p-0")
            await asyncio.sleep(2)

    @simulated
    async def test_other_pods_get_the_unit_that_a_refused_eviction_takes(self) -> None:
        async with running() as scene:
            await three(scene)
            await self.refuse(scene, "pods/eviction", "CREATE")
            insisting = asyncio.create_task(self.insist(scene))
            for name in ("p-1", "p-2", "p-1", "p-2"):
                async with asyncio.timeout(120):
                    while await scene.delete(name) != 200:
                        await asyncio.sleep(1)
                await scene.finish(name)
                await replace(scene, name)
                await scene.settle(1)
            # What refuses evictions lets the deletion through.
            async with asyncio.timeout(120):
                while await scene.delete("p-0") != 200:
                    await asyncio.sleep(1)
            insisting.cancel()

    @simulated
    async def test_the_evictor_is_told_that_others_go_first(self) -> None:
        async with running() as scene:
            await three(scene)
            await self.refuse(scene, "pods/eviction", "CREATE")
            insisting = asyncio.create_task(self.insist(scene))
            await scene.settle(40)
            insisting.cancel()
            assert scene.numbers() == (1, 3, 2, 3)
            with pytest.raises(ApiError, match="Other pods go first until"):
                await scene.client.evict(POD_VIEWS, "p-0", NS)
            assert [one.times for one in scene.status().ledger.stayed.values()] == [1]

    @simulated
    async def test_an_update_that_is_refused_again_and_again_ends_too(self) -> None:
        async with running() as scene:
            await three(scene)
            await self.refuse(scene, "pods", "UPDATE")
            held = 0
            for _ in range(60):
                await scene.set_image("p-0", "img:2")
                held += scene.status().unavailable_allowed == 0
                await asyncio.sleep(2)
            assert held < 40
            assert await scene.client.get(PODS, "p-0", NS)
