"""A client whose changes of a RoleBasedGroup meet those of others."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict
from intact.kube.transport import Request, Response, Stream
from intact.model.status import Status
from tests.support.rbg_waiting import GROUPS
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene


class Busy:
    """Between a client and the API: before each of its first changes, another client's."""

    def __init__(self, scene: Scene, times: int, other: Callable[[int], Awaitable[None]]) -> None:
        self.conflicts = 0
        self._scene = scene
        self._times = times
        self._other = other

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH" and self.conflicts < self._times:
            self.conflicts += 1
            await self._other(self.conflicts)
        return await self._scene.api.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._scene.api.stream(request)

    async def close(self) -> None:
        """Nothing to close."""


def busy(scene: Scene, times: int) -> tuple[Client, Busy]:
    """Others scale a role: the fields that are to be changed are others each time."""

    async def scale(number: int) -> None:
        patch = [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 10 + number}]
        await scene.client.patch(GROUPS, patch, "llm", NS, type=PatchType.JSON)

    return busy_with(scene, times, scale)


def contended(scene: Scene, times: int) -> tuple[Client, Busy]:
    """The server itself finds no order for the change and those of others."""

    async def refuse(_number: int) -> None:
        raise Conflict(Status(code=409, message="modified"))

    return busy_with(scene, times, refuse)


def busy_with(
    scene: Scene, times: int, other: Callable[[int], Awaitable[None]]
) -> tuple[Client, Busy]:
    wire = Busy(scene, times, other)
    return Client(wire), wire
