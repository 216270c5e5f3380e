"""Which namespaces have a door: those with a budget that counts groups."""

from intact.operator.webhook.configuration import DOOR_LABEL
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene
from tests.unit.operator.pub.scene import NS


def label(scene: PdbScene, namespace: str = NS) -> str | None:
    found = scene.api.peek("namespaces", "", namespace) or {}
    value: str | None = found["metadata"].get("labels", {}).get(DOOR_LABEL)
    return value


@simulated
async def test_the_label_comes_with_a_budget_in_groups_and_goes_with_it() -> None:
    async with holding() as (scene, groups):
        await scene.pdb("pods", maxUnavailable=1)
        await scene.settle()
        assert label(scene) is None
        await groups.budget(maxUnavailable=1)
        assert (label(scene), label(scene, "default")) == ("true", None)
        await scene.client.patch(NAMESPACES, {"metadata": {"labels": {DOOR_LABEL: None}}}, NS)
        await scene.settle()
        assert label(scene) == "true"
        scope = {"metadata": {"labels": {"intact.dev/budget-scope": "Pod"}}}
        await scene.client.patch(BUDGETS, scope, "b", NS)
        await scene.settle()
        assert label(scene) is None
        await groups.budget(name="c", maxUnavailable=1)
        assert label(scene) == "true"
        await scene.client.delete(BUDGETS, "c", NS)
        await scene.settle()
        assert label(scene) is None


@simulated
async def test_a_label_without_such_a_budget_goes() -> None:
    async with holding() as (scene, _):
        await scene.client.patch(NAMESPACES, {"metadata": {"labels": {DOOR_LABEL: "true"}}}, NS)
        await scene.settle()
        assert label(scene) is None
