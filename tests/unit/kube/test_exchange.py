"""Answers as servers may send them, and connections that are kept or not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from intact.kube.errors import Unreachable
from intact.kube.exchange import Exchanges

LONG = b"x" * 600_000
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers each request with the next of its answers; an empty one ends the connection."""

    def __init__(self, *answers: bytes) -> None:
        self.connections = 0
        self.asked: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._answers = list(answers)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(asyncio.create_task(self.serve(reader, writer)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.asked.append(await reader.readexactly(length))
                answer = self._answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if _ends(answer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)


@asynccontextmanager
async def exchanging(server: Server) -> AsyncGenerator[Exchanges, None]:
    listening = await asyncio.start_server(server.accept, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    exchanges = Exchanges(f"http://127.0.0.1:{port}", "127.0.0.1", port, None, None, 5)
    async with listening:
        yield exchanges
        await exchanges.close()
        await asyncio.gather(*server.tasks)


def _ends(answer: bytes) -> bool:
    kept = b"Length" in answer or b"chunked" in answer or b" 204 " in answer
    return b"Connection: close" in answer or not kept


HEAD = b"PUT /x HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (OK, 200, b"ok"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", 409, b""),
        (CHUNKED, 200, b"abc0123456789"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n" + b"x" * 600_000,
            200,
            b"x" * 600_000,
        ),
    ],
)
async def test_answers(answer: bytes, status: int, body: bytes) -> None:
    server = Server(answer, OK)
    async with exchanging(server) as exchanges:
        found = await exchanges.send(HEAD, b"one", 5)
        assert (found.status, found.body) == (status, body)
        again = await exchanges.send(HEAD, b"two", 5)
        assert again.body == b"ok"
    assert server.asked == [b"one", b"two"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nok",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
        b"HTTP/1.1 XYZ\r\nConnection: close\r\n\r\n",
    ],
)
async def test_what_is_no_answer_is_a_lost_connection(answer: bytes) -> None:
    server = Server(answer)
    async with exchanging(server) as exchanges:
        with pytest.raises(Unreachable, match="lost the connection") as caught:
            await exchanges.send(HEAD, b"one", 5)
    assert caught.value.sent
    assert server.asked == [b"one"]


async def test_a_connection_is_kept_unless_the_server_closes_it() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    server = Server(OK, OK, closing, OK)
    async with exchanging(server) as exchanges:
        for _ in range(3):
            await exchanges.send(HEAD, b"", 5)
        assert server.connections == 1
        await exchanges.send(HEAD, b"", 5)
        assert server.connections == 2


async def test_each_exchange_at_once_has_its_connection() -> None:
    server = Server(*[OK] * 3)
    async with exchanging(server) as exchanges:
        answers = await asyncio.gather(*(exchanges.send(HEAD, b"", 5) for _ in range(3)))
    assert [answer.body for answer in answers] == [b"ok"] * 3
    assert server.connections == 3


async def test_headers() -> None:
    answer = OK.replace(b"\r\n\r\n", b"\r\nWARNING: one\r\nWarning:two\r\n\r\n")
    async with exchanging(Server(answer)) as exchanges:
        found = await exchanges.send(HEAD, b"", 5)
    assert found.all("warning") == ["one", "two"]
    assert found.first("retry-after") == ""


async def test_an_exchange_that_is_given_up_gives_up_its_connection() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        writer.close()
        ended.set()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    exchanges = Exchanges("server", "127.0.0.1", port, None, None, 5)
    async with listening:
        with pytest.raises(Unreachable, match="no answer from server in time") as caught:
            await exchanges.send(HEAD, b"", 0.05)
        assert caught.value.sent
        assert exchanges._take() is None
        await ended.wait()
    await exchanges.close()
