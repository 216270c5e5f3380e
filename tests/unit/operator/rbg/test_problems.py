"""Refusals are told once, and tried again with backoff."""

import asyncio

import msgspec

from intact.kube.client import PatchType
from intact.operator.rbg.problems import AGAIN, RbgProblems
from tests.support.objects import Json
from tests.support.rbg_objects import group, role, rolling, template
from tests.support.rbg_waiting import GROUPS, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, replaced, two_roles
from tests.unit.operator.rbg.test_interrupted import refuse


def of_the_first_image(request: Json) -> bool:
    [container] = request["object"]["spec"]["template"]["spec"]["containers"]
    return bool(container["image"] == "engine:1")


def tries(scene: Scene) -> int:
    return sum("/statefulsets/llm-prefill" in one for one in scene.writes())


@simulated
async def test_a_refused_role_is_tried_less_and_less_often() -> None:
    async with grouping() as scene:
        refuse(scene, "statefulsets", "CREATE")
        await scene.make(two_roles())
        await scene.settle(27)
        assert 3 <= tries(scene) <= 7, "in half a minute"
        await scene.settle(300)
        assert 300 / AGAIN.most <= tries(scene) <= 2 * 300 / AGAIN.most + 1


@simulated
async def test_what_happens_to_other_roles_brings_no_try_forward() -> None:
    async with grouping() as scene:
        refuse(scene, "statefulsets", "CREATE")
        await scene.make(two_roles())
        await scene.settle(60)
        tries(scene)
        for _ in range(20):
            await scene.look_again()
        assert tries(scene) <= 60 / (AGAIN.most / 2) + 1


@simulated
async def test_another_spec_is_tried_at_once() -> None:
    async with grouping() as scene:
        refuse(scene, "statefulsets", "CREATE", of_the_first_image)
        await scene.make(two_roles())
        await scene.settle(120)
        assert scene.condition("Ready")[1] == "RoleNotApplied"
        # The next try of the old one may be half a minute away.
        patch = [replaced("/spec/roles/0/template", template("engine:2"))]
        await scene.client.patch(GROUPS, patch, "llm", NS, type=PatchType.JSON)
        await asyncio.sleep(1)
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]


@simulated
async def test_a_problem_is_one_event() -> None:
    async with grouping() as scene:
        refuse(scene, "statefulsets", "CREATE")
        await scene.make(two_roles())
        await scene.settle(300)
        assert await scene.count("RoleNotApplied") == 1
        [message] = await scene.events("RoleNotApplied")
        assert message.startswith("role prefill: ")
        assert "so says a policy" in message


@simulated
async def test_each_refused_role_has_its_event() -> None:
    async with grouping() as scene:
        refuse(scene, "statefulsets", "CREATE")
        await scene.make(group("llm", role("prefill", 2), role("decode", 2)))
        await scene.settle(60)
        assert sorted(one.split(":")[0] for one in await scene.events("RoleNotApplied")) == [
            "role decode",
            "role prefill",
        ]


@simulated
async def test_a_problem_that_comes_back_is_told_again() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        found = scene.group()
        problems = RbgProblems(scene.controller.reconciler._events)
        for _ in range(2):
            for _ in range(3):
                problems.refused(found, "prefill", "RoleNotApplied", "no")
            problems.solved(found, "prefill")
        await scene.settle()
        assert await scene.events("RoleNotApplied") == ["no"]
        assert await scene.count("RoleNotApplied") == 2


@simulated
async def test_problems_of_what_is_gone_are_forgotten() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        found = scene.group()
        problems = RbgProblems(scene.controller.reconciler._events)
        problems.refused(found, "prefill", "RoleNotApplied", "no")
        assert problems.waiting(found, "prefill") == "no"
        another = msgspec.structs.replace(found.metadata, uid="another")
        assert problems.waiting(msgspec.structs.replace(found, metadata=another), "prefill") == ""
        problems.keep(found, {"router"})
        assert problems.waiting(found, "prefill") == ""
        assert problems.again_in(found) is None
        problems.refused(found, "router", "RoleNotApplied", "no")
        problems.forget((found.metadata.namespace, "llm"))
        assert problems.waiting(found, "router") == ""


@simulated
async def test_a_refused_role_says_so_in_its_rollout() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode")
        await scene.make(group("llm", role("prefill", 2), role("decode", 2), coordination=[rules]))
        await scene.play()
        refuse(scene, "statefulsets", "UPDATE", lambda one: one["name"] == "llm-decode")
        await scene.change(
            *(replaced(f"/spec/roles/{at}/template", template("engine:2")) for at in range(2))
        )
        progress = scene.status.coordination_state[0].progress
        assert "so says a policy" in progress["decode"].waiting_for
        assert "so says a policy" not in progress["prefill"].waiting_for


@simulated
async def test_an_object_that_another_client_keeps_changing_holds_up_no_other_role() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 2)))
        await scene.play()
        patch = [replaced("/spec/roles/1/replicas", 3)]
        await scene.client.patch(GROUPS, patch, "llm", NS, type=PatchType.JSON)
        for replicas in range(5, 9):
            body = {"spec": {"replicas": replicas}}
            await scene.client.patch(STATEFUL_SETS, body, "llm-prefill", NS)
            await asyncio.sleep(0.3)
        prefill, decode = scene.status.role_statuses
        assert "another client keeps changing StatefulSet llm-prefill" in prefill.message
        assert decode.desired == 3
        await scene.settle()
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 2
