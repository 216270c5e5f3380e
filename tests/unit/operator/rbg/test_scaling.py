"""A role and its scaling adapter: whichever was changed, the other one follows."""

import pytest

from intact.kube.resources import RBGS
from intact.kube.transport import Request
from tests.support.objects import Json
from tests.support.rbg_objects import batches, group, role
from tests.support.rbg_waiting import ADAPTERS, GROUP, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, is_owned, of_groups


def replicas(value: int) -> Json:
    return {"op": "replace", "path": "/spec/roles/0/replicas", "value": value}


def of_adapters(request: Request) -> bool:
    return request.path.endswith(f"/{ADAPTERS.plural}")


async def scale(scene: Scene, number: int, role: str = "prefill") -> None:
    """As `kubectl scale` does."""
    await scene.client.patch(
        ADAPTERS, {"spec": {"replicas": number}}, f"llm-{role}", NS, subresource="scale"
    )
    await scene.settle()


def agreed(scene: Scene) -> int:
    return int(scene.adapter().metadata.annotations["intact.dev/agreed-replicas"])


def numbers(scene: Scene) -> tuple[int | None, int | None, int | None, int]:
    """Replicas of the role, its adapter, the agreed number, and the workload."""
    adapter = scene.adapter()
    workload = scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"]
    return (
        scene.group().spec.roles[0].replicas,
        adapter.spec.replicas,
        agreed(scene),
        workload,
    )


@simulated
async def test_every_role_has_an_adapter_with_its_number() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        assert scene.names(ADAPTERS) == ["llm-decode", "llm-prefill"]
        found = scene.get(ADAPTERS, "llm-prefill")
        assert is_owned(scene, found)
        assert found["spec"] == {
            "replicas": 2,
            "scaleTargetRef": {"name": "llm", "role": "prefill"},
        }
        assert scene.adapter().status.phase == "Bound"
        assert numbers(scene) == (2, 2, 2, 2)


@simulated
async def test_its_scale_shows_what_is_there() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        await scene.play()
        found = await scene.client.get(ADAPTERS, "llm-prefill", NS, subresource="scale")
        assert (found["spec"]["replicas"], found["status"]["replicas"]) == (2, 2)
        pods = scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["template"]["metadata"]["labels"]
        terms = dict(term.split("=") for term in found["status"]["selector"].split(","))
        assert terms.items() <= pods.items()
        assert terms[GROUP] == "llm"


@simulated
async def test_the_role_follows_its_adapter() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        await scale(scene, 5)
        assert numbers(scene) == (5, 5, 5, 5)
        assert scene.group().spec.roles[1].replicas == 1
        assert await scene.events("RoleScaled") == [
            "the scaling adapter sets role prefill to 5 replicas"
        ]


@simulated
async def test_the_adapter_follows_its_role() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        await scene.change(replicas(4))
        assert numbers(scene) == (4, 4, 4, 4)


@simulated
async def test_one_after_the_other() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        for number in (3, 0, 2):
            await scale(scene, number)
            assert numbers(scene) == (number,) * 4
            await scene.change(replicas(number + 1))
            assert numbers(scene) == (number + 1,) * 4


@simulated
async def test_the_adapter_wins_where_both_have_changed() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        scene.api.faults.hold_watches()
        await scale(scene, 5)
        await scene.change(replicas(3))
        scene.api.faults.release_watches()
        await scene.settle()
        assert numbers(scene) == (5, 5, 5, 5)


@simulated
async def test_an_edit_after_a_restart_is_not_undone() -> None:
    """The process that had told the adapter of the first edit ended before it told anybody else."""
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 3)))
        scene.wire.delay = lambda request: 60.0 if request.path.endswith("/status") else 0.0
        await scene.change(replicas(5))
        assert scene.adapter().spec.replicas == 5
        await scene.change(replicas(2))
        scene.wire.delay = lambda _request: 0.0
        await scene.restart()
        assert numbers(scene) == (2, 2, 2, 2)


@simulated
async def test_a_wish_is_granted_once() -> None:
    """The store has not heard yet that it was, as the role is edited."""
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        scene.wire.delay = lambda request: 5.0 if request.path.endswith("/llm") else 0.0
        await scale(scene, 5)
        scene.api.faults.hold_watches(of_adapters)
        await scene.settle()
        assert scene.group().spec.roles[0].replicas == agreed(scene) == 5
        scene.wire.delay = lambda _request: 0.0
        await scene.change(replicas(3))
        scene.api.faults.release_watches()
        await scene.settle()
        assert numbers(scene) == (3, 3, 3, 3)


