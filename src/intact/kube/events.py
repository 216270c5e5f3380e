"""Events about objects, for people: written in the background, and never too many.

- The same event again (object, type, reason, message) raises the count of the one that is there.
- More than `SIMILAR` events that differ only in their message become one, in ten minutes.
- What `counts_as` another message is the same event as that one, and shows its own.
- Events of a `series` are one event, which has the last message and the count of all.
- Each reason of an object gets a burst of `BURST` events, then one every five minutes. What is held
  back so is in the count of the next one.
- Events are best effort: they never hold up work, and one that cannot be written is dropped.
- A `transition` is the exception: it is never held back, combined or dropped, and a write that
  fails is tried again. Only if `WAITING` of them cannot be written, the oldest goes.
These are the rules and the figures of client-go, except that it has no transitions, forgets what it
holds back, and counts the burst by object: there, what is said often uses up the events of what is
said once.
"""

import asyncio
import logging
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from intact.kube.client import Client, PatchType
from intact.kube.errors import BadRequest, Forbidden, Invalid, KubeError, NotFound
from intact.kube.resources import EVENTS, Resource
from intact.kube.retry import Backoff
from intact.model.event import Event, EventSource, ObjectReference
from intact.model.meta import ObjectMeta
from intact.model.pod import PodMeta
from intact.model.times import timestamp

log = logging.getLogger(__name__)

SIMILAR = 10
SIMILAR_WINDOW = 600.0
BURST = 25
REFILL = 300.0
REMEMBERED = 4096
WAITING = 1000
COMBINED = "(combined from similar events): "
_SERIES = "\0"
_AGAIN = Backoff(first=1.0, most=60.0)
_FOR_GOOD = (BadRequest, Invalid)
"""The API server will not take such an event later either."""

EventType = Literal["Normal", "Warning"]
V = TypeVar("V")


def reference_to(resource: Resource[Any], meta: ObjectMeta | PodMeta) -> ObjectReference:
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )


def node_reference(name: str) -> ObjectReference:
    """As the kubelet refers to its node: `kubectl describe node` looks for its name as the UID."""
    return ObjectReference(api_version="v1", kind="Node", name=name, uid=name)


@dataclass(slots=True)
class _Written:
    """An event that the API has, as far as we know."""

    name: str
    count: int


@dataclass(slots=True)
class _Similar:
    since: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Tokens:
    left: float
    at: float


@dataclass(frozen=True, slots=True)
class _Occurrence:
    regarding: ObjectReference
    type: EventType
    reason: str
    message: str
    counts_as: str
    at: datetime
    times: int
    series: str | None
    transition: bool


