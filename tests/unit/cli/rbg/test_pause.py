"""What `intact rbg pause` and `resume` do in a cluster."""

from intact.cli.rbg.pause import pause_in
from tests.support.rbg_objects import Json, group, role, rolling
from tests.support.rbg_waiting import GROUPS
from tests.unit.cli.rbg.busy import contended
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import grouping, two_roles


def trio() -> Json:
    """Two coordinated roles, and one that is not."""
    roles = [role(name, 4) for name in ("prefill", "decode", "router")]
    return group("llm", *roles, coordination=[rolling("prefill", "decode")])


@simulated
async def test_a_pause_says_what_it_holds_and_what_it_does_not() -> None:
    async with grouping() as scene:
        await scene.make(trio())
        assert await pause_in(scene.client, NS, "llm", paused=True) == (
            "RoleBasedGroup ns/llm is paused: prefill, decode do not move to another revision",
            "this does not hold router, in no RollingUpdate coordination: updates by itself",
        )
        assert scene.group().spec.paused


@simulated
async def test_pausing_and_resuming_again_writes_nothing() -> None:
    async with grouping() as scene:
        await scene.make(trio())
        for paused, said in (
            (False, "RoleBasedGroup ns/llm is not paused"),
            (True, "RoleBasedGroup ns/llm is paused: "),
            (True, "RoleBasedGroup ns/llm is paused already: "),
            (False, "RoleBasedGroup ns/llm is resumed"),
            (False, "RoleBasedGroup ns/llm is not paused"),
        ):
            generation = scene.group().metadata.generation
            before = scene.group().spec.paused
            found, _ = await pause_in(scene.client, NS, "llm", paused=paused)
            assert found.startswith(said)
            assert scene.group().spec.paused == paused
            assert (scene.group().metadata.generation > generation) == (before != paused)


@simulated
async def test_without_a_coordination_a_pause_says_that_it_holds_nothing() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        _, warning = await pause_in(scene.client, NS, "llm", paused=True)
        assert warning == (
            "llm has no coordination of type RollingUpdate, so this holds nothing: "
            "prefill, router update by themselves, as their workloads do"
        )
        assert scene.get(GROUPS, "llm")["spec"]["paused"] is True
        _, warning = await pause_in(scene.client, NS, "llm", paused=False)
        assert warning == ""


@simulated
async def test_a_conflict_is_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(trio())
        client, others = contended(scene, 3)
        await pause_in(client, NS, "llm", paused=True)
        assert others.conflicts == 3
        assert scene.group().spec.paused
