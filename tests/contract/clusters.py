"""Two clusters with all that runs in them, behind one interface: the sandbox, and the development
cluster with its controllers, its scheduler and kwok's nodes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.decoding import WatchEvent
from intact.kube.http import HttpTransport
from intact.kube.resources import Resource
from intact.sandbox.cluster import Sandbox
from tests.support.objects import NAMESPACES, NODES, PODS, Json

T = TypeVar("T")
_LOOK_AGAIN = 0.05


class ClusterBackend:
    """`nodes` are ready, and take any pod."""

    def __init__(self, client: Client, namespace: str, nodes: list[str]) -> None:
        self.client = client
        self.namespace = namespace
        self.nodes = nodes

    async def create(self, resource: Resource[Json], body: Json) -> Json:
        return await self.client.create(resource, body, self.namespace)

    async def get(self, resource: Resource[Json], name: str) -> Json:
        return await self.client.get(resource, name, self.namespace)

    async def patch(self, resource: Resource[Json], name: str, body: Json) -> Json:
        return await self.client.patch(resource, body, name, self.namespace)

    async def all(self, resource: Resource[Json], labels: str = "") -> list[Json]:
        """By name."""
        found = (await self.client.list(resource, self.namespace, labels=labels)).items
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def pods(self, labels: str = "") -> list[Json]:
        return await self.all(PODS, labels)

    async def until(
        self, look: Callable[[], Awaitable[T]], wanted: Callable[[T], Any], within: float = 60
    ) -> T:
        """Look again and again. Fails with what was seen last."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        while True:
            seen = await look()
            if wanted(seen):
                return seen
            assert loop.time() < end, f"not within {within} s; the last look: {seen}"
            await asyncio.sleep(_LOOK_AGAIN)

    async def until_status(self, resource: Resource[Json], name: str, **wanted: Any) -> Json:
        """Wait until the status was written for the present generation and has these fields; a
        field that is missing is 0."""

        def holds(obj: Json) -> bool:
            status = obj.get("status", {})
            observed = status.get("observedGeneration", 0) >= obj["metadata"]["generation"]
            return observed and all(
                status.get(field, 0) == value for field, value in wanted.items()
            )

        return await self.until(lambda: self.get(resource, name), holds)

    @asynccontextmanager
    async def recorded(
        self, resource: Resource[Json] = PODS
    ) -> AsyncGenerator[list[WatchEvent[Json]], None]:
        """All that happens to the objects of the namespace meanwhile, in order."""
        events: list[WatchEvent[Json]] = []
        since = (await self.client.list(resource, self.namespace)).resource_version

        async def record(opened: asyncio.Event) -> None:
            nonlocal events
            async with self.client.watch(
                resource, self.namespace, resource_version=since
            ) as stream:
                opened.set()
                async for event in stream:
                    events += [event] if event.type != "BOOKMARK" else []

        opened = asyncio.Event()
        task = asyncio.create_task(record(opened))
        await opened.wait()
        try:
            yield events
        finally:
            task.cancel()


@asynccontextmanager
async def real_cluster(cluster: Cluster, namespace: str) -> AsyncGenerator[ClusterBackend, None]:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        nodes = (await client.list(NODES, labels="type=kwok")).items
        yield ClusterBackend(client, namespace, [each["metadata"]["name"] for each in nodes])


@asynccontextmanager
async def memory_cluster() -> AsyncGenerator[ClusterBackend, None]:
    sandbox = Sandbox()
    nodes = ["node-0", "node-1", "node-2"]
    async with sandbox.running(), sandbox.client() as client:
        await client.create(NAMESPACES, {"metadata": {"name": "contract"}})
        for name in nodes:
            await sandbox.add_node(name, labels={"type": "kwok"})
        yield ClusterBackend(client, "contract", nodes)
