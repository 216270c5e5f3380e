"""A node that must be empty lets its pods go over a budget, and everybody is told."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from intact.budget.pub.node_deadline import DRAIN_DEADLINE, KARPENTER_DEADLINE
from intact.budget.pub.settings import NODE_DEADLINES
from intact.kube.resources import NODE_CLAIMS
from intact.model.times import timestamp
from intact.operator.pub.node_deadlines import LOOK_AGAIN
from intact.sandbox import Kind, Moment, Rule
from tests.support.objects import NODES, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import EVENTS, Scene, running

GROUPS = {"groupLabelKey": "shard", "minReadyReplicas": 2}


async def make_node(scene: Scene, annotations: dict[str, str], **meta: object) -> None:
    meta |= {"name": "n1", "annotations": annotations}
    await scene.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": meta})


def after(scene: Scene, seconds: float) -> str:
    return timestamp(scene.clock() + timedelta(seconds=seconds))


async def spent(scene: Scene, **more: Any) -> None:
    """A budget that allows nothing."""
    await scene.pods("p-0", "p-1", "p-2", labels={"app": "a"})
    await scene.budget(maxUnavailable=0, **more)
    await scene.settle()


async def events_of_node(scene: Scene, reason: str) -> list[Json]:
    found = (await scene.client.list(EVENTS, "default")).items
    return [
        one for one in found if one["reason"] == reason and one["involvedObject"]["name"] == "n1"
    ]


@simulated
@pytest.mark.parametrize("key", [DRAIN_DEADLINE, KARPENTER_DEADLINE])
async def test_its_pods_go_when_the_deadline_has_come(key: str) -> None:
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {key: after(scene, 60)})
        assert await scene.delete("p-0") == 429
        assert await scene.evict("p-1") == 429
        await asyncio.sleep(61)
        assert await scene.delete("p-0") == 200
        assert await scene.evict("p-1") == 200
        assert scene.names() == {"p-2"}
        await scene.settle()
        told = await scene.events("NodeDeadlinePassed")
        assert {one["involvedObject"]["kind"] for one in told} == {"Pod", "PodUnavailableBudget"}
        at_node = await events_of_node(scene, "NodeDeadlinePassed")
        assert len(at_node) == 2
        assert "although the budget b denies it: its node n1 must be empty" in at_node[0]["message"]


@simulated
async def test_what_goes_over_the_budget_is_recorded() -> None:
    async with running() as scene:
        await scene.pods("a-0", "a-1", labels={"app": "a", "shard": "a"})
        await scene.pods("b-0", "b-1", labels={"app": "a", "shard": "b"})
        await scene.budget(maxUnavailable=0, podGroupPolicy=GROUPS)
        await scene.settle()
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -1)})
        assert await scene.evict("a-0", dry_run=True) == 200
        assert not scene.status().ledger.pods
        assert await scene.evict("a-0") == 200
        assert [one.name for one in scene.status().ledger.pods.values()] == ["a-0"]
        assert scene.status().ledger.unavailable_groups == ["a"]
        assert scene.numbers()[:2] == (0, 1)
        assert await scene.evict("a-1") == 200
        await scene.settle()
        told = await scene.events("NodeDeadlinePassed")
        assert {one["involvedObject"]["name"] for one in told} == {"a-0", "b"}  # a-1 was free


@simulated
async def test_the_deadline_is_told_before_it_comes() -> None:
    async with running() as scene:
        await spent(scene)
        at = after(scene, 600)
        await make_node(scene, {DRAIN_DEADLINE: at})
        assert await scene.delete("p-0") == 429
        await scene.settle()
        [one] = await events_of_node(scene, "DisruptionDenied")
        assert f"Its node n1 must be empty by {at}: then it may go in any case." in one["message"]
        assert "pod ns/p-0" in one["message"]


@simulated
async def test_a_budget_can_ignore_deadlines() -> None:
    async with running() as scene:
        await spent(scene, annotations={NODE_DEADLINES: "Ignore"})
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -60)})
        assert await scene.delete("p-0") == 429
        await scene.settle()
        [one] = await events_of_node(scene, "DisruptionDenied")
        assert one["message"].endswith("which this budget ignores.")


@simulated
async def test_a_claim_of_karpenter_has_the_deadline() -> None:
    async with running() as scene:
        scene.api.register(
            Kind(
                NODE_CLAIMS.group,
                NODE_CLAIMS.version,
                NODE_CLAIMS.plural,
                NODE_CLAIMS.kind,
                namespaced=False,
            )
        )
        await spent(scene)
        annotations = {KARPENTER_DEADLINE: after(scene, 30)}
        claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim"}
        claim["metadata"] = {"name": "c", "annotations": annotations}  # type: ignore[assignment]
        made = await scene.client.create(NODE_CLAIMS, claim)
        owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "c"}
        owner |= {"uid": made.metadata.uid}
        await make_node(scene, {}, ownerReferences=[owner])
        assert await scene.delete("p-0") == 429
        await asyncio.sleep(31)
        assert await scene.delete("p-0") == 200


@simulated
async def test_a_node_whose_claim_cannot_be_read_has_its_own_deadline() -> None:
    """The API does not serve the claim's kind, as where Karpenter has been removed."""
    async with running() as scene:
        await spent(scene)
        owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "c", "uid": "c"}
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -60)}, ownerReferences=[owner])
        assert await scene.delete("p-0") == 200
        scene.faults.fail_randomly(1.0, Moment.BEFORE, lambda one: "/nodeclaims/" in one.path)
        await asyncio.sleep(LOOK_AGAIN)
        assert await scene.delete("p-1") == 200


