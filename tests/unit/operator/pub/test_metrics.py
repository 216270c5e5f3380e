"""What `/metrics` shows of budgets, and of the work on them."""

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
        assert values(scene, "intact_budget_allowed_units")[budget] == 0


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
