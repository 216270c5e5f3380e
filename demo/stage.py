"""What a scenario plays on: a cluster, Intact in it, and an evictor that drains its nodes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from intact.kube.client import Client

NODES = 3
Json = dict[str, Any]
Say = Callable[[str], None]


class Drain(Protocol):
    """`kubectl drain`, or what behaves like it."""

    def lines(self) -> Sequence[str]:
        """What it has printed so far."""

    async def done(self) -> None:
        """Until the node is drained. Raises `DemoError` if that fails."""


class Stage(Protocol):
    def cluster(self) -> AbstractAsyncContextManager[Client]:
        """A client for the cluster, which runs at least as long as the block."""

    def slowed(self, template: Json) -> Json:
        """A pod template whose pods take a while to end and to become ready, so that people see
        both, but less than the five seconds after which kubectl retries a refused eviction."""

    async def start_intact(self) -> None:
        """Install Intact; return once it answers."""

    async def remove_intact(self) -> None:
        """Stop Intact, and uninstall it."""

    def intact_failure(self) -> str | None:
        """What to say if Intact ended although nothing asked it to."""

    def drain(self, node: str) -> Drain: ...

    async def undo(self, group: str, namespace: str) -> None:
        """`intact rbg undo`."""

    def way_in(self) -> Sequence[str]:
        """The commands after which another terminal can use kubectl and intact."""
