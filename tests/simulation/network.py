"""The network between one operator and the API server: slow, lossy, and cut when it dies."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from intact.kube.errors import Unreachable
from intact.kube.transport import Request, Response, Stream, Transport
from intact.sandbox import MemoryApi
from tests.simulation.scenario import Weather

_SLOWEST = 4.0


class Network:
    """A request that was sent may be carried out after its sender has died. `on_send` sees each
    request before it is sent."""

    def __init__(
        self,
        api: MemoryApi,
        name: str,
        rng: random.Random,
        weather: Callable[[], Weather],
        *,
        user: str = "",
        on_send: Callable[[Request], None] = lambda _request: None,
    ) -> None:
        self.name = name
        self._api = api
        self._server: Transport = api.as_user(user) if user else api
        self._on_send = on_send
        self._rng = rng
        self._weather = weather
        self._cut = False
        self._under_way: dict[int, asyncio.Task[Response]] = {}
        self._sent = 0

    def cut(self) -> None:
        self._cut = True

    async def send(self, request: Request) -> Response:
        self._check()
        self._on_send(request)
        self._sent += 1
        number = self._sent
        task = asyncio.create_task(self._deliver(request), name=f"{self.name} request {number}")
        self._under_way[number] = task
        task.add_done_callback(lambda done: self._arrived(number, done))
        return await asyncio.shield(task)

    def _arrived(self, number: int, task: asyncio.Task[Response]) -> None:
        del self._under_way[number]
        if not task.cancelled():
            task.exception()  # its sender may be dead: asyncio must not warn of it

    async def _deliver(self, request: Request) -> Response:
        restores = self._api.restores
        await self._travel()
        weather = self._weather()
        if self._api.restores != restores:
            raise Unreachable(f"{request.method} {request.path}: the server restarted")
        if self._rng.random() < (0.5 if self._cut else weather.lost):
            raise Unreachable(f"{request.method} {request.path}: lost on its way")
        response = await self._server.send(request)
        await self._travel()
        if self._rng.random() < weather.lost:
            raise Unreachable(f"{request.method} {request.path}: the answer was lost")
        return response

    async def _travel(self) -> None:
        weather = self._weather()
        most = _SLOWEST if self._rng.random() < weather.slow else weather.latency
        await asyncio.sleep(self._rng.uniform(0, most))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(replace(request, query={**request.query, "client": self.name}))

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[Stream, None]:
        self._check()
        restores = self._api.restores
        await self._travel()
        if self._api.restores != restores:
            raise Unreachable(f"{request.method} {request.path}: the server restarted")
        async with self._server.stream(request) as stream:
            yield stream

    def _check(self) -> None:
        if self._cut:
            raise Unreachable("this operator is dead", sent=False)

    async def close(self) -> None:
        """Nothing to close."""


def watches_of(name: str, plural: str = "") -> Callable[[Request], bool]:
    """Whether a request is a watch of this operator, on one resource or on any."""
    return lambda request: request.query.get("client") == name and request.path.endswith(plural)
