"""One request, one answer, over a connection that is kept: HTTP/1.1 and nothing else.

For writes, which a controller sends by the thousand: an exchange takes a third of the CPU time that
aiohttp's client takes, whose sessions know of cookies, redirects and much more. Reads, streams and
requests through a proxy stay with aiohttp.

- A connection has one exchange at a time. An exchange that fails ends its connection.
- Nothing is repeated: a kept connection that the server closes meanwhile fails the exchange, and
  the caller decides whether to send it again.
"""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass

from intact.kube.errors import cannot_connect, connection_lost, connects_too_slowly, no_answer

_KEEP = 15.0
"""Seconds for which an idle connection is kept."""
_LIMIT = 2**18
_NO_BODY = (204, 304)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    """Names in lower case."""
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def first(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


class _Broken(Exception):
    """What was received is not an HTTP answer."""


class _Connection:
    __slots__ = ("idle_since", "reader", "writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.idle_since = 0.0

    def end(self) -> None:
        """At once, without waiting for anything."""
        self.writer.transport.abort()


class Exchanges:
    """With one server, as one user."""

    def __init__(
        self,
        server: str,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        server_hostname: str | None,
        connect_timeout: float,
    ) -> None:
        self._server = server
        self._host = host
        self._port = port
        self._context = context
        self._server_hostname = server_hostname
        self._connect_timeout = connect_timeout
        self._idle: deque[_Connection] = deque()
        self._closed = False

    async def send(self, head: bytes, body: bytes, timeout: float) -> Answer:
        """`head` is everything before the body, without its length. Raises `Unreachable`."""
        try:
            async with asyncio.timeout(timeout):
                connection = self._take() or await self._connect()
                return await self._exchange(connection, head, body)
        except TimeoutError as error:
            raise no_answer(self._server) from error

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.popleft().end()
        await asyncio.sleep(0)  # the loop closes the sockets in its next step

    def _take(self) -> _Connection | None:
        """The connection that was used last; those that were idle for too long are closed."""
        now = asyncio.get_running_loop().time()
        while self._idle and self._idle[0].idle_since < now - _KEEP:
            self._idle.popleft().end()
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection
            connection.end()
        return None

    async def _connect(self) -> _Connection:
        try:
            async with asyncio.timeout(self._connect_timeout):
                reader, writer = await asyncio.open_connection(
                    self._host,
                    self._port,
                    ssl=self._context,
                    server_hostname=self._server_hostname if self._context else None,
                    limit=_LIMIT,
                )
        except TimeoutError as error:
            raise connects_too_slowly(self._server, self._connect_timeout) from error
        except (OSError, ssl.SSLError) as error:
            raise cannot_connect(self._server, error) from error
        return _Connection(reader, writer)

    async def _exchange(self, connection: _Connection, head: bytes, body: bytes) -> Answer:
        kept = False
        try:
            connection.writer.write(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body))
            answer, kept = await _read(connection.reader)
        except (OSError, EOFError, asyncio.LimitOverrunError, ValueError, _Broken) as error:
            raise connection_lost(self._server, error) from error
        finally:
            if kept and not self._closed:
                connection.idle_since = asyncio.get_running_loop().time()
                self._idle.append(connection)
            else:
                connection.end()
        return answer


async def _read(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """The answer, and whether the connection can be used again."""
    while True:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        protocol, _, rest = lines[0].partition(" ")
        if not protocol.startswith("HTTP/1."):
            raise _Broken(f"not HTTP/1: {lines[0][:80]!r}")
        status = int(rest[:3])
        if status >= 200:  # 1xx only announce the answer
            break
    headers = []
    for line in lines[1:-2]:
        name, _, value = line.partition(":")
        headers.append((name.strip().lower(), value.strip()))
    answer = Answer(status, headers, b"")
    kept = protocol == "HTTP/1.1" and answer.first("connection").lower() != "close"
    if status in _NO_BODY:
        return answer, kept
    if "chunked" in answer.first("transfer-encoding").lower():
        body = await _read_chunks(reader)
    elif length := answer.first("content-length"):
        body = await reader.readexactly(int(length))
    else:
        body, kept = await reader.read(), False
    return Answer(status, headers, body), kept


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while True:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        if not size:
            break
        chunks.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise _Broken("a chunk does not end where its size says")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(chunks)
