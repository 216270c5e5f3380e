"""A proxy on loopback that can cut, freeze and refuse connections, for tests of recovery.

It terminates the TLS of the server: it cuts the HTTP stream itself, not a TLS record.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65536


class Proxy:
    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        self.port = 0
        self.accepting = True
        """While false, the proxy closes new connections at once."""
        self.flowing = asyncio.Event()
        """While clear, no byte passes and no connection is closed: a silent network."""
        self.flowing.set()
        self.cuts = 0
        self._target = (host, port)
        self._context = context
        self._connections: set[asyncio.Task[None]] = set()
        self._cut_after: int | None = None

    def cut_all(self) -> None:
        """Break every connection now."""
        for connection in self._connections:
            connection.cancel()

    def cut_after(self, size: int) -> None:
        """Break a connection after so many more bytes from the server, in the middle of what the
        server is sending."""
        self._cut_after = size

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if self.accepting:
                await self._connect(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # an end or the test broke the connection
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target, ssl=self._context)
        upward = asyncio.create_task(self._copy(reader, far_writer, downward=False))
        try:
            await self._copy(far_reader, writer, downward=True)
        finally:
            upward.cancel()
            await asyncio.gather(upward, return_exceptions=True)
            far_writer.transport.abort()

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, downward: bool
    ) -> None:
        while data := await reader.read(_CHUNK):
            await self.flowing.wait()
            if downward and self._cut_after is not None:
                self._cut_after -= len(data)
                if self._cut_after <= 0:
                    writer.write(data[: len(data) + self._cut_after])
                    self._cut_after = None
                    self.cuts += 1
                    with suppress(OSError):
                        await writer.drain()
                    return
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def proxy_to(host: str, port: int, context: ssl.SSLContext) -> AsyncGenerator[Proxy, None]:
    proxy = Proxy(host, port, context)
    server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.cut_all()
        server.close()
        proxy.flowing.set()
        await asyncio.gather(*proxy._connections, return_exceptions=True)
