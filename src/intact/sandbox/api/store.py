"""The storage: one revision counter over everything, and a history that watches are served from.

1. A stored object is never changed. To change it, decode a copy and store that.
2. Each step here is atomic: nothing awaits. Races happen between the steps, in the callers.
"""

from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, decode, encode


class Stored:
    """One version of one object."""

    __slots__ = ("_body", "key", "obj", "revision")

    def __init__(self, key: str, revision: int, obj: Json) -> None:
        self.key = key
        self.revision = revision
        self.obj = obj
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        if self._body is None:
            self._body = encode(self.obj)
        return self._body

    def copy(self) -> Json:
        result: Json = decode(self.body)
        return result


class Change:
    """What one write did to one object."""

    __slots__ = ("_lines", "new", "old", "revision")

    def __init__(self, revision: int, old: Stored | None, new: Stored | None) -> None:
        self.revision = revision
        self.old = old
        self.new = new
        self._lines: dict[str, bytes] = {}

    def line(self, event: str, api_version: str) -> bytes:
        """The change as a watch sends it, encoded once however many watch."""
        kept = self._lines.get(event + api_version)
        if kept is None:
            kept = self._lines[event + api_version] = event_line(
                event, self._body(event, api_version)
            )
        return kept

    def _body(self, event: str, api_version: str) -> bytes:
        source = self.old if event == "DELETED" else self.new
        assert source is not None
        if event != "DELETED" and source.obj["apiVersion"] == api_version:
            return source.body
        meta = {**source.obj["metadata"], "resourceVersion": str(self.revision)}
        return encode({**source.obj, "apiVersion": api_version, "metadata": meta})


def event_line(event: str, body: bytes) -> bytes:
    return b'{"type":"' + event.encode() + b'","object":' + body + b"}\n"


class Subscriber(Protocol):
    def offer(self, change: Change) -> None: ...


class Restored(Exception):
    """The storage was restored while a request was under way: the server has restarted."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The storage at one moment, as a backup keeps it: without its history."""

    revision: int
    objects: dict[str, dict[str, Stored]]
    """By kind and key."""
    population: Counter[str]


_begun: ContextVar[int | None] = ContextVar("begun", default=None)
"""How often the storage had been restored when the request began that this code works for."""


class _Table:
    """The objects of one kind, in the order of their keys."""

    def __init__(self, history: int) -> None:
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.changes: deque[Change] = deque(maxlen=history)
        self.forgotten = 0
        """The newest revision that fell out of the history."""
        self.subscribers: dict[int, Subscriber] = {}

    def record(self, change: Change) -> None:
        if len(self.changes) == self.changes.maxlen:
            self.forgotten = self.changes[0].revision
        self.changes.append(change)
        for subscriber in tuple(self.subscribers.values()):
            subscriber.offer(change)


