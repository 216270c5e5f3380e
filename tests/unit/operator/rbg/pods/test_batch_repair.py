"""Pods of a Deployment that are in the wrong batch."""

import msgspec

from intact.model.rbg import Coordination
from intact.rollout.coordinations import place_label
from intact.sandbox import Rule
from tests.support.objects import NODES, PODS, Json
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


async def on_nodes(scene: Scene, **nodes: str) -> None:
    """Two batches, started at once, whose pods were created without one; by role and number, where
    they run."""
    for name in sorted(set(nodes.values())):
        labels = {"kubernetes.io/hostname": name}
        await scene.client.create(NODES, {"metadata": {"name": name, "labels": labels}, "spec": {}})
    await scene.make(group("llm", role("prefill", 2), role("decode", 2)))
    await scene.play(STATEFUL_SETS)
    for pod, node in nodes.items():
        body = {"target": {"kind": "Node", "name": node}}
        name = f"llm-{pod.replace('_', '-')}"
        await scene.client.create_subresource(PODS, name, NS, "binding", body)
    await scene.change({"op": "add", "path": "/spec/coordination", "value": [RULES]})


def going(scene: Scene) -> list[str]:
    """Pods on a node terminate; no kubelet is here to end that."""
    return [
        one["metadata"]["name"] for one in scene.pods() if "deletionTimestamp" in one["metadata"]
    ]


def batch(scene: Scene, name: str) -> str | None:
    found: str | None = scene.get(PODS, name)["metadata"]["labels"].get(PLACED)
    return found


@simulated
async def test_pods_that_are_together_are_labelled_and_stay() -> None:
    async with grouping() as scene:
        await on_nodes(scene, prefill_0="a", decode_0="a", prefill_1="b", decode_1="b")
        assert going(scene) == []
        assert [batch(scene, name) for name in names(scene)] == ["0", "1", "0", "1"]
        labels = scene.get(PODS, "llm-decode-1")["metadata"]["labels"]
        assert labels["batch.coordination.workloads.x-k8s.io/batched"] == "1"
        assert labels["coordination.workloads.x-k8s.io/batched"] == "member"
        scene.writes()
        await scene.look_again()
        assert scene.writes() == [], "at rest"
        assert scene.status.coordinating == "Completed"


@simulated
async def test_a_pod_that_is_away_is_evicted_and_no_other_until_it_is_back() -> None:
    async with grouping() as scene:
        await on_nodes(scene, prefill_0="a", decode_0="b", prefill_1="b", decode_1="a")
        [first] = going(scene)
        await scene.look_again()
        assert going(scene) == [first]
        [state] = scene.status.coordination_state
        assert "move to the others of their batch" in state.progress["prefill"].waiting_for


@simulated
async def test_a_budget_that_refuses_is_named() -> None:
    async with grouping() as scene:

        async def review(_request: Json) -> Json:
            return {"allowed": False, "status": {"code": 429, "message": "not now"}}

        scene.api.admit("policy", review, [Rule(("pods/eviction",), ("CREATE",))])
        await on_nodes(scene, prefill_0="a", decode_0="b", prefill_1="b", decode_1="a")
        assert going(scene) == []
        [state] = scene.status.coordination_state
        waiting = state.progress["prefill"].waiting_for
        assert "the eviction of pod llm-" in waiting
        assert "not now" in waiting
