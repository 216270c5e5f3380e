"""Keeps a store equal to what the API server has: a full list, then a watch from where it ended.

A watch that ends, breaks or stays silent is resumed from the last version seen, so nothing is lost
and nothing is seen twice. Before that the server is asked for its present version. That costs one
small request, and tells three cases apart:

| the server | what happens |
|---|---|
| does not answer | it is asked again, with backoff; a dead connection ends like this |
| has reached the last version seen | the watch is resumed, if the change that it brought last is part of the server's history |
| is behind it | its database was restored from a backup: every reflector of this process lists again, and its store begins anew |

A server that is behind would accept the watch and say nothing, not even bookmarks, until it has
counted up to that version (seen). If it has counted past that version already, the object that
changed last tells: it was something else then. Everything is also listed again if the version is
too old for the server (410); the store then works out what was deleted meanwhile.
"""  # noqa: E501

import asyncio
import logging
import random
from dataclasses import dataclass
from typing import Generic, TypeVar

from intact.kube.client import WATCH_SILENCE, Client
from intact.kube.decoding import DELETED, WatchEvent
from intact.kube.errors import Gone, KubeError, NotFound, Silent, Unreachable
from intact.kube.resources import Resource
from intact.kube.retry import Backoff
from intact.kube.store import Store, key_of
from intact.model.meta import Object
from intact.model.versions import is_before, number_of

T = TypeVar("T", bound=Object)
log = logging.getLogger(__name__)

_STABLE = 5.0
"""Seconds after which a watch that stood counts as a success, however it ended."""
_MOST_UNREACHABLE = 5.0
"""Seconds after which a server that does not answer is tried again, at the latest: once it is back,
nothing that is decided from the store should wait for long."""
_LOG_EVERY = 10
"""The same failure over and over is logged this rarely."""


@dataclass(slots=True)
class ReflectorStats:
    """What has happened so far. A watch that ends as the server planned is no restart."""

    lists: int = 0
    events: int = 0
    restarts: int = 0


