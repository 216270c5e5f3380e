"""A NodePool of Karpenter for one namespace, and groups of pods on its nodes."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from intact.kube.errors import NotFound
from intact.kube.resources import PUBS, untyped
from tests.support.cluster_with_karpenter import NODE_CLASS
from tests.support.namespace_under_test import EVENTS, NamespaceUnderTest, eventually
from tests.support.objects import NODES, PDBS, SLOW_PROBE, STATEFUL_SETS, Json, stateful_set

NODE_POOLS = untyped("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False)
CLAIMS = untyped("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)
POOL = "karpenter.sh/nodepool"
SIZE = 4
"""Pods of a group: each on a node of its own."""
GRACE = 5
"""Seconds that a pod may take to end."""
START = 5
"""Seconds until a pod is ready: more than Karpenter's own steps take, as with large models."""
LABELS = {"app": "llm"}
WITHIN = 400.0


class NodePool:
    """Named as the namespace, whose pods alone run on its nodes."""

    def __init__(self, ns: NamespaceUnderTest) -> None:
        self.ns = ns
        self.name = ns.name

    async def create(self, budgets: list[Json] | None = None, **template: object) -> None:
        """`template` is of the NodeClaims. Karpenter removes no node to save money."""
        kinds = {"key": "node.kubernetes.io/instance-type", "operator": "In"}
        spec: Json = {
            "nodeClassRef": {
                "group": "karpenter.kwok.sh",
                "kind": "KWOKNodeClass",
                "name": NODE_CLASS,
            },
            "requirements": [
                kinds | {"values": ["c-16x-amd64-linux"]},
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            ],
            "expireAfter": "Never",
            **template,
        }
        disruption: Json = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
        if budgets is not None:
            disruption["budgets"] = budgets
        body: Json = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": self.name},
            "spec": {"template": {"spec": spec}, "disruption": disruption},
        }
        await self.ns.client.create(NODE_POOLS, body)

    async def remove(self) -> None:
        """With its nodes, and everything on them and over it: no budget may hold them."""
        for resource in (PDBS, PUBS, STATEFUL_SETS):
            await self.ns.client.delete_collection(resource, self.ns.name)
        with suppress(NotFound):
            await self.ns.client.delete(NODE_POOLS, self.name)
        await eventually(self.nodes, lambda found: not found, "the nodes to go", WITHIN)

    async def change(self, spec: Json) -> None:
        await self.ns.client.patch(NODE_POOLS, {"spec": spec}, self.name)

    async def drift(self) -> None:
        """Another template: every node that was made from the earlier one is to be replaced."""
        await self.change({"template": {"metadata": {"labels": {"generation": "two"}}}})

    async def nodes(self) -> dict[str, Json]:
        page = await self.ns.client.list(NODES, labels=f"{POOL}={self.name}")
        return {one["metadata"]["name"]: one for one in page.items}

    async def claims(self) -> dict[str, Json]:
        """By the name of their node, if they have one."""
        page = await self.ns.client.list(CLAIMS, labels=f"{POOL}={self.name}")
        return {one.get("status", {}).get("nodeName", ""): one for one in page.items}

    async def going(self) -> set[str]:
        """The nodes whose NodeClaims are being deleted: Karpenter drains them."""
        found = await self.claims()
        return {node for node, one in found.items() if "deletionTimestamp" in one["metadata"]}

    async def delete_claim(self, node: str) -> None:
        claim = (await self.claims())[node]
        await self.ns.client.delete(CLAIMS, claim["metadata"]["name"])

    async def until(
        self, what: str, condition: Callable[[dict[str, Json]], bool]
    ) -> dict[str, Json]:
        return await eventually(self.nodes, condition, what, WITHIN)

    async def events(self, node: str, reason: str) -> list[Json]:
        """Wait for events of this reason on a node."""

        async def look() -> list[Json]:
            fields = f"involvedObject.kind=Node,involvedObject.name={node},reason={reason}"
            return list((await self.ns.client.list(EVENTS, "default", fields=fields)).items)

        return await eventually(look, bool, f"an event {reason} of the node {node}", WITHIN)


def group_set(
    name: str,
    group: str,
    pool: str,
    replicas: int = SIZE,
    annotations: Mapping[str, str] | None = None,
) -> Json:
    """Pods of a group on nodes of the pool, no two of a group on one node."""
    body = stateful_set(name, replicas, podManagementPolicy="Parallel")
    labels = {**LABELS, "group": group, "set": name}
    body["spec"]["selector"] = {"matchLabels": {"set": name}}
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"group": group}},
    }
    container = {
        "name": "main",
        "image": "registry.example/main:1",
        "readinessProbe": SLOW_PROBE | {"initialDelaySeconds": START},
        "resources": {"requests": {"cpu": "1"}},
    }
    body["spec"]["template"] = {
        "metadata": {"labels": labels, "annotations": dict(annotations or {})},
        "spec": {
            "nodeSelector": {POOL: pool},
            "terminationGracePeriodSeconds": GRACE,
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
            },
            "containers": [container],
        },
    }
    return body


async def create_groups(ns: NamespaceUnderTest, names: str) -> dict[str, int]:
    """One group for each letter; what each needs."""
    for name in names:
        await ns.create(STATEFUL_SETS, group_set(name, name, ns.name))
    return dict.fromkeys(names, SIZE)
