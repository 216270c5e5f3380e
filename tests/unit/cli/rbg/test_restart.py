"""What `intact rbg restart` does in a cluster."""

from datetime import UTC, datetime, timedelta

import click
import pytest

from intact.cli.rbg.restart import RESTARTED_AT, restart_in
from tests.support.rbg_objects import group, role, rolling
from tests.unit.cli.rbg.busy import busy
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, replaced, two_roles

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = "2026-01-01T00:00:00Z"


def annotations(scene: Scene) -> list[dict[str, str]]:
    return [
        role.template.get("metadata", {}).get("annotations", {})
        for role in scene.group().spec.roles
    ]


@simulated
async def test_all_templates_get_the_annotation_of_kubectl() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        before = scene.status.update_revision
        said = await restart_in(scene.client, NS, "llm", [], NOW)
        assert said == "RoleBasedGroup ns/llm restarts prefill, router"
        assert annotations(scene) == [{RESTARTED_AT: AT}, {RESTARTED_AT: AT}]
        await scene.settle()
        assert scene.status.update_revision != before


@simulated
async def test_one_role_is_restarted_and_keeps_its_own_annotations() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        template = {"metadata": {"annotations": {"mine": "1"}, "labels": {"a": "b"}}}
        await scene.change(replaced("/spec/roles/1/template", template))
        await restart_in(scene.client, NS, "llm", ["router"], NOW)
        assert annotations(scene) == [{}, {"mine": "1", RESTARTED_AT: AT}]
        assert scene.group().spec.roles[1].template["metadata"]["labels"] == {"a": "b"}


@simulated
async def test_an_unknown_role_is_refused_with_the_known_ones() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        with pytest.raises(click.ClickException) as error:
            await restart_in(scene.client, NS, "llm", ["prefill", "cache"], NOW)
        assert error.value.message == (
            "RoleBasedGroup ns/llm has no role 'cache'; its roles: prefill, router"
        )
        assert annotations(scene) == [{}, {}]


@simulated
async def test_a_second_restart_within_a_second_is_refused() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await restart_in(scene.client, NS, "llm", [], NOW)
        with pytest.raises(click.ClickException, match="restarted within this second already"):
            await restart_in(scene.client, NS, "llm", [], NOW)
        await restart_in(scene.client, NS, "llm", [], NOW + timedelta(seconds=1))
        assert annotations(scene)[0] == {RESTARTED_AT: "2026-01-01T00:00:01Z"}


@simulated
async def test_a_pause_holds_coordinated_roles_and_no_others() -> None:
    async with grouping() as scene:
        roles = [role(name, 4) for name in ("prefill", "decode", "router")]
        together = [rolling("prefill", "decode")]
        await scene.make(group("llm", *roles, coordination=together, paused=True))
        with pytest.raises(click.ClickException) as error:
            await restart_in(scene.client, NS, "llm", [], NOW)
        assert error.value.message == (
            "RoleBasedGroup ns/llm is paused, which holds prefill, decode: "
            "`intact rbg resume llm` first"
        )
        await restart_in(scene.client, NS, "llm", ["router"], NOW)
        assert annotations(scene) == [{}, {}, {RESTARTED_AT: AT}]


@simulated
async def test_a_conflict_is_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        client, others = busy(scene, 3)
        await restart_in(client, NS, "llm", [], NOW)
        assert others.conflicts == 3
        assert annotations(scene)[0] == {RESTARTED_AT: AT}
