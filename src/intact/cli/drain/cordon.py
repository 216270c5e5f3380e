"""Cordons nodes, and takes it back."""

from collections.abc import Iterable

from intact.kube.client import Client
from intact.kube.resources import NODES
from intact.model.places import Node


async def cordon(client: Client, node: Node, *, dry_run: bool = False) -> bool:
    """Whether it was schedulable until now. Raises `KubeError`."""
    if node.spec.unschedulable:
        return False
    await _patch(client, node.metadata.name, True, dry_run=dry_run)
    return True


async def uncordon(client: Client, nodes: Iterable[str]) -> None:
    """Raises `KubeError`."""
    for name in nodes:
        await _patch(client, name, None)


async def _patch(
    client: Client, name: str, unschedulable: bool | None, *, dry_run: bool = False
) -> None:
    body = {"spec": {"unschedulable": unschedulable}}
    await client.patch(NODES, body, name, dry_run=dry_run)


async def named(client: Client, names: Iterable[str], selector: str | None) -> list[Node]:
    """The nodes of these names, in their order, or those with these labels, by name. Raises
    `KubeError`."""
    if selector is not None:
        found = (await client.list(NODES, labels=selector)).items
        return sorted(found, key=lambda node: node.metadata.name)
    return [await client.get(NODES, name) for name in dict.fromkeys(names)]
