"""What a RoleBasedGroup deletes of what it owns, and what it leaves."""

from tests.support.objects import Json
from tests.support.rbg_objects import kind
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
