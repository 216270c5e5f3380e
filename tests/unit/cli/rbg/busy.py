"""A client whose changes of a RoleBasedGroup meet those of others."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from intact.kube.client import Client
from intact.kube.transport import Request, Response, Stream
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
    """Others change metadata, as the operator changes the status: the version is another."""

    async def annotate(number: int) -> None:
        body = {"metadata": {"annotations": {"test/changed": str(number)}}}
        await scene.client.patch(GROUPS, body, "llm", NS)

    return busy_with(scene, times, annotate)


def busy_with(
    scene: Scene, times: int, other: Callable[[int], Awaitable[None]]
) -> tuple[Client, Busy]:
    wire = Busy(scene, times, other)
    return Client(wire), wire
