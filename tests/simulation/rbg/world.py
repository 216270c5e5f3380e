"""The world of one run: the API, the controllers of its workloads, and what has happened."""

import asyncio
import random
from contextlib import AbstractAsyncContextManager

from intact.kube.client import Client
from intact.kube.resources import RBGS, SCALING_ADAPTERS
from intact.kube.transport import Request, Response, Stream, Transport
from intact.sandbox import Kind, MemoryApi, Scale, wall_clock
from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.deployments.controller import DeploymentController
from intact.sandbox.controllers.garbage import GarbageCollector
from intact.sandbox.controllers.replica_set import ReplicaSetController
from intact.sandbox.controllers.stateful_set import StatefulSetController
from tests.simulation.rbg.course import GROUP, NAMESPACE, OTHERS, Course
from tests.simulation.trace import Trace
from tests.support.objects import Json

KINDS = (
    Kind(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind, status=True),
    Kind(
        SCALING_ADAPTERS.group,
        SCALING_ADAPTERS.version,
        SCALING_ADAPTERS.plural,
        SCALING_ADAPTERS.kind,
        status=True,
        scale=Scale(selector="status.selector"),
    ),
)
WORKLOADS = {"StatefulSet": "statefulsets.apps", "Deployment": "deployments.apps"}
_CONTROLLER_LAG = 0.2
"""Seconds by which a write of a workload's controller may come after what it decided by."""


class World:
    def __init__(self, course: Course) -> None:
        self.course = course
        self.weather = course.weather
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock, seed=course.seed)
        for each in KINDS:
            self.api.register(each)
        self.trace = Trace()
        self.edits: list[str] = []
        """All that was done by users and others, in words."""
        self.user = self.client(OTHERS)
        self.intact_wrote = 0.0
        """When an operator last sent a request that writes."""

    def rng(self, name: str) -> random.Random:
        return self.course.rng(name)

    def client(self, user: str) -> Client:
        return Client(
            self.api.as_user(user), rng=self.rng(f"{user} client"), on_warning=lambda _text: None
        )

    def say(self, what: str) -> None:
        """Note what users and others do: a failing run prints all of it."""
        self.trace.note(what)
        self.edits.append(f"{asyncio.get_running_loop().time():9.3f} {what}")

    @property
    def group(self) -> Json:
        found = self.api.peek(RBGS.full_name, NAMESPACE, GROUP)
        assert found is not None
        return found

    def controllers(self) -> list[Controller | GarbageCollector]:
        shared = _Lagging(self)
        return [
            StatefulSetController(shared),
            DeploymentController(shared),
            ReplicaSetController(shared),
            GarbageCollector(shared),
        ]


class _Lagging(Shared):
    """Controllers whose writes come a moment after their decisions, as those of a real cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lag = world.rng("controller lag")
        super().__init__(world.api, world.clock)

    def client_of(self, user: str) -> Client:
        late = _Late(self._world.api.as_user(user), self._lag)
        return Client(
            late,
            field_manager="kube-controller-manager",
            rng=random.Random(user),
            on_warning=lambda _text: None,
        )


class _Late:
    def __init__(self, server: Transport, rng: random.Random) -> None:
        self._server = server
        self._rng = rng

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(self._rng.uniform(0, _CONTROLLER_LAG))
        return await self._server.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._server.stream(request)

    async def close(self) -> None:
        """Nothing to close."""


def seconds() -> float:
    return asyncio.get_running_loop().time()
