"""Pods of a node that is gone."""

import asyncio

from intact.sandbox import run
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.node_lifecycle.pod_gc import QUARANTINE
from tests.support.objects import DEPLOYMENTS, NODES, PODS, deployment
from tests.support.scheduling import a_pod

NS = "default"


def test_pods_of_a_deleted_node_are_replaced_after_a_while() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            await sandbox.add_node("x")
            client = sandbox.client()
            await client.create(DEPLOYMENTS, deployment("web", 2), NS)
            await asyncio.sleep(1)
            await client.delete(NODES, "x")
            await sandbox.add_node("y")
            await asyncio.sleep(QUARANTINE - 2)
            assert {pod["spec"]["nodeName"] for pod in (await client.list(PODS, NS)).items} == {"x"}
            await asyncio.sleep(4)
            pods = (await client.list(PODS, NS)).items
            assert [pod["spec"]["nodeName"] for pod in pods] == ["y", "y"]

    run(main(), seed=1)


def test_pods_of_a_node_that_comes_back_in_time_stay() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            client = sandbox.client()
            await client.create(PODS, a_pod("p", namespace=NS, nodeName="x"), NS)
            await asyncio.sleep(QUARANTINE - 1)
            await sandbox.add_node("x")
            await asyncio.sleep(QUARANTINE)
            assert (await client.get(PODS, "p", NS))["status"]["phase"] == "Running"

    run(main(), seed=1)
