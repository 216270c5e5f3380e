"""Pods of a Deployment that are in the wrong batch."""

import msgspec

from intact.model.rbg import Coordination
from intact.rollout.coordinations import place_label
from intact.sandbox import Rule
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import batches, group, kind, role
from tests.support.rbg_waiting import DEPLOYMENTS, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping

RULES = batches({"prefill": 1, "decode": 1}, "Parallel")
PLACED = place_label(msgspec.convert(RULES, Coordination))


async def two_batches(scene: Scene) -> None:
    """Both started at once."""
    prefill = role("prefill", 2, **kind("Deployment"))
    await scene.make(group("llm", prefill, role("decode", 2), coordination=[RULES]))
    await scene.play(DEPLOYMENTS)
    await scene.play(STATEFUL_SETS)


async def put_in_batch(scene: Scene, name: str, number: int) -> None:
    body = {"metadata": {"labels": {PLACED: str(number)}}}
    await scene.client.patch(PODS, body, name, NS)


async def put_both_in_the_first(scene: Scene) -> None:
    for index in range(2):
        await put_in_batch(scene, f"llm-prefill-{index}", 0)
        await put_in_batch(scene, f"llm-decode-{index}", index)
    await scene.settle()


def names(scene: Scene) -> list[str]:
    return sorted(one["metadata"]["name"] for one in scene.pods())


@simulated
async def test_a_surplus_pod_of_a_batch_is_evicted_while_another_batch_is_short() -> None:
    async with grouping() as scene:
        await two_batches(scene)
        await put_both_in_the_first(scene)
        assert names(scene) == ["llm-decode-0", "llm-decode-1", "llm-prefill-0"]


@simulated
async def test_a_refused_eviction_is_tried_again() -> None:
    async with grouping() as scene:
        await two_batches(scene)
        refusing = True

        async def review(_request: Json) -> Json:
            return {"allowed": not refusing}

        scene.api.admit("policy", review, [Rule(("pods/eviction",), ("CREATE",))])
        await put_both_in_the_first(scene)
        assert "llm-prefill-1" in names(scene)
        refusing = False
        await scene.settle(5)
        assert "llm-prefill-1" not in names(scene)


@simulated
async def test_a_batch_whose_pod_finds_no_node_is_told_once() -> None:
    async with grouping() as scene:
        await two_batches(scene)
        await put_in_batch(scene, "llm-decode-1", 1)
        condition = {"type": "PodScheduled", "status": "False"}
        body = {"status": {"phase": "Pending", "conditions": [condition]}}
        await scene.client.patch(PODS, body, "llm-decode-1", NS, subresource="status")
        await scene.settle()
        await scene.look_again()
        expected = "coordination batched: the scheduler finds no node for a pod of batch 1"
        assert await scene.events("BatchPending") == [expected]
