"""A loop without an outside."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from intact.sandbox import run


def loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def add_signal() -> None:
    loop().add_signal_handler(signal.SIGTERM, print)


async def from_a_thread() -> None:
    loop().call_soon_threadsafe(print)


OUTSIDE: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
    "a connection": lambda: asyncio.open_connection("127.0.0.1", 80),
    "a server": lambda: asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0),
    "a name": lambda: loop().getaddrinfo("localhost", 80),
    "a process": lambda: asyncio.create_subprocess_exec("true"),
    "a thread": lambda: asyncio.to_thread(print),
    "a signal": add_signal,
    "a call from a thread": from_a_thread,
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_is_reached(name: str) -> None:
    async def main() -> None:
        await OUTSIDE[name]()

    with pytest.raises(NotImplementedError, match="no sockets, threads, processes or signals"):
        run(main())
