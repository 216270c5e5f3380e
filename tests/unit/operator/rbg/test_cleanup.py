"""What a RoleBasedGroup deletes of what it owns, and what it leaves."""

from tests.support.objects import Json
from tests.support.rbg_objects import group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    ADAPTERS,
    DEPLOYMENTS,
    GROUP,
    SERVICES,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import grouping, play_all, replaced, two_roles


@simulated
async def test_a_renamed_role_leaves_nothing_behind() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        await scene.change(replaced("/spec/roles/0/name", "encode"))
        assert scene.names(STATEFUL_SETS) == ["llm-encode"]
        assert scene.names(SERVICES) == ["s-llm-encode", "s-llm-router"]
        assert scene.names(ADAPTERS) == ["llm-encode", "llm-router"]
        assert [one.name for one in scene.status.role_statuses] == ["encode", "router"]
        assert "deleted StatefulSet llm-prefill: no role needs it any more" in await scene.events(
            "Removed"
        )


@simulated
async def test_a_role_of_another_kind_leaves_nothing_of_the_first() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.change(replaced("/spec/roles/0/workload", kind("Deployment")["workload"]))
        assert scene.names(STATEFUL_SETS) == []
        assert scene.names(DEPLOYMENTS) == ["llm-prefill", "llm-router"]
        assert scene.names(SERVICES) == ["s-llm-prefill", "s-llm-router"]


@simulated
async def test_what_belongs_to_others_is_not_removed() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        mine: Json = {
            "metadata": {"name": "llm-mine", "labels": {GROUP: "llm"}},
            "spec": {"replicas": 0},
        }
        await scene.client.create(STATEFUL_SETS, mine, NS)
        await scene.look_again()
        assert scene.names(STATEFUL_SETS) == ["llm-mine", "llm-prefill"]


@simulated
async def test_a_deployment_of_a_former_rollout_stays_until_the_other_one_was_observed() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxSkew="100%", maxUnavailableRatio="50%")
        prefill = role("prefill", 2, **kind("Deployment"))
        await scene.make(group("llm", prefill, role("decode", 1), coordination=[rules]))
        await play_all(scene)
        await scene.change(replaced("/spec/roles/0/template", template("engine:2")))
        await scene.play(DEPLOYMENTS)
        both = scene.names(DEPLOYMENTS)
        assert len(both) == 2
        # One pod of the new revision is ready: as many as the role should have from now on.
        await scene.change(
            {"op": "remove", "path": "/spec/coordination"}, replaced("/spec/roles/0/replicas", 1)
        )
        assert scene.status.role_statuses[0].updated_ready_replicas == 1
        assert scene.names(DEPLOYMENTS) == both, "the other one is about to roll by itself"
        await scene.play(DEPLOYMENTS)
        assert scene.names(DEPLOYMENTS) == ["llm-prefill"]