@simulated
async def test_a_granted_wish_stays_where_the_group_is_heard_of_late() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        scene.api.faults.hold_watches(of_groups)
        await scale(scene, 5)
        assert numbers(scene)[:3] == (5, 5, 5)
        scene.api.faults.release_watches()
        await scene.settle()
        assert numbers(scene) == (5, 5, 5, 5)


@simulated
async def test_a_role_without_a_number_has_its_adapters() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", None)))
        assert numbers(scene) == (None, 1, 1, 1)
        await scale(scene, 3)
        assert numbers(scene) == (None, 3, 3, 3)


@simulated
async def test_a_number_that_the_group_cannot_have_is_refused() -> None:
    async with grouping() as scene:
        rules = batches({"prefill": 2, "decode": 1}, "Parallel")
        await scene.make(group("llm", role("prefill", 4), role("decode", 2), coordination=[rules]))
        await scale(scene, 5)
        status = scene.adapter().status
        assert (status.phase, agreed(scene)) == ("NotBound", 4)
        assert "does not divide the 5 replicas" in status.message
        assert scene.group().spec.roles[0].replicas == 4
        # What it is asked for next is looked at afresh.
        await scale(scene, 6)
        status = scene.adapter().status
        assert (status.phase, status.message, agreed(scene)) == ("Bound", "", 6)
        assert scene.group().spec.roles[0].replicas == 6


@simulated
async def test_an_edit_in_between_is_not_written_over() -> None:
    """Another role has come to stand in its place, and the store has not heard of it."""
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        scene.writes()
        scene.api.faults.hold_watches(of_groups)
        await scene.change(
            {"op": "move", "from": "/spec/roles/1", "path": "/spec/roles/0"},
        )
        await scale(scene, 5)
        assert any("PATCH" in one and f"/{RBGS.plural}/llm" in one for one in scene.writes())
        assert {one.name: one.replicas for one in scene.group().spec.roles} == {
            "decode": 1,
            "prefill": 2,
        }
        scene.api.faults.release_watches()
        await scene.settle()
        assert {one.name: one.replicas for one in scene.group().spec.roles} == {
            "decode": 1,
            "prefill": 5,
        }


@simulated
async def test_a_deleted_adapter_comes_back_with_the_roles_number() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        await scene.client.delete(ADAPTERS, "llm-prefill", NS)
        await scene.settle()
        assert numbers(scene) == (2, 2, 2, 2)


@pytest.mark.parametrize("owner", [[], [{"controller": True, "uid": "another"}]])
@simulated
async def test_an_adapter_of_another_owner_is_neither_followed_nor_changed(
    owner: list[Json],
) -> None:
    async with grouping() as scene:
        references = [{"apiVersion": "v1", "kind": "Owner", "name": "o"} | one for one in owner]
        mine: Json = {
            "apiVersion": ADAPTERS.api_version,
            "kind": ADAPTERS.kind,
            "metadata": {
                "name": "llm-prefill",
                "labels": {GROUP: "llm"},
                "ownerReferences": references,
            },
            "spec": {"replicas": 9, "scaleTargetRef": {"name": "llm", "role": "prefill"}},
        }
        await scene.client.create(ADAPTERS, mine, NS)
        before = scene.get(ADAPTERS, "llm-prefill")
        await scene.make(group("llm", role("prefill", 2)))
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 2
        assert scene.get(ADAPTERS, "llm-prefill") == before


@simulated
async def test_at_rest_nothing_is_written() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", None)))
        await scale(scene, 3)
        await scene.play()
        scene.writes()
        await scene.look_again()
        assert scene.writes() == []


def enabled(value: bool) -> Json:
    return {"op": "replace", "path": "/spec/roles/0/scalingAdapter/enable", "value": value}


@pytest.mark.parametrize("number", [2, None], ids=["of the role", "of the adapter"])
@simulated
async def test_an_adapter_that_is_switched_off_goes_and_the_role_keeps_its_number(
    number: int | None,
) -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", number, scalingAdapter={"enable": True})))
        await scale(scene, 4)
        await scene.change(enabled(False))
        assert scene.names(ADAPTERS) == []
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 4
        await scene.change(enabled(True))
        assert numbers(scene) == (number and 4, 4, 4, 4)


@simulated
async def test_a_role_without_an_adapter_never_has_one() -> None:
    async with grouping() as scene:
        roles = role("prefill", 2, scalingAdapter={}), role("decode", 1)
        await scene.make(group("llm", *roles))
        assert scene.names(ADAPTERS) == ["llm-decode"]
        assert await scene.events("Removed") == []
        await scene.change(replicas(3))
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 3
