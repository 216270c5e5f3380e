"""Changes of a spec, and what becomes of them when others change it too."""

import click
import pytest

from intact.cli.rbg.editing import MANAGER, Json, edit
from intact.kube.errors import Invalid, NotFound
from intact.model.status import Status
from tests.support.rbg_waiting import GROUPS
from tests.unit.cli.rbg.busy import busy, busy_with, contended
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


def larger(spec: Json) -> Json:
    first, *others = spec["roles"]
    return spec | {"roles": [first | {"labels": {"size": str(first["replicas"])}}, *others]}


@simulated
async def test_a_field_that_others_change_is_read_and_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, others = busy(scene, 5)
        assert await edit(client, NS, "llm", larger)
        assert others.conflicts == 5
        [first, _] = scene.group().spec.roles
        assert (first.replicas, first.labels) == (15, {"size": "15"})


@simulated
async def test_writes_of_other_fields_do_not_disturb() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())

        async def annotate(number: int) -> None:
            body = {"metadata": {"annotations": {"test/changed": str(number)}}}
            await scene.client.patch(GROUPS, body, "llm", NS)

        client, others = busy_with(scene, 1000, annotate)
        assert await edit(client, NS, "llm", larger)
        assert others.conflicts == 1
        assert scene.group().metadata.annotations["test/changed"] == "1"


@simulated
async def test_a_conflict_that_the_server_could_not_settle_is_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, others = contended(scene, 3)
        assert await edit(client, NS, "llm", paused)
        assert others.conflicts == 3


@simulated
async def test_a_spec_that_the_server_refuses_is_not_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        tries = 0

        async def refuse(number: int) -> None:
            nonlocal tries
            tries = number
            raise Invalid(Status(code=422, message="a policy says no"))

        client, _ = busy_with(scene, 1000, refuse)
        with pytest.raises(Invalid, match="a policy says no"):
            await edit(client, NS, "llm", paused)
        assert tries == 1


@simulated
async def test_an_edit_that_always_conflicts_ends_with_an_error() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, _ = busy(scene, 1000)
        with pytest.raises(click.ClickException, match="changed by others 20 times in a row"):
            await edit(client, NS, "llm", larger)
        assert scene.group().spec.roles[0].labels == {}


@simulated
async def test_what_is_not_there_cannot_be_edited() -> None:
    async with grouping() as scene:
        with pytest.raises(NotFound):
            await edit(scene.client, NS, "llm", paused)