class EventRecorder:
    def __init__(
        self,
        client: Client,
        component: str,
        instance: str,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        rng: random.Random | None = None,
    ) -> None:
        self.dropped = 0
        self._rng = rng or random.Random()
        self._client = client
        self._component = component
        self._instance = instance
        self._now = now
        self._number = 0
        self._waiting: asyncio.Queue[_Occurrence] = asyncio.Queue()
        self._unwritten: deque[_Occurrence] = deque()
        self._written: _Remembered[_Written] = _Remembered()
        self._similar: _Remembered[_Similar] = _Remembered()
        self._tokens: _Remembered[_Tokens] = _Remembered()
        self._held: _Remembered[int] = _Remembered()

    def record(
        self,
        regarding: ObjectReference,
        type: EventType,  # noqa: A002 - the API's own word
        reason: str,
        message: str,
        *,
        times: int = 1,
        counts_as: str | None = None,
        series: str | None = None,
        transition: bool = False,
    ) -> None:
        """Returns at once; `run` writes it. `times` is how often it happened. `counts_as` is the
        part of the message that tells one event from another, if that is not all of it. With a
        `series`, it is counted with the others of its reason and series, whatever their messages
        are."""
        if not transition and self._waiting.qsize() >= WAITING:
            self.dropped += 1
            return
        same = message if counts_as is None else counts_as
        now = self._now()
        self._waiting.put_nowait(
            _Occurrence(regarding, type, reason, message, same, now, times, series, transition)
        )

    async def run(self) -> None:
        """Writes what was recorded, until cancelled."""
        async with asyncio.TaskGroup() as group:
            again: asyncio.Task[None] | None = None
            while True:
                occurrence = await self._waiting.get()
                try:
                    if not await self._try(occurrence):
                        self._keep(occurrence)
                finally:
                    self._waiting.task_done()
                if self._unwritten and (again is None or again.done()):
                    again = group.create_task(self._write_again())

    async def _try(self, occurrence: _Occurrence) -> bool:
        """False if it has to be tried again."""
        try:
            await self._emit(occurrence)
        except KubeError as error:
            ended = _of_ended_namespace(error)
            again = occurrence.transition and not ended and not isinstance(error, _FOR_GOOD)
            self.dropped += not again
            level = logging.DEBUG if ended else logging.WARNING
            outlook = "; retrying with backoff" if again else ""
            log.log(level, "event %s was not written: %s%s", occurrence.reason, error, outlook)
            return not again
        return True

    async def _write_again(self) -> None:
        """Apart from the others: what waits here, such as for a quota of one namespace, holds up
        none of them."""
        failures = 0
        while self._unwritten:
            failures += 1
            await asyncio.sleep(_AGAIN.delay(failures, self._rng))
            for _ in range(len(self._unwritten)):
                occurrence = self._unwritten.popleft()
                if not await self._try(occurrence):
                    self._keep(occurrence)

    def _keep(self, occurrence: _Occurrence) -> None:
        if len(self._unwritten) >= WAITING:  # none can be written for very long
            self._unwritten.popleft()
            self.dropped += 1
        self._unwritten.append(occurrence)

    async def flush(self) -> None:
        """Wait until every recorded event has been written or dropped."""
        await self._waiting.join()

    async def _emit(self, occurrence: _Occurrence) -> None:
        moment = asyncio.get_running_loop().time()
        message = self._aggregate(occurrence, moment)
        key = _key(occurrence, message)
        times = self._held.pop(key, 0) + occurrence.times
        if not occurrence.transition and not self._allowed(occurrence, moment):
            self.dropped += 1
            self._held[key] = times
            return
        known = self._written.get(key)
        if known is None or not await self._raise_count(occurrence, message, times, known):
            self._written[key] = await self._create(occurrence, message, times)

    def _aggregate(self, occurrence: _Occurrence, moment: float) -> str:
        """The message under which it is counted."""
        if occurrence.series is not None:
            return f"{_SERIES}{occurrence.series}"
        if occurrence.transition:
            return occurrence.counts_as
        key = _key(occurrence, "")
        similar = self._similar.get(key)
        if similar is None or moment - similar.since > SIMILAR_WINDOW:
            similar = self._similar[key] = _Similar(moment)
        if len(similar.messages) < SIMILAR or occurrence.counts_as in similar.messages:
            similar.messages.add(occurrence.counts_as)
            return occurrence.counts_as
        return COMBINED

    def _allowed(self, occurrence: _Occurrence, moment: float) -> bool:
        key = _key(occurrence, "")
        tokens = self._tokens.get(key)
        if tokens is None:
            tokens = self._tokens[key] = _Tokens(BURST, moment)
        tokens.left = min(BURST, tokens.left + (moment - tokens.at) / REFILL)
        tokens.at = moment
        if tokens.left < 1:
            return False
        tokens.left -= 1
        return True

    async def _raise_count(
        self, occurrence: _Occurrence, message: str, times: int, known: _Written
    ) -> bool:
        """False if the event has expired meanwhile."""
        count = known.count + times
        body = {
            "count": count,
            "lastTimestamp": timestamp(occurrence.at),
            "message": _text(occurrence, message),
        }
        namespace = occurrence.regarding.namespace or "default"
        try:
            await self._client.patch(EVENTS, body, known.name, namespace, type=PatchType.STRATEGIC)
        except NotFound:
            return False
        known.count = count
        return True

    async def _create(self, occurrence: _Occurrence, message: str, times: int) -> _Written:
        regarding = occurrence.regarding
        namespace = regarding.namespace or "default"
        stamp = timestamp(occurrence.at)
        event = Event(
            metadata=ObjectMeta(name=self._name(occurrence), namespace=namespace),
            involved_object=regarding,
            type=occurrence.type,
            reason=occurrence.reason,
            message=_text(occurrence, message),
            count=times,
            first_timestamp=stamp,
            last_timestamp=stamp,
            source=EventSource(component=self._component),
            reporting_component=self._component,
            reporting_instance=self._instance,
        )
        created = await self._client.create(EVENTS, event, namespace)
        return _Written(created.metadata.name, times)

    def _name(self, occurrence: _Occurrence) -> str:
        """Unique and, as kubectl users are used to, beginning with the object's name."""
        self._number += 1
        stamp = int(occurrence.at.timestamp() * 1e6)
        return f"{occurrence.regarding.name[:200]}.{stamp:x}.{self._number:x}"


class _Remembered(OrderedDict[tuple[str, ...], V]):
    """Forgets what was set longest ago, so that memory does not grow with the cluster's history."""

    def __setitem__(self, key: tuple[str, ...], value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > REMEMBERED:
            self.popitem(last=False)


def _key(occurrence: _Occurrence, message: str) -> tuple[str, ...]:
    regarding = occurrence.regarding
    return (
        regarding.kind,
        regarding.namespace,
        regarding.name,
        regarding.uid,
        occurrence.type,
        occurrence.reason,
        message,
    )


def _text(occurrence: _Occurrence, message: str) -> str:
    """The API refuses notes over 1 kB."""
    text = COMBINED + occurrence.message if message == COMBINED else occurrence.message
    return text if len(text) <= 1024 else text[:1021] + "..."


def _of_ended_namespace(error: KubeError) -> bool:
    """The API server takes no events in a namespace that is being deleted."""
    return isinstance(error, NotFound) or (
        isinstance(error, Forbidden) and error.has_cause("NamespaceTerminating")
    )
