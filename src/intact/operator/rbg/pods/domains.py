"""Topology domains of nodes, read when pods have to move: Intact does not watch nodes."""

from collections.abc import Iterable

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import NODES
from intact.model.places import Node


class Domains:
    """Of some nodes."""

    def __init__(self, topology_key: str, nodes: Iterable[Node]) -> None:
        self._of_node: dict[str, str] = {}
        self._usable: set[str] = set()
        for node in nodes:
            meta = node.metadata
            domain = self._of_node[meta.name] = meta.labels.get(topology_key, meta.name)
            if not node.spec.unschedulable:
                self._usable.add(domain)

    def of_node(self, node: str) -> str:
        """A node that is gone is a domain of its own."""
        return self._of_node.get(node, node)

    def usable(self, domain: str) -> bool:
        """Whether new pods may come to one of its nodes."""
        return domain in self._usable


async def read_domains(client: Client, topology_key: str, names: Iterable[str]) -> Domains:
    found: list[Node] = []
    for name in sorted(set(names)):
        try:
            found.append(await client.get(NODES, name))
        except NotFound:
            continue
    return Domains(topology_key, found)
