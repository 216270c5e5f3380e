"""A port that strangers reach: how many connections it holds, and for how long.

A connection is silent until its first byte, then unproven until a handler proves it (it knows the
path, or whatever else only the API server knows), then proven. Each stage has a number of places.
When the places of silent or unproven connections are taken, the one that has waited longest makes
room, but not before it had time to send its request. So connections that do nothing crowd out only
each other, and never a proven one. A silent connection costs a file descriptor and no memory: TLS
begins with its first byte.

There is no limit for each source: API servers behind a proxy share an address.

A client that finds its connection closed just as it sends a request cannot know whether the request
was read: the API server then fails the review. So at its end the port takes no new connections,
closes each one after its next answer, and the idle ones once no request has come for a while.
"""

import asyncio
import errno
import logging
import os
import resource
import socket
import ssl
from asyncio import sslproto
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import cast

from aiohttp import web

from intact.operator.errors import StartError

log = logging.getLogger(__name__)

_BACKLOG = 1024
_POLL = 0.05
"""Seconds between two looks for a place, while there is none."""
_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_SAID_EVERY = 60.0
_SHUTDOWN = 2.0
"""Seconds for the end of TLS."""
_QUIET = 1.0
_LEAVE = 10.0
"""Seconds without a request after which idle connections are closed at the end, and at most."""
_OTHER_FILES = 128
"""File descriptors beside each port, for everything but its connections."""
_TLS_BUFFER = 64 * 2**10
"""Bytes that asyncio reads at once from a TLS connection, and keeps for it: 256 KiB if nobody says
otherwise, of which 500 connections make 125 MiB."""
sslproto.SSLProtocol.max_size = _TLS_BUFFER


@dataclass(frozen=True, slots=True)
class Limits:
    silent: int = 512
    unproven: int = 512
    proven: int = 768
    """Three API servers with all their 200 changes at once, and as many idle connections as they
    keep."""
    silent_for: float = 0.25
    """Seconds after which a silent connection makes room. A client speaks first in TLS and HTTP, so
    its first byte comes with the connection."""
    unproven_for: float = 1.0
    """Seconds after which an unproven connection makes room."""
    first_request: float = 10.0
    """Seconds for the handshake, and from the first byte of a request until it proves something,
    also while there are places. A client that has only shaken hands may wait as long as others that
    are idle: Go keeps such connections for its next request."""

    def within(self, descriptors: int) -> "Limits":
        """The same, for a port that may have so many file descriptors."""
        places = self.silent + self.unproven + self.proven
        share = min(1.0, max(16, descriptors - _OTHER_FILES) / places)
        return Limits(
            max(4, int(self.silent * share)),
            max(4, int(self.unproven * share)),
            max(4, int(self.proven * share)),
            self.silent_for,
            self.unproven_for,
            self.first_request,
        )


class Connection(asyncio.Protocol):
    """One accepted connection. What it receives goes to a protocol of HTTP."""

    def __init__(self, port: "Port", accepted: socket.socket, since: float) -> None:
        self.since = since
        self.busy = 0
        """Reviews under way; a connection with one is never dropped."""
        self.task: asyncio.Task[None] | None = None
        self._begun = False
        self._port = port
        self._socket = accepted
        self._transport: asyncio.Transport | None = None
        self._inner: asyncio.Protocol | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._inner = self._port.protocol()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        assert self._inner is not None
        if not self._begun:
            self._begun = True
            self._port.expect_proof(self)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        assert self._inner is not None
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        assert self._inner is not None
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        assert self._inner is not None
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._inner is not None:
            self._inner.connection_lost(exc)
        self._port.forget(self)

    @property
    def is_last_request(self) -> bool:
        """Whether the connection ends with the answer."""
        return self._port.is_leaving

    @contextmanager
    def proven(self) -> Iterator[None]:
        """While a request that only the API server can send is answered."""
        self._port.prove(self)
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
            self._port.used(self)

    def drop(self) -> None:
        self._port.forget(self)
        if self._transport is not None:
            self._transport.abort()
        elif self.task is not None:
            self.task.cancel()


