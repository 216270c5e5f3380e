"""Where the page's moments come from: a cluster, a snapshot, or the film of a rehearsal."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, Protocol

import click
import msgspec

from intact.cli.dashboard.lately import Lately
from intact.cli.dashboard.moment import Moment
from intact.cli.get.live import Live
from intact.cli.rbg.history import entries
from intact.cli.rbg.revisions import revisions_of
from intact.cli.why.events import Refused, refused_by
from intact.kube.client import Client
from intact.model.pod_state import controller_uid
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.resources import REVISIONS
from intact.picture.budgets import BudgetPicture
from intact.sandbox.rehearsal.film import FORMAT as FILM
from intact.sandbox.rehearsal.film import Film, FilmError
from intact.sandbox.rehearsal.film import decode as decode_film
from intact.sandbox.snapshot.as_objects import objects_of
from intact.sandbox.snapshot.compressed import DamagedError, read_file
from intact.sandbox.snapshot.document import FORMAT as SNAPSHOT
from intact.sandbox.snapshot.document import Snapshot, SnapshotError
from intact.sandbox.snapshot.document import decode as decode_snapshot

Json = dict[str, Any]
EVENTS_LAST = 2.0
"""Seconds after which the events of a budget are read again, if its view is asked for."""


class Source(Protocol):
    title: str
    film: Film | None
    live: bool
    """Whether more moments come."""

    @property
    def caption(self) -> str:
        """What is going on, where the source knows; else empty."""

    def running(self) -> AbstractAsyncContextManager[None]: ...

    def moments(self) -> AsyncIterator[Moment]:
        """Now, and after each change."""

    @property
    def problem(self) -> str:
        """Why what it shows may be old; empty while all is well."""

    async def refused(self, budget: BudgetPicture) -> Sequence[Refused]:
        """The latest first. Raises `KubeError`."""

    async def revisions(self, group: RoleBasedGroup) -> Sequence[Json]:
        """As `intact rbg history` has them, oldest first. Raises `KubeError`."""


class LiveCluster:
    film: Film | None = None
    live = True
    caption = ""
    _leads = False
    """Whether Intact leads without a Lease."""

    def __init__(self, client: Client, title: str, namespace: str = "") -> None:
        """Without a namespace, all of them."""
        self.title = title
        self._client = client
        self._live = Live(client, namespace, whole=True)
        self._lately = Lately()

    @property
    def problem(self) -> str:
        return self._live.problem

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._live.running()

    async def moments(self) -> AsyncGenerator[Moment, None]:
        before: Moment | None = None
        async with aclosing(self._live.objects()) as states:
            async for objects in states:
                found = replace(objects, leading=True) if self._leads else objects
                drawn = before.picture if before is not None and before.objects == found else None
                before = Moment(found, datetime.now(UTC), drawn)
                yield before

    async def refused(self, budget: BudgetPicture) -> Sequence[Refused]:
        async def read() -> Sequence[Refused]:
            return await refused_by(self._client, budget)

        return await self._lately.read(("events", budget.budget.metadata.uid), EVENTS_LAST, read)

    async def revisions(self, group: RoleBasedGroup) -> Sequence[Json]:
        """Read again when the group names others."""

        async def read() -> Sequence[Json]:
            return entries(group, await revisions_of(self._client, group))

        uid, status = group.metadata.uid, group.status
        key = (uid, status.update_revision, status.current_revision)
        return await self._lately.read(key, inf, read)


class Still:
    """A file: one moment, or the moments of a film."""

    live = False
    caption = ""
    problem = ""

    def __init__(
        self,
        title: str,
        first: Moment,
        film: Film | None = None,
        revisions: Sequence[ControllerRevision] = (),
    ) -> None:
        self.title = title
        self.film = film
        self._first = first
        self._revisions = revisions

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        yield

    async def moments(self) -> AsyncGenerator[Moment, None]:
        yield self._first

    async def refused(self, _budget: BudgetPicture) -> Sequence[Refused]:
        """A snapshot has no events, and a film is asked for its own."""
        return ()

    async def revisions(self, group: RoleBasedGroup) -> Sequence[Json]:
        mine = [one for one in self._revisions if controller_uid(one) == group.metadata.uid]
        return entries(group, sorted(mine, key=lambda one: one.revision))


def from_file(path: Path) -> Still:
    """Raises `click.ClickException` if it is neither a film nor a snapshot."""
    try:
        body = read_file(path)
        return _film(path, body) if _format_of(body) == FILM else _snapshot(path, body)
    except (FilmError, SnapshotError, DamagedError) as error:
        raise click.ClickException(f"{path}: {error}") from None
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None


class _Formatted(msgspec.Struct):
    format: str = ""


def _format_of(body: bytes) -> str:
    """Raises `SnapshotError` if it is neither."""
    try:
        found = msgspec.json.decode(body, type=_Formatted).format
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError(f"this is neither a snapshot nor a film: {error}") from None
    if found not in (FILM, SNAPSHOT):
        said = f"its format is {found!r}, not {SNAPSHOT!r} or {FILM!r}"
        raise SnapshotError(f"this is neither a snapshot nor a film: {said}")
    return found


def _film(path: Path, body: bytes) -> Still:
    film = decode_film(body)
    frame = film.at(0)
    return Still(f"{path.name}: {film.action}", Moment(frame.objects, frame.now), film)


def _snapshot(path: Path, body: bytes) -> Still:
    """At the time when it was taken: what it says is so long ago counts from there."""
    found = decode_snapshot(body)
    title = f"{path.name}: {found.time:%Y-%m-%d %H:%M} UTC"
    return Still(title, Moment(objects_of(found), found.time), revisions=_revisions(found))


def _revisions(snapshot: Snapshot) -> list[ControllerRevision]:
    """Those that can be read."""
    found = []
    for kind, obj in snapshot.all():
        if kind.full_name == REVISIONS.full_name:
            try:
                found.append(msgspec.convert(obj, ControllerRevision))
            except msgspec.ValidationError:
                continue
    return found