@simulated
async def test_a_deadline_that_is_taken_back_holds_the_pods_again() -> None:
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -60)})
        assert await scene.delete("p-0") == 200
        await scene.client.patch(NODES, {"metadata": {"annotations": {DRAIN_DEADLINE: None}}}, "n1")
        await asyncio.sleep(LOOK_AGAIN)
        assert await scene.delete("p-1") == 429


@simulated
@pytest.mark.parametrize("later", [None, 600], ids=["removed", "postponed"])
async def test_a_deadline_that_is_changed_before_it_comes_lets_nothing_go(
    later: float | None,
) -> None:
    """Although the gate has read the first one a moment ago."""
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: after(scene, 3)})
        assert await scene.delete("p-0") == 429
        changed = {DRAIN_DEADLINE: later and after(scene, later)}
        await scene.client.patch(NODES, {"metadata": {"annotations": changed}}, "n1")
        await asyncio.sleep(LOOK_AGAIN - 1)
        assert await scene.delete("p-0") == 429
        assert await scene.evict("p-1") == 429


@simulated
async def test_a_bad_deadline_is_named_and_lets_nothing_go() -> None:
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: "tomorrow"})
        assert await scene.delete("p-0") == 429
        await scene.settle()
        [one] = await events_of_node(scene, "DisruptionDenied")
        assert f"{DRAIN_DEADLINE} of the node n1 is 'tomorrow', not a time" in one["message"]


@simulated
async def test_an_update_in_place_is_not_released() -> None:
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -60)})
        assert await scene.set_image("p-0", "other:2") == 429


@simulated
async def test_a_node_is_read_once_in_a_while_and_only_after_a_denial() -> None:
    async with running() as scene:
        await scene.pods("p-0", "p-1", "p-2", labels={"app": "a"})
        await scene.budget(maxUnavailable=1)
        await scene.settle()
        assert await scene.delete("p-0") == 200
        assert scene.wires[0].count("GET", "/nodes/") == 0
        for _ in range(5):
            assert await scene.delete("p-1") == 429
        assert scene.wires[0].count("GET", "/nodes/") == 1
        await asyncio.sleep(LOOK_AGAIN)
        assert await scene.delete("p-1") == 429
        assert scene.wires[0].count("GET", "/nodes/") == 2


@simulated
async def test_a_node_that_cannot_be_read_has_no_deadline() -> None:
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -60)})
        scene.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: "/nodes/" in request.path)
        assert await scene.delete("p-0") == 429
        scene.faults.heal()
        await asyncio.sleep(LOOK_AGAIN)
        assert await scene.delete("p-0") == 200


@simulated
async def test_a_pod_that_goes_over_the_budget_and_stays_is_told_of_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Something else refuses each deletion, and the client asks again and again."""
    async with running() as scene:
        await spent(scene)
        await make_node(scene, {DRAIN_DEADLINE: after(scene, -1)})

        async def deny(_request: Json) -> Json:
            return {"allowed": False, "status": {"code": 403, "message": "no"}}

        scene.api.admit("other", deny, [Rule(("pods",), ("DELETE",))])
        for _ in range(100):
            assert await scene.delete("p-0") == 403
            await asyncio.sleep(1)
        lines = [one for one in caplog.records if "goes although" in one.getMessage()]
        assert len(lines) == 2
        await scene.settle()
        assert len(await events_of_node(scene, "NodeDeadlinePassed")) == 1
