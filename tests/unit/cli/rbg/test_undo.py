"""What `intact rbg undo` does in a cluster."""

import click
import pytest

from intact.cli.rbg.undo import undo_in
from tests.support.rbg_objects import group, role, rolling, template
from tests.unit.cli.rbg.busy import busy, busy_with
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, replaced, two_roles


async def updated_twice(scene: Scene) -> None:
    await scene.make(two_roles())
    for image in ("engine:2", "engine:3"):
        await scene.change(replaced("/spec/roles/0/template", template(image)))


def image(scene: Scene) -> str:
    found: str = scene.group().spec.roles[0].template["spec"]["containers"][0]["image"]
    return found


@pytest.mark.parametrize(
    ("number", "chosen", "expected"), [(None, 2, "engine:2"), (1, 1, "engine:1")]
)
@simulated
async def test_templates_of_the_chosen_revision_come_back(
    number: int | None, chosen: int, expected: str
) -> None:
    async with grouping() as scene:
        await updated_twice(scene)
        said = await undo_in(scene.client, NS, "llm", number)
        assert said.startswith(f"RoleBasedGroup ns/llm goes back to revision {chosen} (llm-")
        assert image(scene) == expected


@simulated
async def test_the_present_revision_changes_nothing() -> None:
    async with grouping() as scene:
        await updated_twice(scene)
        said = await undo_in(scene.client, NS, "llm", 3)
        assert said == "RoleBasedGroup ns/llm already has the templates of revision 3"
        assert image(scene) == "engine:3"


@simulated
async def test_an_unknown_revision_is_refused_with_the_known_ones() -> None:
    async with grouping() as scene:
        await updated_twice(scene)
        with pytest.raises(click.ClickException) as error:
            await undo_in(scene.client, NS, "llm", 9)
        assert error.value.message == (
            "RoleBasedGroup ns/llm: there is no revision 9; known revisions: 1, 2, 3"
        )


@simulated
async def test_without_an_earlier_revision_there_is_nothing_to_undo() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        with pytest.raises(click.ClickException, match="there is no earlier revision"):
            await undo_in(scene.client, NS, "llm", None)


@simulated
async def test_a_conflict_is_tried_again() -> None:
    async with grouping() as scene:
        await updated_twice(scene)
        client, others = busy(scene, 3)
        said = await undo_in(client, NS, "llm", None)
        assert others.conflicts == 3
        assert said.startswith("RoleBasedGroup ns/llm goes back to revision 2 (llm-")
        assert image(scene) == "engine:2"


@simulated
async def test_templates_that_another_user_changes_meanwhile_are_not_undone() -> None:
    async with grouping() as scene:
        await updated_twice(scene)

        async def deploy(number: int) -> None:
            await scene.change(replaced("/spec/roles/0/template", template("engine:4")))

        client, _ = busy_with(scene, 1, deploy)
        with pytest.raises(click.ClickException, match="its templates were changed in this moment"):
            await undo_in(client, NS, "llm", None)
        assert image(scene) == "engine:4"


@simulated
async def test_a_role_that_is_scaled_meanwhile_is_undone_at_its_new_size() -> None:
    async with grouping() as scene:
        await updated_twice(scene)

        async def scale(number: int) -> None:
            await scene.change(replaced("/spec/roles/0/replicas", 7))

        client, _ = busy_with(scene, 1, scale)
        await undo_in(client, NS, "llm", None)
        assert image(scene) == "engine:2"
        assert scene.group().spec.roles[0].replicas == 7


@simulated
async def test_undoing_a_paused_group_says_that_it_waits() -> None:
    async with grouping() as scene:
        roles = (role("prefill", 4), role("decode", 4))
        together = [rolling("prefill", "decode")]
        await scene.make(group("llm", *roles, coordination=together, paused=True))
        await scene.change(replaced("/spec/roles/0/template", template("engine:2")))
        said = await undo_in(scene.client, NS, "llm", None)
        assert said.endswith("it is paused: prefill, decode wait for `intact rbg resume llm`")
