"""Going back to the templates of an earlier revision."""

import pytest

from intact.kube.errors import NotFound
from intact.operator.rbg.rollback import roll_back, roll_back_stalled
from tests.support.rbg_objects import group, role, template
from tests.support.rbg_upstream import BASE, by_reference
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, replaced, two_roles


async def updated(scene: Scene) -> str:
    """To another template and another size. Returns the revision before."""
    await scene.make(two_roles())
    first = scene.status.update_revision
    await scene.change(
        replaced("/spec/roles/0/template", template("engine:2")),
        replaced("/spec/roles/0/replicas", 5),
    )
    return first


def images(scene: Scene) -> list[str]:
    return [one.template["spec"]["containers"][0]["image"] for one in scene.group().spec.roles]


@simulated
async def test_templates_come_back_and_sizes_stay() -> None:
    async with grouping() as scene:
        first = await updated(scene)
        assert await roll_back(scene.client, NS, "llm", first)
        assert images(scene) == ["engine:1", "engine:1"]
        assert scene.group().spec.roles[0].replicas == 5
        assert not await roll_back(scene.client, NS, "llm", first), "it has them already"


@simulated
async def test_an_edit_since_the_decision_is_not_undone() -> None:
    async with grouping() as scene:
        first = await updated(scene)
        generation = scene.group().metadata.generation
        assert not await roll_back(scene.client, NS, "llm", first, generation=generation - 1)
        assert images(scene) == ["engine:2", "engine:1"]


@simulated
async def test_a_revision_that_is_gone_cannot_be_restored() -> None:
    async with grouping() as scene:
        await updated(scene)
        with pytest.raises(NotFound):
            await roll_back(scene.client, NS, "llm", "llm-gone")


@simulated
async def test_a_stalled_rollout_tells_where_it_goes_or_why_it_cannot() -> None:
    async with grouping() as scene:
        first = await updated(scene)
        events = scene.controller.reconciler._events
        assert await roll_back_stalled(scene.client, events, scene.group(), "llm-gone")
        assert not await roll_back_stalled(scene.client, events, scene.group(), first)
        await scene.settle()
        [failed] = await scene.events("RollbackFailed")
        assert failed.startswith("the rollout is stalled and cannot be rolled back to llm-gone: ")
        assert await scene.events("RollbackStarted") == [
            f"the rollout is stalled: rolling back to {first}"
        ]


@simulated
async def test_a_template_by_reference_comes_back_as_the_role_s_own() -> None:
    """The reference has another template now. A role that has not changed keeps its reference."""
    async with grouping() as scene:
        other = {"name": "other", "template": template("engine:5")}
        same = by_reference("decode") | {"templateRef": {"name": "other"}}
        body = group("llm", by_reference("prefill"), same, role("c"), roleTemplates=[BASE, other])
        await scene.make(body)
        first = scene.status.update_revision
        await scene.change(replaced("/spec/roleTemplates/0/template", template("engine:2")))
        assert scene.status.update_revision != first
        assert await roll_back(scene.client, NS, "llm", first)
        await scene.settle()
        prefill, decode, _ = scene.group().spec.roles
        assert prefill.template_ref is None
        assert prefill.template == template()
        assert decode.template_ref is not None
        assert scene.status.update_revision == first, "it is the same revision again"
