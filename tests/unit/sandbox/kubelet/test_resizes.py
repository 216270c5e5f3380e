"""Room for a resize in place."""

import asyncio
from typing import Any

from intact.sandbox import run
from intact.sandbox.api.pod_state import condition
from intact.sandbox.cluster import Sandbox
from intact.sandbox.kubelet.resizes import is_wanted, lack_of_room
from tests.support.objects import PODS
from tests.support.scheduling import Books, a_pod

Json = dict[str, Any]
NS = "default"


def running(wanted: str, has: str) -> Json:
    pod = a_pod("p", requests={"cpu": wanted}, nodeName="x")
    status = {"name": "main", "resources": {"requests": {"cpu": has}}}
    pod["status"]["containerStatuses"] = [status]
    return pod


def test_a_resize_is_wanted_if_a_container_has_other_resources() -> None:
    assert is_wanted(running("2", "1"))
    assert not is_wanted(running("1", "1"))
    assert not is_wanted(a_pod("p", requests={"cpu": "1"}))


def test_a_resize_waits_for_room() -> None:
    books = Books("x", allocatable={"cpu": "4"})
    books.put("x", "p", requests={"cpu": "1"})
    books.put("x", "other", requests={"cpu": "2"})
    assert lack_of_room(running("2", "1"), books.accounts) is None
    assert lack_of_room(running("1", "1"), books.accounts) is None
    assert lack_of_room(running("3", "1"), books.accounts) == (
        "Deferred",
        "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000",
    )


def resources(pod: Json) -> Json:
    found: Json = pod["status"]["containerStatuses"][0]["allocatedResources"]
    return found


def test_a_resize_in_a_cluster_waits_until_another_pod_leaves() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            await sandbox.add_node("x", allocatable={"cpu": "4"})
            client = sandbox.client()
            for name in ("p", "q"):
                await client.create(PODS, a_pod(name, namespace=NS, requests={"cpu": "2"}), NS)
            await asyncio.sleep(1)
            wanted = {"name": "main", "resources": {"requests": {"cpu": "3"}}}
            pod = await client.get(PODS, "p", NS)
            pod["spec"]["containers"][0] |= wanted
            await client.update(PODS, pod, "p", NS, subresource="resize")
            await asyncio.sleep(1)
            pod = await client.get(PODS, "p", NS)
            assert (condition(pod, "PodResizePending") or {})["reason"] == "Deferred"
            assert resources(pod) == {"cpu": "2"}
            await client.create(PODS, a_pod("r", namespace=NS, requests={"cpu": "1"}), NS)
            await client.delete(PODS, "q", NS)
            await asyncio.sleep(1)
            pod = await client.get(PODS, "p", NS)
            assert condition(pod, "PodResizePending") is None
            assert resources(pod) == {"cpu": "3"}
            assert (await client.get(PODS, "r", NS))["spec"]["nodeName"] == "x"
            assert sandbox.scheduler.accounts.nodes["x"].free["cpu"] == 0

    run(main(), seed=1)
