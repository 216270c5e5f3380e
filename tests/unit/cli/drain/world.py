"""A cluster in memory for tests of drains, in simulated time; the numbers of budgets are given."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from intact.cli.drain.draining import Draining, Result
from intact.cli.drain.events import Event, What
from intact.cli.drain.evictions import Evictions
from intact.cli.drain.options import Options
from intact.cli.drain.watching import Watching
from intact.kube.client import Client
from intact.kube.transport import Request, Response, Stream
from intact.model.status import Status
from intact.sandbox import MemoryApi, run, wall_clock
from tests.support.objects import NAMESPACES, NODES, PDBS, PODS, Json, pod

SPACE = "ns"
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "name": "s",
    "uid": "1",
    "controller": True,
}
LWS = "leaderworkerset.sigs.k8s.io"


class World:
    def __init__(self) -> None:
        self.api = MemoryApi()
        self.client = Client(self)
        self.events: list[tuple[float, Event]] = []
        self.asked: list[str] = []
        """The pods that were asked for, in their order."""
        self.instead: Callable[[str], Response | None] = lambda _name: None
        """Answers evictions of these pods in place of the server."""
        self.draining: Draining | None = None

    # A transport

    async def send(self, request: Request) -> Response:
        if request.path.endswith("/eviction"):
            name = request.path.split("/")[-2]
            self.asked.append(name)
            given = self.instead(name)
            if given is not None:
                return given
        return await self.api.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self.api.stream(request)

    async def close(self) -> None:
        await self.api.close()

    # Objects

    async def set_up(self, *nodes: str) -> None:
        for node in nodes or ("n",):
            await self.client.create(NODES, {"metadata": {"name": node}})
        await self.client.create(NAMESPACES, {"metadata": {"name": SPACE}})

    async def add(self, name: str, group: str = "", *, node: str = "n", size: int = 2) -> None:
        """Of a group of a LeaderWorkerSet, if one is named."""
        labels, annotations = {"app": "a"}, {}
        if group:
            labels |= {f"{LWS}/name": "l", f"{LWS}/group-key": group}
            annotations = {f"{LWS}/size": str(size)}
        body = pod(name, node=node, labels=labels, annotations=annotations, ownerReferences=[OWNER])
        await self.client.create(PODS, body, SPACE)
        await self.ready(name)

    async def ready(self, name: str, status: str = "True") -> None:
        body = {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}
        await self.client.patch(PODS, {"status": body}, name, SPACE, subresource="status")

    async def budget(self, allowed: int, name: str = "b") -> None:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
        await self.client.create(PDBS, {"metadata": {"name": name}, "spec": spec}, SPACE)
        await self.allow(allowed, name)

    async def allow(self, allowed: int, name: str = "b") -> None:
        counted = {
            "disruptionsAllowed": allowed,
            "observedGeneration": 1,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 3,
        }
        await self.client.patch(PDBS, {"status": counted}, name, SPACE, subresource="status")

    async def gone(self, name: str, after: float = 0.0) -> None:
        if after:
            await asyncio.sleep(after)
        await self.api.finish_pod(SPACE, name)

    @asynccontextmanager
    async def kubelet(self) -> AsyncGenerator[None, None]:
        """Pods that are let go are gone a second later."""

        async def ends() -> None:
            ended: Counter[str] = Counter()
            while True:
                await asyncio.sleep(1)
                for one in (await self.client.list(PODS, SPACE)).items:
                    meta = one["metadata"]
                    if "deletionTimestamp" in meta and not ended[meta["uid"]]:
                        ended[meta["uid"]] += 1
                        await self.gone(meta["name"])

        task = asyncio.create_task(ends())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    # The drain

    async def drain(self, *nodes: str, **options: Any) -> Result:
        names = nodes or ("n",)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        given = Options(**options)
        watching = Watching(self.client, names)
        async with watching.running():
            self.draining = Draining(
                watching,
                Evictions(self.client, given),
                names,
                given,
                lambda event: self.events.append((round(loop.time() - begun, 3), event)),
                wall_clock(),
            )
            return await self.draining.run([one for node in names for one in watching.on(node)])

    def told(self, *what: What) -> list[tuple[float, str, str]]:
        """When, what, and of which pod, node or budget."""
        return [
            (at, str(event.what), event.pod or event.node or event.budget)
            for at, event in self.events
            if event.what in what
        ]

    def of(self, what: What) -> list[str]:
        return [name for _at, _what, name in self.told(what)]


def refusal(
    code: int, message: str, causes: Sequence[Json] = (), retry_after: float | None = None
) -> Response:
    status = {"kind": "Status", "code": code, "message": message, "details": {"causes": causes}}
    body = msgspec.json.encode(msgspec.convert(status, Status))
    return Response(code, body, retry_after)


def simulated(test: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """In simulated time. A drain that waits for nothing is a deadlock, and fails."""

    def called() -> None:
        run(test(World()), seed=1, max_time=4 * 3600)

    called.__name__, called.__doc__ = test.__name__, test.__doc__
    return called
