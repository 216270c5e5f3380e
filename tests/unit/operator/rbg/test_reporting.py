"""The status of a RoleBasedGroup, and its events."""

from tests.support.rbg_objects import group, role, rolling, template
from tests.support.rbg_waiting import (
    DEPLOYMENTS,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.rbg.scene import grouping, replaced, two_roles


@simulated
async def test_status_says_how_far_it_is() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        assert (scene.status.ready, scene.status.updated) == ("0/3", "0/3")
        assert scene.condition("Ready") == (
            "False",
            "RoleNotReady",
            (
                "prefill: 0 of 2 ready, llm-prefill-0, llm-prefill-1: not created yet; "
                "router: 0 of 1 ready, 1 of 1 replicas: not created yet"
            ),
        )
        assert scene.condition("Progressing")[:2] == ("True", "RollingUpdate")
        assert scene.status.current_revision == ""
        await scene.play(STATEFUL_SETS)
        assert scene.status.ready == "2/3"
        assert scene.condition("Ready")[2] == (
            "router: 0 of 1 ready, 1 of 1 replicas: not created yet"
        )
        await scene.play(DEPLOYMENTS)
        assert (scene.status.ready, scene.status.updated) == ("3/3", "3/3")
        assert scene.condition("Ready")[:2] == ("True", "AllRolesReady")
        assert scene.condition("Progressing")[:2] == ("False", "Completed")
        assert scene.condition("Stalled")[:2] == ("False", "NotStalled")
        assert scene.status.current_revision == scene.status.update_revision != ""
        assert scene.status.observed_generation == scene.group().metadata.generation


@simulated
async def test_events_tell_when_a_group_becomes_ready_and_when_it_is_no_more() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.play(STATEFUL_SETS)
        assert await scene.events("RoleNotReady") == []
        await scene.play(DEPLOYMENTS)
        assert await scene.events("AllRolesReady") == ["all replicas of all roles are ready"]
        await scene.play(DEPLOYMENTS, ready=False)
        await scene.play(STATEFUL_SETS, ready=False)
        assert await scene.events("RoleNotReady") == [
            "router: 0 of 1 ready, llm-router-0: not ready"
        ]


@simulated
async def test_coordination_is_reported_for_each_role() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxSkew="50%", maxUnavailableRatio="50%")
        await scene.make(group("llm", role("prefill", 4), role("decode", 2), coordination=[rules]))
        await scene.play()
        assert scene.status.coordinating == "Completed"
        await scene.change(
            *(replaced(f"/spec/roles/{at}/template", template("engine:2")) for at in range(2))
        )
        [state] = scene.status.coordination_state
        assert {name: (one.state, one.desired) for name, one in state.progress.items()} == {
            "prefill": ("Updating", 4),
            "decode": ("Updating", 2),
        }
        assert scene.status.coordinating == "Updating"
