"""Changes of a spec, and what becomes of them when others change it too."""

import click
import pytest

from intact.cli.rbg.editing import MANAGER, Json, edit
from intact.kube.errors import NotFound
from tests.support.rbg_waiting import GROUPS
from tests.unit.cli.rbg.busy import busy
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, two_roles


def paused(spec: Json) -> Json:
    return spec | {"paused": True}


def managers(scene: Scene) -> set[str]:
    found = scene.get(GROUPS, "llm")["metadata"]["managedFields"]
    return {each["manager"] for each in found}


@simulated
async def test_an_edit_changes_what_differs_and_names_its_manager() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        assert await edit(scene.client, NS, "llm", paused)
        assert scene.group().spec.paused
        assert MANAGER in managers(scene)


@simulated
async def test_a_field_may_be_removed() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await edit(scene.client, NS, "llm", paused)
        without = ("roles", "coordination")
        assert await edit(
            scene.client, NS, "llm", lambda spec: {key: spec[key] for key in without if key in spec}
        )
        assert "paused" not in scene.get(GROUPS, "llm")["spec"]


@simulated
async def test_nothing_is_written_where_nothing_differs() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        before = scene.group().metadata.resource_version
        assert not await edit(scene.client, NS, "llm", dict)
        assert scene.group().metadata.resource_version == before


@simulated
async def test_a_conflict_is_tried_again_on_what_is_stored_then() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, others = busy(scene, 5)
        assert await edit(client, NS, "llm", paused)
        assert others.conflicts == 5
        assert scene.group().spec.paused
        assert scene.group().metadata.annotations["test/changed"] == "5"


@simulated
async def test_an_edit_that_always_conflicts_ends_with_an_error() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, _ = busy(scene, 1000)
        with pytest.raises(click.ClickException, match="changed by others 20 times in a row"):
            await edit(client, NS, "llm", paused)
        assert not scene.group().spec.paused


@simulated
async def test_what_is_not_there_cannot_be_edited() -> None:
    async with grouping() as scene:
        with pytest.raises(NotFound):
            await edit(scene.client, NS, "llm", paused)
