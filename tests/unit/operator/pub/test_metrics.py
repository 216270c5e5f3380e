"""What `/metrics` shows of budgets, and of the work on them."""

import asyncio

import pytest

from intact.operator.pub.metrics import metrics_of_pubs
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, Scene, running
from tests.unit.operator.pub.test_gate import three


def values(scene: Scene, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric, by the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for metric in metrics_of_pubs(scene.controller)
        for sample in metric.samples
        if sample.name == name
    }


@simulated
async def test_a_budget_shows_what_it_counts() -> None:
    async with running() as scene:
        await three(scene)
        await scene.budget("groups", select={"app": "b"}, podGroupPolicy={"groupLabelKey": "g"})
        await scene.set_ready("p-0", False)
        await scene.settle()
        budget = (NS, "b")
        assert values(scene, "intact_budgets") == {("pods",): 1, ("groups",): 1}
        assert values(scene, "intact_budget_total_units")[budget] == 3
        assert values(scene, "intact_budget_available_units")[budget] == 2
        assert values(scene, "intact_budget_desired_units")[budget] == 2
        assert values(scene, "intact_budget_allowed_units")[budget] == 0


@simulated
async def test_a_budget_shows_whether_it_works() -> None:
    async with running() as scene:
        await three(scene)
        await scene.budget("empty", select={"app": "none"})
        await scene.budget("strict", select={"app": "a"}, maxUnavailable=0)
        await scene.settle()
        # A budget without pods has nothing to hold: it neither works nor fails.
        assert values(scene, "intact_budget_working") == {(NS, "b"): 1, (NS, "strict"): 1}
        never = {(NS, "b"): 0, (NS, "empty"): 0, (NS, "strict"): 1}
        assert values(scene, "intact_budget_never_allows") == never
        scene.leader = -1
        patch = {"spec": {"maxUnavailable": 2}}
        await scene.client.patch(BUDGETS, patch, "b", NS)
        await scene.settle()
        working = values(scene, "intact_budget_working")
        assert working[NS, "b"] == 0, "no leader has counted its new spec"


@simulated
async def test_a_budget_that_cannot_be_counted_does_not_work() -> None:
    async with running() as scene:
        ref = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "missing"}
        await scene.budget("b", select=None, targetRef=ref)
        await scene.settle()
        assert values(scene, "intact_budget_working") == {(NS, "b"): 0}


@simulated
async def test_a_budget_shows_the_age_of_its_oldest_refusal() -> None:
    async with running() as scene:
        await three(scene)
        name, key = "intact_budget_oldest_refusal_seconds", (NS, "b")
        assert values(scene, name)[key] == 0
        await scene.set_ready("p-0", False)
        await scene.settle()
        assert await scene.evict("p-1", dry_run=True) == 429
        assert values(scene, name)[key] == 0, "a dry run holds no pod"
        for _ in range(4):
            assert await scene.evict("p-1") == 429
            await asyncio.sleep(60)
        assert values(scene, name)[key] == pytest.approx(240, abs=1)
        await scene.set_ready("p-0")
        await scene.settle()
        assert await scene.evict("p-1") in (200, 201)
        await scene.settle()
        assert values(scene, name)[key] == 0


@simulated
async def test_the_work_on_budgets_is_counted() -> None:
    async with running() as scene:
        await three(scene)
        before = values(scene, "intact_recount_writes_total")[()]
        assert await scene.delete("p-0") == 200
        assert values(scene, "intact_gate_commits_total") == {(): 1}
        assert values(scene, "intact_gate_committed_admissions_total") == {(): 1}
        await scene.settle()
        assert values(scene, "intact_recount_writes_total")[()] > before
        assert values(scene, "intact_gate_conflicts_total") == {(): 0}
        assert values(scene, "intact_recount_conflicts_total") == {(): 0}


@simulated
async def test_conflicts_of_the_gate_are_counted() -> None:
    async with running() as scene:
        await three(scene)
        scene.leader = -1
        scene.faults.hold_watches()
        patch = {"status": {"currentAvailable": 2}}
        await scene.client.patch(BUDGETS, patch, "b", NS, subresource="status")
        assert await scene.delete("p-0") == 200
        assert values(scene, "intact_gate_conflicts_total") == {(): 1}
