"""Nodes of one test alone, which the pods of the test ask for by label."""

import asyncio
import re
from collections import Counter
from typing import Any

from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.kubelet.nodes import new_node
from tests.contract.clusters import ClusterBackend
from tests.support.objects import NODES, PODS, Json

_PREEMPTION = " no new claims to deallocate, preemption: "
_LABEL = "intact-test/own"


class OwnNodes:
    """Named `a`, `b`, …: their real names are those of no other test."""

    def __init__(self, backend: ClusterBackend) -> None:
        self.backend = backend
        self._suffix = backend.namespace[-8:]
        self._made: list[str] = []

    def full(self, name: str) -> str:
        return f"{name}-{self._suffix}"

    async def add(self, *names: str, labels: Json | None = None, **node: Any) -> None:
        for name in names:
            made = new_node(
                self.full(name), labels={_LABEL: self.backend.namespace, **(labels or {})}, **node
            )
            await self.backend.client.create(NODES, made)
            self._made.append(name)
        wanted = len(node.get("taints", ()))

        def works(found: list[Json]) -> bool:
            return all(
                is_ready(each) and len(each["spec"].get("taints", ())) == wanted for each in found
            )

        await self.backend.until(lambda: self._all(names), works)

    async def _all(self, names: tuple[str, ...]) -> list[Json]:
        return [await self.backend.client.get(NODES, self.full(name)) for name in names]

    async def patch(self, name: str, **spec: Any) -> None:
        await self.backend.client.patch(NODES, {"spec": spec}, self.full(name))

    async def remove(self) -> None:
        await self.backend.client.delete_collection(
            PODS, self.backend.namespace, grace_period_seconds=0
        )
        for name in self._made:
            await self.backend.client.delete(NODES, self.full(name))

    def spec(self, **spec: Any) -> Json:
        """Of a pod that runs on these nodes only."""
        return {
            "nodeSelector": {_LABEL: self.backend.namespace},
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
            **spec,
        }

    async def pod(
        self, name: str, *, requests: Json | None = None, meta: Json | None = None, **spec: Any
    ) -> Json:
        made = self.spec(**spec)
        if requests:
            resources = {"requests": requests, "limits": requests}
            made["containers"] = [{**made["containers"][0], "resources": resources}]
        body = {"metadata": {"name": name, **(meta or {})}, "spec": made}
        return await self.backend.create(PODS, body)

    async def where(self, name: str) -> str:
        """The node of a pod, once it has one."""
        found = await self.backend.until(
            lambda: self.backend.get(PODS, name), lambda pod: pod["spec"].get("nodeName")
        )
        return str(found["spec"]["nodeName"]).removesuffix(f"-{self._suffix}")

    async def spread(self, labels: str, pods: int) -> dict[str, int]:
        """How many of so many pods are on which node, once all have one."""
        found = await self.backend.until(
            lambda: self.backend.pods(labels),
            lambda seen: len(seen) == pods and all(each["spec"].get("nodeName") for each in seen),
        )
        return dict(
            Counter(each["spec"]["nodeName"].removesuffix(f"-{self._suffix}") for each in found)
        )

    async def why(self, name: str) -> tuple[dict[str, int], dict[str, int]]:
        """Why a pod waits: how many nodes for which reason, and what preemption would do. Nodes of
        others are left out."""
        found = await self.backend.until(
            lambda: self.backend.get(PODS, name), lambda pod: _scheduled(pod).get("message")
        )
        condition = _scheduled(found)
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        nodes = (await self.backend.client.list(NODES)).items
        filters, preemption = condition["message"].split(_PREEMPTION)
        reasons, answers = _parsed(filters, len(nodes)), _parsed(preemption, len(nodes))
        assert sum(answers.values()) == len(nodes)
        own = [self.full(name) for name in self._made]
        for node in nodes:
            if node["metadata"]["name"] not in own:
                reasons[_refusal(node)] -= 1
                answers["Preemption is not helpful for scheduling"] -= 1
        return _positive(reasons), _positive(answers)


def _refusal(node: Json) -> str:
    """Why a node of others does not take a pod that asks for own nodes."""
    if node["spec"].get("unschedulable"):
        return "node(s) were unschedulable"
    if node["spec"].get("taints"):
        return "node(s) had untolerated taint(s)"
    return "node(s) didn't match Pod's node affinity/selector"


def _scheduled(pod: Json) -> Json:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return found[0] if found else {}


def _parsed(text: str, nodes: int) -> dict[str, int]:
    found = re.fullmatch(rf"0/{nodes} nodes are available: (.*)\.", text)
    assert found, (text, nodes)
    parts = [part.split(" ", 1) for part in found[1].split(", ")]
    assert [" ".join(part) for part in parts] == sorted(" ".join(part) for part in parts)
    return {reason: int(number) for number, reason in parts}


def _positive(counts: dict[str, int]) -> dict[str, int]:
    return {reason: number for reason, number in counts.items() if number > 0}


async def settle() -> None:
    """Long enough for a pod to be placed that could be, on either cluster."""
    await asyncio.sleep(1)
