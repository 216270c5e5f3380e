"""A request to the API server, built apart from sending it, and the interface of what sends it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

JSON = "application/json"
DEFAULT_TIMEOUT = 35.0
"""Seconds. The API server gives its own handlers 34."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = JSON
    timeout: float = DEFAULT_TIMEOUT
    """Of the whole exchange; in a stream, of each wait for the next bytes."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes
    retry_after: float | None = None
    warnings: tuple[str, ...] = ()
    """What the server's Warning headers say."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A response whose body goes on. Chunks end where the network cut them, not at lines."""

    status: int
    chunks: AsyncIterator[bytes]
    retry_after: float | None = None


class Transport(Protocol):
    """Raises `Unreachable` when there is no answer, and never on a status."""

    async def send(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]: ...

    async def close(self) -> None: ...
