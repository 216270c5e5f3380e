"""A port under connections that do nothing, too little or too much."""

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import pytest
from aiohttp import web

from intact.operator import listening as module
from intact.operator.listening import Limits, Port, connection_of, listening

HOST = "127.0.0.1"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
STREAMS: list[Stream] = []
FEW = Limits(silent=4, unproven=4, proven=4, silent_for=0.1, unproven_for=0.2)


async def page(request: web.Request) -> web.Response:
    if request.path == "/wrong":
        return web.Response(status=404)
    with connection_of(request).proven():
        if request.path == "/slow":
            await asyncio.sleep(0.3)
        return web.Response(text="here")


@asynccontextmanager
async def serving(limits: Limits = FEW, **options: Any) -> AsyncGenerator[tuple[Port, int], None]:
    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    served = listening(app, HOST, 0, limits=limits, **{"keep_alive": 60.0, **options})
    async with served as (port, [address]):
        try:
            yield port, int(address.rpartition(":")[2])
        finally:
            while STREAMS:
                _, writer = STREAMS.pop()
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()


async def opened(number: int) -> Stream:
    stream = await asyncio.open_connection(HOST, number)
    STREAMS.append(stream)
    return stream


async def asked(stream: Stream, path: str = "/") -> bytes:
    """The first line of the answer."""
    reader, writer = stream
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        await reader.readexactly(length)
    return head.split(b"\r\n")[0]


async def ended(stream: Stream) -> bool:
    """Whether the server closes it."""
    try:
        async with asyncio.timeout(5):
            return await stream[0].read(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


OK = b"HTTP/1.1 200 OK"


async def test_connections_that_say_nothing_crowd_out_only_each_other() -> None:
    async with serving() as (port, number):
        proven = await opened(number)
        assert await asked(proven) == OK
        silent = [await opened(number) for _ in range(20)]
        assert await asked(await opened(number)) == OK
        assert await asked(proven) == OK
        assert len(port) <= 3 * 4
        assert port.dropped["silent"] >= 15
        assert await ended(silent[0])


async def test_connections_that_never_finish_their_headers_crowd_out_only_each_other() -> None:
    async with serving() as (port, number):
        proven = await opened(number)
        assert await asked(proven) == OK
        for _ in range(20):
            _, writer = await opened(number)
            writer.write(b"GET / HTTP/1.1\r\n")
        assert await asked(await opened(number)) == OK
        assert await asked(proven) == OK
        assert port.dropped["unproven"] >= 10


async def test_a_request_that_proves_nothing_keeps_no_place() -> None:
    async with serving() as (port, number):
        proven = await opened(number)
        assert await asked(proven) == OK
        for _ in range(20):
            assert await asked(await opened(number), "/wrong") == b"HTTP/1.1 404 Not Found"
        assert await asked(proven) == OK
        assert port.dropped["unproven"] >= 10


async def test_of_proven_connections_the_one_that_was_not_used_longest_makes_room() -> None:
    async with serving(Limits(proven=4)) as (_, number):
        streams = [await opened(number) for _ in range(4)]
        for stream in [*streams, streams[0]]:
            assert await asked(stream) == OK
        assert await asked(await opened(number)) == OK
        assert await asked(await opened(number)) == OK
        assert await ended(streams[1])
        assert await asked(streams[0]) == OK


async def test_a_connection_with_a_request_under_way_is_never_dropped() -> None:
    async with serving(Limits(proven=4)) as (_, number):
        streams = [await opened(number) for _ in range(4)]
        slow = [asyncio.create_task(asked(stream, "/slow")) for stream in streams]
        await asyncio.sleep(0.05)
        assert await asked(await opened(number)) == OK
        assert await asyncio.gather(*slow) == [OK] * 4


async def test_silent_connections_cost_no_proven_one_its_place() -> None:
    async with serving() as (port, number):
        streams = []
        for _ in range(4):
            streams.append(await opened(number))
            assert await asked(streams[-1]) == OK
        for _ in range(20):
            await opened(number)
        assert [await asked(stream) for stream in streams] == [OK] * 4
        assert port.dropped["idle"] == 0


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost:"], ids=["silent", "headers"])
async def test_a_first_request_has_a_time_also_while_there_is_room(begun: bytes) -> None:
    async with serving(Limits(first_request=0.1)) as (port, number):
        stream = await opened(number)
        stream[1].write(begun)
        assert await ended(stream)
        assert len(port) == 0


async def test_an_idle_connection_ends() -> None:
    async with serving(keep_alive=0.1) as (port, number):
        stream = await opened(number)
        assert await asked(stream) == OK
        assert await ended(stream)
        assert len(port) == 0


async def test_without_file_descriptors_the_log_has_one_line_and_the_port_recovers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as (_, number):
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept
        failures = 0

        async def fail(listening: socket.socket) -> tuple[socket.socket, Any]:
            nonlocal failures
            if failures < 20:
                failures += 1
                raise OSError(errno.EMFILE, "Too many open files")
            return await accept(listening)

        monkeypatch.setattr(module, "_POLL", 0.001)
        monkeypatch.setattr(loop, "sock_accept", fail)
        for _ in range(2):
            assert await asked(await opened(number)) == OK
        assert failures == 20
    [record] = [each for each in caplog.records if each.name == module.__name__]
    assert "cannot take a connection" in record.getMessage()


async def test_what_is_no_http_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (_, number):
        for _ in range(10):
            stream = await opened(number)
            stream[1].write(b"GET / HTTP/1.1\r\nbad header\r\n\r\n")
            assert (await stream[0].readline()).startswith(b"HTTP/1.0 400")
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) <= 1


@pytest.mark.parametrize(
    "head",
    [b"X: " + b"x" * 10_000, b"\r\n".join(b"X-%d: x" % number for number in range(100))],
    ids=["a long header", "many headers"],
)
async def test_headers_are_limited(head: bytes) -> None:
    async with serving() as (_, number):
        stream = await opened(number)
        stream[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
        assert b" 400 " in await stream[0].readline()


async def test_the_end_waits_for_no_connection_that_has_only_begun() -> None:
    async with asyncio.timeout(5):
        async with serving() as (_, number):
            with closing(socket.create_connection((HOST, number))):
                await asyncio.sleep(0.05)


def test_the_limits_keep_below_the_file_descriptors() -> None:
    few = Limits().within(512)
    assert few.silent + few.unproven + few.proven <= 512 - 128
    assert Limits().within(2**20) == Limits()
    assert min(Limits().within(10).silent, Limits().within(10).proven) >= 4


@pytest.mark.parametrize(
    ("has_ipv6", "hosts", "said"),
    [(True, ("127.0.0.1", "::1"), "[::]:"), (False, ("127.0.0.1",), "0.0.0.0:")],
)
async def test_without_a_host_all_addresses_of_the_machine_are_served(
    monkeypatch: pytest.MonkeyPatch, has_ipv6: bool, hosts: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: has_ipv6)
    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    async with listening(app, "", 0, limits=FEW, keep_alive=60.0) as (_, [address]):
        assert address.startswith(said)
        for host in hosts:
            stream = await asyncio.open_connection(host, int(address.rpartition(":")[2]))
            assert b"200" in await asked(stream)
            stream[1].close()