class Store:
    def __init__(self, history: int = 20_000) -> None:
        self.revision = 1
        self.compacted = 0
        self.after_removal: Callable[[str], None] | None = None
        """Called with the namespace of each object that goes."""
        self._observers: dict[int, Callable[[Kind, Change], None]] = {}
        self._history = history
        self._tables: dict[str, _Table] = {}
        self._population: Counter[str] = Counter()
        self._subscriptions = 0
        self.restores = 0

    def _table(self, kind: Kind) -> _Table:
        table = self._tables.get(kind.full_name)
        if table is None:
            table = self._tables[kind.full_name] = _Table(self._history)
        return table

    @contextmanager
    def request(self) -> Generator[None, None, None]:
        """Around the work for one request: it writes nothing more after a restore."""
        token = _begun.set(self.restores)
        try:
            yield
        finally:
            _begun.reset(token)

    def _check_not_restored(self) -> None:
        if _begun.get() not in (None, self.restores):
            raise Restored

    def snapshot(self) -> Snapshot:
        tables = {name: dict(table.objects) for name, table in self._tables.items()}
        return Snapshot(self.revision, tables, self._population.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Everything is as it was, the revision as well: the next writes have revisions that other
        writes had before. Watches stay, and miss the change."""
        self.restores += 1
        self.revision = self.compacted = snapshot.revision
        self._population = snapshot.population.copy()
        for name, table in self._tables.items():
            table.objects = dict(snapshot.objects.get(name, {}))
            table.keys = sorted(table.objects)
            table.changes.clear()
            table.forgotten = 0

    def get(self, kind: Kind, key: str) -> Stored | None:
        return self._table(kind).objects.get(key)

    def population(self, namespace: str) -> int:
        """How many objects are in a namespace."""
        return self._population[namespace]

    def create(self, kind: Kind, key: str, obj: Json) -> Stored:
        table = self._table(kind)
        if key in table.objects:
            raise KeyError(key)
        stored = self._next(key, obj)
        insort(table.keys, key)
        table.objects[key] = stored
        if kind.namespaced:
            self._population[obj["metadata"]["namespace"]] += 1
        self._record(kind, Change(stored.revision, None, stored))
        return stored

    def replace(self, kind: Kind, current: Stored, obj: Json) -> Stored:
        table = self._table(kind)
        assert table.objects[current.key] is current, "decided on an old version"
        stored = self._next(current.key, obj)
        table.objects[current.key] = stored
        self._record(kind, Change(stored.revision, current, stored))
        return stored

    def remove(self, kind: Kind, current: Stored) -> Stored:
        """The last state, under the revision of its removal."""
        table = self._table(kind)
        assert table.objects[current.key] is current, "decided on an old version"
        self._check_not_restored()
        self.revision += 1
        del table.objects[current.key]
        table.keys.pop(bisect_left(table.keys, current.key))
        self._record(kind, Change(self.revision, current, None))
        gone = {**current.obj, "metadata": {**current.obj["metadata"]}}
        gone["metadata"]["resourceVersion"] = str(self.revision)
        last = Stored(current.key, self.revision, gone)
        if kind.namespaced:
            namespace = gone["metadata"]["namespace"]
            self._population[namespace] -= 1
            if self.after_removal is not None:
                self.after_removal(namespace)
        return last

    def _record(self, kind: Kind, change: Change) -> None:
        self._table(kind).record(change)
        for observer in tuple(self._observers.values()):
            observer(kind, change)

    def _next(self, key: str, obj: Json) -> Stored:
        self._check_not_restored()
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return Stored(key, self.revision, obj)

    def listed(self, kind: Kind, namespace: str = "") -> Iterator[Stored]:
        """In the order of the keys, as etcd keeps them."""
        table = self._table(kind)
        if not namespace or not kind.namespaced:
            return (table.objects[key] for key in table.keys)
        start = bisect_left(table.keys, f"{namespace}/")
        end = bisect_left(table.keys, f"{namespace}0")  # "0" is what follows "/"
        return (table.objects[key] for key in table.keys[start:end])

    def list_at(self, kind: Kind, revision: int, namespace: str = "") -> list[Stored]:
        """The objects as they were at an earlier revision that the history still reaches."""
        then = {stored.key: stored for stored in self.listed(kind, namespace)}
        for change in reversed(self._table(kind).changes):
            if change.revision <= revision:
                break
            touched = change.new or change.old
            assert touched is not None
            if namespace and not touched.key.startswith(f"{namespace}/"):
                continue
            if change.old is None:
                then.pop(touched.key, None)
            else:
                then[touched.key] = change.old
        return [then[key] for key in sorted(then)]

    def oldest(self, kind: Kind) -> int:
        """The oldest revision that a watch may start from."""
        return max(self.compacted, self._table(kind).forgotten)

    def changes_since(self, kind: Kind, revision: int) -> list[Change]:
        newer: list[Change] = []
        for change in reversed(self._table(kind).changes):
            if change.revision <= revision:
                break
            newer.append(change)
        newer.reverse()
        return newer

    def subscribe(self, kind: Kind, subscriber: Subscriber) -> Callable[[], None]:
        """Offers each further change, in order, until the returned function is called."""
        self._subscriptions += 1
        number = self._subscriptions
        subscribers = self._table(kind).subscribers
        subscribers[number] = subscriber
        return lambda: (subscribers.pop(number, None), None)[1]

    def observe(self, observer: Callable[[Kind, Change], None]) -> Callable[[], None]:
        """Tells each further change of any kind, until the returned function is called."""
        self._subscriptions += 1
        number = self._subscriptions
        self._observers[number] = observer
        return lambda: (self._observers.pop(number, None), None)[1]

    def compact(self) -> None:
        """Forgets everything but the present, as etcd does every five minutes."""
        self.compacted = self.revision
