"""Nodes for batches: each has room for so many pods of one namespace alone."""

from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import NODES, Json


async def nodes(ns: NamespaceUnderTest, *cpus: int) -> None:
    """Nodes for this namespace alone, each with room for so many of its pods."""
    for index, cpu in enumerate(cpus):
        name = f"{ns.name[-6:]}-{index}"
        size = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        body: Json = {
            "metadata": {
                "name": name,
                "labels": {"home": ns.name, "kubernetes.io/hostname": name},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "status": {"capacity": size, "allocatable": size},
        }
        await ns.client.create(NODES, body)

    async def usable() -> list[Json]:
        page = await ns.client.list(NODES, labels=f"home={ns.name}")
        return [one for one in page.items if not one["spec"].get("taints")]

    await eventually(usable, lambda found: len(found) == len(cpus), "the nodes to be usable")


async def remove_nodes(ns: NamespaceUnderTest) -> None:
    await ns.client.delete_collection(NODES, labels=f"home={ns.name}")
