"""The loop: pods get nodes, wait, are told why, and wake up when something changes."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.sandbox import Rule, run
from intact.sandbox.cluster import Sandbox
from tests.support.objects import NODES, PODS
from tests.support.scheduling import a_pod

Json = dict[str, Any]
NS = "default"
EVENTS = untyped("", "v1", "events", "Event")
CLASSES = untyped("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)


def simulated(main: Coroutine[Any, Any, None]) -> None:
    run(main, seed=1, max_time=3600)


@asynccontextmanager
async def cluster(*nodes: str, **node: Any) -> AsyncGenerator[tuple[Sandbox, Client], None]:
    sandbox = Sandbox()
    async with sandbox.running():
        for name in nodes:
            await sandbox.add_node(name, **node)
        yield sandbox, sandbox.client()


async def create(client: Client, name: str, **pod: Any) -> None:
    await client.create(PODS, a_pod(name, namespace=NS, **pod), NS)


async def node_of(client: Client, name: str) -> str:
    await asyncio.sleep(0.1)
    return str((await client.get(PODS, name, NS))["spec"].get("nodeName", ""))


def scheduled(pod: Json) -> Json:
    (found,) = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    return dict(found)


def test_a_pod_gets_a_node() -> None:
    async def main() -> None:
        async with cluster("x") as (_, client):
            await create(client, "p")
            assert await node_of(client, "p") == "x"
            assert scheduled(await client.get(PODS, "p", NS))["status"] == "True"

    simulated(main())


def test_a_pod_that_no_node_takes_is_told_why_and_gets_one_when_it_can() -> None:
    async def main() -> None:
        async with cluster("x", allocatable={"cpu": "1"}) as (_, client):
            for name in ("p", "q"):
                await create(client, name, requests={"cpu": "1"})
            assert (await node_of(client, "p"), await node_of(client, "q")) == ("x", "")
            condition = scheduled(await client.get(PODS, "q", NS))
            message = (
                "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
                "preemption: "
                "0/1 nodes are available: 1 No preemption victims found for incoming pod."
            )
            assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
            assert condition["message"] == message
            (event,) = (await client.list(EVENTS, NS)).items
            assert (event["reason"], event["message"]) == ("FailedScheduling", message)
            assert event["involvedObject"]["name"] == "q"
            await client.delete(PODS, "p", NS)
            assert await node_of(client, "q") == "x"
            assert "message" not in scheduled(await client.get(PODS, "q", NS))

    simulated(main())


def test_a_cordon_holds_until_it_is_lifted_or_another_node_comes() -> None:
    async def main() -> None:
        async with cluster("x") as (sandbox, client):
            await client.patch(NODES, {"spec": {"unschedulable": True}}, "x")
            for name in ("p", "q"):
                await create(client, name, requests={"cpu": "1"})
            assert await node_of(client, "p") == ""
            await sandbox.add_node("y", allocatable={"cpu": "1"})
            assert [await node_of(client, name) for name in ("p", "q")] == ["y", ""]
            await client.patch(NODES, {"spec": {"unschedulable": None}}, "x")
            assert await node_of(client, "q") == "x"

    simulated(main())


def test_gated_pods_and_pods_of_another_scheduler_are_left_alone() -> None:
    async def main() -> None:
        async with cluster("x") as (_, client):
            await create(client, "other", schedulerName="mine")
            await create(client, "gated", schedulingGates=[{"name": "example.com/gate"}])
            assert [await node_of(client, name) for name in ("other", "gated")] == ["", ""]
            await client.patch(PODS, {"spec": {"schedulingGates": []}}, "gated", NS)
            assert await node_of(client, "gated") == "x"

    simulated(main())


def test_a_higher_priority_is_served_first() -> None:
    async def main() -> None:
        async with cluster() as (sandbox, client):
            await client.create(CLASSES, {"metadata": {"name": "high"}, "value": 100})
            await create(client, "low", requests={"cpu": "1"})
            await create(client, "high", requests={"cpu": "1"}, priorityClassName="high")
            await create(client, "higher", requests={"cpu": "1"}, priority=200)
            assert await node_of(client, "low") == ""
            await sandbox.add_node("x", allocatable={"cpu": "2"})
            found = [await node_of(client, name) for name in ("low", "high", "higher")]
            assert found == ["", "x", "x"]

    simulated(main())


def test_pods_that_are_there_and_finished_pods_are_counted_right() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        client = sandbox.client()
        await sandbox.add_node("x", allocatable={"cpu": "1"})
        await create(client, "old", requests={"cpu": "1"}, nodeName="x", restartPolicy="Never")
        async with sandbox.running():
            await create(client, "p", requests={"cpu": "1"})
            assert await node_of(client, "p") == ""
            await client.patch(
                PODS, {"status": {"phase": "Succeeded"}}, "old", NS, subresource="status"
            )
            assert await node_of(client, "p") == "x"

    simulated(main())


def test_a_pod_that_went_while_it_was_bound_takes_no_room() -> None:
    async def main() -> None:
        async with cluster("x", allocatable={"cpu": "1"}) as (sandbox, client):
            sandbox.api.admit("slow", _slow, [Rule(("pods/binding",), ("CREATE",))])
            await create(client, "p", requests={"cpu": "1"})
            await asyncio.sleep(0.5)
            await client.delete(PODS, "p", NS, grace_period_seconds=0)
            await asyncio.sleep(2)
            assert sandbox.scheduler.accounts.nodes["x"].free["cpu"] == 1000

    simulated(main())


async def _slow(_request: Json) -> Json:
    await asyncio.sleep(1)
    return {"allowed": True}