def connection_of(request: web.BaseRequest) -> Connection:
    transport = request.transport
    found = None if transport is None else transport.get_protocol()
    if not isinstance(found, Connection):
        raise ConnectionResetError("the connection is closed already")
    return found


class Port:
    def __init__(
        self,
        protocol: Callable[[], asyncio.Protocol],
        limits: Limits,
        context: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """Each connection takes the context of its time."""
        self.protocol = protocol
        self.dropped: Counter[str] = Counter()
        """Connections that were closed to make room or because they were slow, by stage."""
        # There are two ports.
        self._limits = limits.within(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._context = context
        # Each in the order in which they came; the proven in the order of their last use.
        self._silent: dict[Connection, None] = {}
        self._unproven: dict[Connection, None] = {}
        self._proven: dict[Connection, None] = {}
        self._said = float("-inf")
        self.is_leaving = False
        self._used = float("-inf")

    def __len__(self) -> int:
        return len(self._silent) + len(self._unproven) + len(self._proven)

    def prove(self, connection: Connection) -> None:
        self._used = asyncio.get_running_loop().time()
        if connection not in self._unproven:
            return
        del self._unproven[connection]
        self._proven[connection] = None
        if len(self._proven) > self._limits.proven:
            # Only another proven connection takes the place of one.
            idle = next((each for each in self._proven if not each.busy), connection)
            if idle is not connection:
                self._drop("idle", idle)

    def expect_proof(self, connection: Connection) -> None:
        """Within the time for a first request."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.first_request, self._expire, connection)

    def used(self, connection: Connection) -> None:
        if connection in self._proven:
            del self._proven[connection]
            self._proven[connection] = None

    def forget(self, connection: Connection) -> None:
        for stage in (self._silent, self._unproven, self._proven):
            stage.pop(connection, None)

    @asynccontextmanager
    async def open(self, sockets: list[socket.socket]) -> AsyncGenerator[None, None]:
        """Take connections while the block runs, and let those go that are established then."""
        tasks = [asyncio.create_task(self._accept(each)) for each in sockets]
        try:
            yield
        finally:
            starting = [each.task for each in (*self._silent, *self._unproven) if each.task]
            for task in (*tasks, *starting):
                task.cancel()
            await asyncio.gather(*tasks, *starting, return_exceptions=True)
            for each in sockets:
                each.close()
            await self._leave()

    async def _leave(self) -> None:
        """Return once no connection is proven, or they are idle."""
        self.is_leaving = True
        clock = asyncio.get_running_loop().time
        end = clock() + _LEAVE
        self._used = clock()
        while self._proven and clock() < min(end, self._used + _QUIET):
            await asyncio.sleep(_POLL)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        limits = self._limits
        while True:
            await self._room("silent", self._silent, limits.silent, limits.silent_for)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno in _NO_DESCRIPTORS:
                    await self._without_descriptors(error)
                continue
            connection = Connection(self, accepted, loop.time())
            self._silent[connection] = None
            connection.task = asyncio.create_task(self._receive(connection, accepted))

    async def _room(
        self, stage: str, held: dict[Connection, None], most: int, patience: float
    ) -> None:
        """Return once there is a place: one that has waited for long enough is dropped."""
        loop = asyncio.get_running_loop()
        while len(held) >= most:
            oldest = next((each for each in held if not each.busy), None)
            if oldest is not None and loop.time() >= oldest.since + patience:
                self._drop(stage, oldest)
            else:
                await asyncio.sleep(_POLL)

    def _drop(self, stage: str, connection: Connection) -> None:
        self.dropped[stage] += 1
        connection.drop()

    async def _without_descriptors(self, error: OSError) -> None:
        """The limits keep below the number of descriptors; what else the process has may not."""
        now = asyncio.get_running_loop().time()
        if now >= self._said + _SAID_EVERY:
            self._said = now
            log.warning("cannot take a connection beside %d others: %s", len(self), error)
        for held in (self._silent, self._unproven, self._proven):
            if oldest := next((each for each in held if not each.busy), None):
                self._drop("descriptors", oldest)
                break
        await asyncio.sleep(_POLL)

    async def _receive(self, connection: Connection, accepted: socket.socket) -> None:
        """From the first byte to the end of the handshake."""
        loop = asyncio.get_running_loop()
        limits = self._limits
        stage = "silent"
        try:
            async with asyncio.timeout(limits.first_request):
                await _readable(accepted)
            # From here to its place it is not silent any more, but still holds up the next.
            connection.busy += 1
            try:
                await self._room("unproven", self._unproven, limits.unproven, limits.unproven_for)
            finally:
                connection.busy -= 1
            connection.since = loop.time()
            del self._silent[connection]
            self._unproven[connection] = None
            stage = "handshake"
            if self._context is None:
                await loop.connect_accepted_socket(lambda: connection, accepted)
            else:
                await loop.connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=self._context(),
                    ssl_handshake_timeout=limits.first_request,
                    ssl_shutdown_timeout=_SHUTDOWN,
                )
        except (OSError, TimeoutError):
            self.dropped[stage] += 1
            self.forget(connection)
            accepted.close()
        except BaseException:
            self.forget(connection)
            accepted.close()
            raise

    def _expire(self, connection: Connection) -> None:
        if connection in self._unproven:
            self._drop("unproven", connection)


async def _readable(accepted: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    came: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        loop.remove_reader(accepted)
        if not came.done():
            came.set_result(None)

    loop.add_reader(accepted, tell)
    try:
        await came
    finally:
        loop.remove_reader(accepted)


def bound(host: str, port: int, *, shared: bool) -> list[socket.socket]:
    """Sockets that listen on all addresses of this name, without one on all of the machine: port 0
    takes any port that is free. Several processes may listen on a shared port; the kernel spreads
    connections among them. Raises `StartError`."""
    found: list[socket.socket] = []
    try:
        any_host = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - asked for
        for family, kind, number, _, address in socket.getaddrinfo(
            host or any_host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            one = socket.socket(family, kind, number)
            found.append(one)
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                # Without a host one socket takes IPv4 as well.
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(host)))
            one.bind(address)
            one.listen(_BACKLOG)
    except OSError as error:
        for one in found:
            one.close()
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error)
        raise StartError(f"cannot listen on {host}:{port}: {reason}") from error
    return found


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Seldom(logging.Filter):
    """Lets one record a minute pass: strangers cause them."""

    def __init__(self) -> None:
        super().__init__()
        self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        passes = record.created >= self._last + _SAID_EVERY
        if passes:
            self._last = record.created
        return passes


_PROTOCOL_LOG = logging.getLogger(f"{__name__}.protocol")
_PROTOCOL_LOG.addFilter(_Seldom())


@web.middleware
async def _end_with_answer(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """The client learns from the answer that the connection ends, if the port is closed by then."""
    answer = await handler(request)
    if connection_of(request).is_last_request:
        answer.force_close()
    return answer


@asynccontextmanager
async def listening(
    app: web.Application,
    host: str,
    port: int,
    *,
    limits: Limits,
    keep_alive: float,
    finish: float = 60.0,
    context: Callable[[], ssl.SSLContext] | None = None,
    shared: bool = False,
) -> AsyncGenerator[tuple[Port, list[str]], None]:
    """Serve while the block runs; requests that are running at its end get `finish` seconds. Yields
    the port and its addresses. Bodies are never inflated."""
    app.middlewares.append(_end_with_answer)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_PROTOCOL_LOG,
        keepalive_timeout=keep_alive,
        shutdown_timeout=finish,
        auto_decompress=False,
        max_headers=64,
        lingering_time=1.0,
    )
    await runner.setup()
    try:
        server = runner.server
        assert server is not None, "setup makes one"
        served = Port(server, limits, context)
        sockets = bound(host, port, shared=shared)
        names = [each.getsockname() for each in sockets]
        async with served.open(sockets):
            yield served, [_address(*name[:2]) for name in names]
    finally:
        await runner.cleanup()
