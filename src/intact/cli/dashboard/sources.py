"""Where the page's moments come from: a cluster, a snapshot, or the film of a rehearsal."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import click

from intact.cli.dashboard.moment import Moment
from intact.cli.get.live import Live
from intact.cli.why.events import Refused, refused_by
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.picture.budgets import BudgetPicture
from intact.sandbox.rehearsal.film import Film, FilmError, read_film
from intact.sandbox.snapshot.as_objects import objects_of
from intact.sandbox.snapshot.document import SnapshotError
from intact.sandbox.snapshot.document import read as read_snapshot


class Source(Protocol):
    title: str
    film: Film | None

    def running(self) -> AbstractAsyncContextManager[None]: ...

    def moments(self) -> AsyncIterator[Moment]:
        """Now, and after each change."""

    async def refused(self, budget: BudgetPicture) -> Sequence[Refused]: ...


class LiveCluster:
    film: Film | None = None

    def __init__(self, client: Client, title: str) -> None:
        self.title = title
        self._client = client
        self._live = Live(client, "", whole=True)

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._live.running()

    async def moments(self) -> AsyncGenerator[Moment, None]:
        async with aclosing(self._live.objects()) as states:
            async for objects in states:
                yield Moment(objects, datetime.now(UTC))

    async def refused(self, budget: BudgetPicture) -> Sequence[Refused]:
        try:
            return await refused_by(self._client, budget)
        except KubeError:
            return ()  # few may read events; the rest of the view stands without them


class Still:
    """A file: one moment, or the moments of a film."""

    def __init__(self, title: str, first: Moment, film: Film | None = None) -> None:
        self.title = title
        self.film = film
        self._first = first

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        yield

    async def moments(self) -> AsyncGenerator[Moment, None]:
        yield self._first

    async def refused(self, _budget: BudgetPicture) -> Sequence[Refused]:
        return ()


def from_file(path: Path) -> Still:
    """Raises `click.ClickException` if it is neither a film nor a snapshot."""
    try:
        film = read_film(path)
    except FilmError:
        film = None
    if film is not None:
        frame = film.at(0)
        return Still(f"{path.name}: {film.action}", Moment(frame.objects, frame.now), film)
    try:
        found = objects_of(read_snapshot(path))
    except SnapshotError as error:
        raise click.ClickException(f"{path}: {error}") from None
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
    return Still(path.name, Moment(found, datetime.now(UTC)))
