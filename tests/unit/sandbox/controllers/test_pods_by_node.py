"""Pods are found by their node, from their binding to their end."""

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from intact.sandbox.controllers.pods_by_node import PodsByNode
from tests.support.objects import PODS, pod


async def test_pods_of_a_node(api: MemoryApi, client: Client) -> None:
    await client.create(PODS, pod("old", node="x"), "default")
    pods = PodsByNode(api)
    await client.create(PODS, pod("new"), "default")
    assert [each["metadata"]["name"] for each in pods.of("x")] == ["old"]
    target = {"metadata": {"name": "new"}, "target": {"kind": "Node", "name": "x"}}
    await client.create_subresource(PODS, "new", "default", "binding", target)
    await client.delete(PODS, "old", "default", grace_period_seconds=0)
    assert [each["metadata"]["name"] for each in pods.of("x")] == ["new"]
    pods.end()
    await client.delete(PODS, "new", "default", grace_period_seconds=0)
    assert len(pods.of("x")) == 1
