"""A cluster with one LeaderWorkerSet, whose pods run."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.leader_worker_set.kind import LEADER_WORKER_SETS
from intact.sandbox.kubelet.times import Times
from tests.support.objects import PODS, Json

NS = "default"


def leader_worker_set(replicas: int = 2, size: int = 3, **spec: Any) -> Json:
    template = {
        "metadata": {"labels": {"app": "llm"}},
        "spec": {"containers": [{"name": "main", "image": "engine:1"}]},
    }
    return {
        "apiVersion": LEADER_WORKER_SETS.api_version,
        "kind": LEADER_WORKER_SETS.kind,
        "metadata": {"name": "llm"},
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {"size": size, "workerTemplate": template},
            **spec,
        },
    }


@dataclass
class Scene:
    sandbox: Sandbox

    @property
    def pods(self) -> dict[str, Json]:
        return {each["metadata"]["name"]: each for each in self.sandbox.api.objects("pods", NS)}

    def labels(self, name: str) -> Json:
        found: Json = self.pods[name]["metadata"]["labels"]
        return found

    @property
    def whole(self) -> Json:
        found = self.sandbox.api.peek(LEADER_WORKER_SETS.full_name, NS, "llm")
        assert found is not None
        return found

    def true(self) -> set[str]:
        """The conditions that hold."""
        conditions = self.whole.get("status", {}).get("conditions") or ()
        return {each["type"] for each in conditions if each["status"] == "True"}

    async def until(self, holds: Callable[[], bool], seconds: float = 120) -> None:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.1)

    async def until_available(self) -> None:
        await self.until(lambda: self.true() == {"Available"} and self._is_seen())

    def _is_seen(self) -> bool:
        found = self.whole
        return bool(found["status"]["observedGeneration"] == found["metadata"]["generation"])

    async def change(self, **spec: Any) -> None:
        await self.sandbox.client().patch(LEADER_WORKER_SETS, {"spec": spec}, "llm", NS)

    async def change_image(self, image: str) -> None:
        containers = [{"name": "main", "image": image}]
        template = {"workerTemplate": {"spec": {"containers": containers}}}
        await self.change(leaderWorkerTemplate=template)

    async def delete(self, name: str) -> None:
        await self.sandbox.client().delete(PODS, name, NS)


@asynccontextmanager
async def scene(body: Json, *, nodes: int = 1, ready: bool = True) -> AsyncGenerator[Scene, None]:
    sandbox = Sandbox(times=Times(ready=1.0, termination=1.0))
    found = Scene(sandbox)
    async with sandbox.running():
        for number in range(nodes):
            await sandbox.add_node(f"node-{number}", labels={"rack": f"r{number}"})
        await sandbox.client().create(LEADER_WORKER_SETS, body, NS)
        if ready:
            await found.until_available()
        yield found