class Reflector(Generic[T]):
    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        store: Store[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        silence: float = WATCH_SILENCE,
        backoff: Backoff | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.resource = resource
        self.store = store
        self.stats = ReflectorStats()
        self.error: str | None = None
        """Why the store may be behind at this moment; None while all is well."""
        self.served = True
        """False if the server does not serve the resource: it is asked again with backoff."""
        self._client = client
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._silence = silence
        self._backoff = backoff or Backoff(first=0.2, most=30.0)
        self._rng = rng or random.Random()
        self._version = ""
        self._reached = ""
        self._doubtful = False
        self._anew = False
        self._last: tuple[T, bool] | None = None
        """The object that changed last, and whether it is still there."""
        self._is_silent = False
        self._failures = 0
        self._synced = asyncio.Event()
        self._tried = asyncio.Event()
        self._attempt: asyncio.Task[None] | None = None
        self._begin_again = False
        self._gone = False

    @property
    def name(self) -> str:
        """As people write it: the resource, and what is selected of it."""
        full = self.resource.full_name
        return f"{full} ({self._labels})" if self._labels else full

    @property
    def version(self) -> str:
        """The resource version that the store reflects; empty while everything is listed anew."""
        return self._version

    @property
    def is_doubtful(self) -> bool:
        """Whether the server has not been heard since a watch ended: it may have been restored from
        a backup meanwhile, and then the store shows what never was."""
        return self._doubtful

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_tried(self) -> None:
        """Until it is synced, or a first attempt has failed: the server may not serve the
        resource."""
        await self._tried.wait()

    def list_again(self) -> None:
        """Read everything afresh, consistently; `wait_synced` then waits for that."""
        self._version = ""
        self._synced.clear()
        self._tried.clear()
        if self._attempt is not None:
            self._begin_again = True
            self._attempt.cancel()

    def _begin_anew(self) -> None:
        """The server has gone back, as one of those that follow it has found."""
        if not self._anew:
            self._anew = True
            self.list_again()

    async def run(self) -> None:
        """Runs until cancelled. What fails is retried with backoff."""
        unfollow = self._client.history.follow(self._begin_anew)
        try:
            await self._run()
        finally:
            unfollow()

    async def _run(self) -> None:
        while True:
            self._attempt = asyncio.create_task(
                self._list_and_watch(), name=f"reflect {self.resource.full_name}"
            )
            try:
                await self._attempt
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._begin_again or (task is not None and task.cancelling()):
                    raise
            if self._begin_again:
                self._begin_again = False
                self._version = ""  # a handler may have asked for it in the middle of an event

    async def _list_and_watch(self) -> None:
        events_before = self.stats.events
        begun = asyncio.get_running_loop().time()
        error: KubeError | None = None
        try:
            if self._version:
                await self._look_back()
            if not self._version:
                await self._list()
            await self._watch()
        except Silent:
            self._is_silent = True
            return
        except KubeError as failure:
            error = failure
        lasted = asyncio.get_running_loop().time() - begun
        if self.stats.events != events_before or lasted > _STABLE:
            self._failures = 0
        elif error is None:
            error = KubeError("the server ends the watch as soon as it begins")
        if error is not None:
            if isinstance(error, Gone):
                self._version = ""
            await self._recover(error)

    async def _look_back(self) -> None:
        """Ask the server whether its history still leads to the version that the store reflects."""
        present = await self._client.present_version(
            self.resource, self._namespace, fields=self._fields
        )
        if is_before(present, self._version) or not await self._knows_learned(present):
            log.warning(
                "%s: the server has gone back from version %s to %s, as after a restore from a "
                "backup; listing everything again",
                self.resource.full_name,
                self._version,
                present,
            )
            self._version, self._anew = "", True
            self._client.history.went_back()
            return
        if not self._is_silent and not await self._leads_here():
            self._version = ""  # the list shows what has gone back
            return
        self._doubtful = False

    async def _knows_learned(self, present: str) -> bool:
        """Whether what the server has answered to this process is part of its history, as far as
        the watch has not brought it."""
        obj = self._client.history.learned_after(self.resource, self._version)
        if obj is None:
            return True
        version = obj.metadata.resource_version
        if is_before(present, version):
            return False
        namespace, name = key_of(obj)
        return await self._client.get_at(version, self.resource, name, namespace) == obj

    async def _leads_here(self) -> bool:
        """Whether, in the server's history, the object that changed last was at the version of the
        store what it is there."""
        if self._last is None:
            return True
        obj, there = self._last
        namespace, name = key_of(obj)
        found = await self._client.get_at(
            self._version, self.resource, name, namespace, labels=self._labels, fields=self._fields
        )
        return found == (obj if there else None)

    async def _list(self) -> None:
        objects: dict[tuple[str, str], T] = {}
        version = ""
        async for page in self._client.pages(
            self.resource, self._namespace, labels=self._labels, fields=self._fields
        ):
            objects.update((key_of(item), item) for item in page.items)
            version = page.resource_version
        self.stats.lists += 1
        known, self._anew = self._anew, True
        anew = self.store.replace(objects, anew=known or is_before(version, self._reached))
        if anew and not known:
            self._client.history.went_back()
        self._anew = False
        self._version = self._reached = version
        newest = max(objects.values(), key=_version_of, default=None)
        self._last = (newest, True) if newest is not None else None
        self._doubtful = False
        self._synced.set()
        self._tried.set()

    async def _watch(self) -> None:
        async with self._client.watch(
            self.resource,
            self._namespace,
            resource_version=self._version,
            labels=self._labels,
            fields=self._fields,
            # Spread, so that after a restart of the server not all watches end together forever.
            timeout=self._rng.randint(300, 600),
            silence=self._silence,
        ) as events:
            self.error = None
            self.served = True
            self._is_silent = False
            try:
                async for event in events:
                    self._apply(event)
            finally:
                self._doubtful = True

    def _apply(self, event: WatchEvent[T]) -> None:
        self.stats.events += 1
        obj = event.object
        if obj is not None:
            self._last = obj, event.type != DELETED
        if event.type == DELETED:
            self.store.remove(event.key if obj is None else key_of(obj))
        elif obj is not None:
            self.store.put(obj)
        self._version = self._reached = event.resource_version

    async def _recover(self, error: KubeError) -> None:
        self._failures += 1
        self.stats.restarts += 1
        gone_before, self._gone = self._gone, isinstance(error, Gone)
        if self._gone and not gone_before:
            log.info(
                "%s: the watch is too old to be resumed; listing again", self.resource.full_name
            )
            return
        delay = self._backoff.delay(self._failures, self._rng)
        if isinstance(error, Unreachable):
            delay = min(delay, _MOST_UNREACHABLE)
        else:
            self._doubtful = False  # the server is there, only not for this
        if self.error != str(error) or self._failures % _LOG_EVERY == 0:
            log.warning("%s: %s; retrying in %.1f s", self.resource.full_name, error, delay)
        self.error = str(error)
        self.served = not isinstance(error, NotFound)
        self._tried.set()
        await asyncio.sleep(delay)


def _version_of(obj: Object) -> int:
    return number_of(obj.metadata.resource_version) or 0
