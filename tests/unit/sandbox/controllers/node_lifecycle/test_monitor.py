"""A node whose kubelet is silent is lost after a while, and comes back with it."""

import asyncio

from intact.sandbox import run
from intact.sandbox.api.pod_state import is_ready, is_true
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.node_lifecycle.monitor import GRACE
from tests.support.objects import NODES, PODS
from tests.support.scheduling import a_pod

NS = "default"


def test_a_lost_node_and_its_pods() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            for name in ("x", "y"):
                await sandbox.add_node(name)
            client = sandbox.client()
            for name in ("x", "y"):
                pod = a_pod(f"on-{name}", namespace=NS, nodeName=name)
                await client.create(PODS, pod, NS)
            await asyncio.sleep(1)
            sandbox.troubles.lose_node("x")
            await asyncio.sleep(GRACE - 1)
            assert is_ready(await client.get(NODES, "x"))
            await asyncio.sleep(2)
            node = await client.get(NODES, "x")
            (ready,) = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
            assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
            assert [(each["key"], each["effect"]) for each in node["spec"]["taints"]] == [
                ("node.kubernetes.io/unreachable", "NoSchedule"),
                ("node.kubernetes.io/unreachable", "NoExecute"),
            ]
            assert not is_true(await client.get(PODS, "on-x", NS), "Ready")
            assert is_true(await client.get(PODS, "on-y", NS), "Ready")
            sandbox.troubles.recover_node("x")
            await asyncio.sleep(1)
            node = await client.get(NODES, "x")
            assert is_ready(node)
            assert "taints" not in node["spec"]
            assert is_true(await client.get(PODS, "on-x", NS), "Ready")

    run(main(), seed=1)


def test_pods_of_a_lost_node_are_evicted_after_five_minutes_and_never_end() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            await sandbox.add_node("x")
            client = sandbox.client()
            await client.create(PODS, a_pod("p", namespace=NS), NS)
            await asyncio.sleep(1)
            sandbox.troubles.lose_node("x")
            await asyncio.sleep(GRACE + 299)
            assert "deletionTimestamp" not in (await client.get(PODS, "p", NS))["metadata"]
            await asyncio.sleep(300)
            pod = await client.get(PODS, "p", NS)
            assert pod["metadata"]["deletionTimestamp"]
            reasons = {each["type"]: each.get("reason") for each in pod["status"]["conditions"]}
            assert reasons["DisruptionTarget"] == "DeletionByTaintManager"

    run(main(), seed=1)
