"""What `/metrics` shows of RoleBasedGroups."""

from intact.operator.rbg.metrics import metrics_of_rbgs
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, two_roles


def values(scene: Scene) -> dict[tuple[str, str], float]:
    """By metric and role."""
    found = {}
    for metric in metrics_of_rbgs(scene.controller):
        for sample in metric.samples:
            if "role" in sample.labels:
                assert (sample.labels["namespace"], sample.labels["group"]) == (NS, "llm")
            found[sample.name, sample.labels.get("role", "")] = sample.value
    return found


@simulated
async def test_each_role_shows_its_replicas() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.play()
        found = values(scene)
        assert found["intact_rbg_role_desired_replicas", "prefill"] == 2
        assert found["intact_rbg_role_ready_replicas", "prefill"] == 2
        assert found["intact_rbg_role_updated_replicas", "prefill"] == 2
        assert found["intact_rbg_role_ready_replicas", "router"] == 0
        assert found["intact_rbg_writes_total", ""] == scene.controller.reconciler.writes > 0


@simulated
async def test_help_calls_a_role_based_group_by_its_name() -> None:
    async with grouping() as scene:
        ours = [
            one for one in metrics_of_rbgs(scene.controller) if one.name.startswith("intact_rbg")
        ]
        assert len(ours) == 4
        assert all("RoleBasedGroup" in one.documentation for one in ours)
