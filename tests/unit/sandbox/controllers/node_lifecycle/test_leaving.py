"""Pods that leave because of their node. When they do, the tests of its two controllers tell."""

import asyncio

from intact.sandbox import run
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import condition
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.node_lifecycle.leaving import LeavingPods
from tests.support.objects import NODES, PODS
from tests.support.scheduling import a_pod

NS = "default"


class Closing(LeavingPods):
    """Pods leave a node a minute after it is labelled as closing."""

    user = "system:serviceaccount:kube-system:closing"
    reason = "Closing"
    message = "the node closes"

    def may_stay(self, pod: Json) -> float | None:
        node = self.shared.api.peek("nodes", "", pod["spec"].get("nodeName", ""))
        return 60.0 if _closes(node) else None

    def concerns_pods(self, old: Json | None, new: Json | None) -> bool:
        return _closes(old) != _closes(new)

    async def remove(self, pod: Json) -> None:
        await self.mark(pod)


def _closes(node: Json | None) -> bool:
    return node is not None and "closes" in node["metadata"]["labels"]


def test_the_time_of_a_pod_begins_anew_if_its_node_may_keep_it_again() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        sandbox.parts.append(Closing(sandbox.shared))
        async with sandbox.running():
            client = sandbox.client()
            await sandbox.add_node("x")
            await client.create(PODS, a_pod("p", namespace=NS), NS)
            await asyncio.sleep(1)
            found = []
            for label, seconds in (("yes", 50), (None, 50), ("yes", 50), ("yes", 20)):
                await client.patch(NODES, {"metadata": {"labels": {"closes": label}}}, "x")
                await asyncio.sleep(seconds)
                pod = await client.get(PODS, "p", NS)
                found.append((condition(pod, "DisruptionTarget") or {}).get("reason"))
            assert found == [None, None, None, "Closing"]

    run(main(), seed=1)
