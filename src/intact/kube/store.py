"""A local copy of one resource, with indexes that are kept up to date with every change.

Rules:
- Only a reflector writes to a store. All other code reads it, and may subscribe to changes.
- Objects are frozen: what was read stays as it was read.
- An index is declared before the first object is stored; a look-up costs what it returns.
- Handlers are called one after the other, after the store has changed, with the object before and
  after: (None, new) is an addition, (old, None) a deletion. They must not block. A handler that
  raises is a bug: it is logged, and the others are still called.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from intact.model.meta import Object
from intact.model.versions import is_before

T = TypeVar("T", bound=Object)
Key = tuple[str, str]
"""Namespace and name; the namespace is empty for objects that have none."""
IndexFunction = Callable[[T], Iterable[str]]
Handler = Callable[[T | None, T | None], None]

log = logging.getLogger(__name__)
_NONE: dict[Key, None] = {}


def key_of(obj: Object) -> Key:
    return obj.metadata.namespace, obj.metadata.name


class Store(Generic[T]):
    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._objects: dict[Key, T] = {}
        self._index_functions = dict(indexes or {})
        # Dicts as ordered sets: iteration must not depend on hashes, simulations replay exactly.
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {
            name: {} for name in self._index_functions
        }
        self._handlers: list[Handler[T]] = []
        self.synced = False
        """True once the store has held everything that a full list returned."""

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def by_index(self, index: str, value: str) -> list[T]:
        """All objects for which the index function yields this value."""
        return [self._objects[key] for key in self._indexes[index].get(value, _NONE)]

    def count(self, index: str, value: str) -> int:
        return len(self._indexes[index].get(value, _NONE))

    def index_values(self, index: str) -> Collection[str]:
        """All values under which the index holds anything."""
        return self._indexes[index].keys()

    def subscribe(self, handler: Handler[T]) -> None:
        """Call this with every change from now on, and first with all that is there."""
        self._handlers.append(handler)
        for obj in list(self._objects.values()):
            self._call(handler, None, obj)

    def put(self, obj: T) -> None:
        """Add or replace. An object with another UID is another object: a deletion comes first."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self.remove(key)
            old = None
        self._objects[key] = obj
        for name, function in self._index_functions.items():
            self._reindex(name, key, function(old) if old is not None else (), function(obj))
        self._changed(old, obj)

    def remove(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is None:
            return
        for name, function in self._index_functions.items():
            self._reindex(name, key, function(old), ())
        self._changed(old, None)

    def replace(self, objects: Mapping[Key, T], *, anew: bool = False) -> bool:
        """Become equal to a full list. What is not in it has been deleted meanwhile.

        If the versions have gone back, they cannot be compared with those that are known here, or
        that handlers remember: every object counts as another one, and a deletion comes first. So
        it is if `anew` says so, or if a single object of the list is older than it was. Returns
        whether it is so.
        """
        anew = anew or any(self._has_gone_back(key, obj) for key, obj in objects.items())
        for key in [key for key in self._objects if anew or key not in objects]:
            self.remove(key)
        for key, obj in objects.items():
            old = self._objects.get(key)
            if old is None or _version(old) != _version(obj):
                self.put(obj)
        self.synced = True
        return anew

    def _has_gone_back(self, key: Key, obj: T) -> bool:
        old = self._objects.get(key)
        if old is None or old.metadata.uid != obj.metadata.uid:
            return False
        return is_before(obj.metadata.resource_version, old.metadata.resource_version)

    def _reindex(self, name: str, key: Key, old: Iterable[str], new: Iterable[str]) -> None:
        before, after = tuple(old), tuple(new)
        if before == after:
            return
        index = self._indexes[name]
        for value in before:
            if value not in after and value in index:
                index[value].pop(key, None)
                if not index[value]:
                    del index[value]
        for value in after:
            index.setdefault(value, {})[key] = None

    def _changed(self, old: T | None, new: T | None) -> None:
        for handler in tuple(self._handlers):  # one may subscribe another, which sees it all
            self._call(handler, old, new)

    def _call(self, handler: Handler[T], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception:
            log.exception("a handler failed on %s", key_of(new or old))  # type: ignore[arg-type]


def _version(obj: Object) -> tuple[str, str]:
    return obj.metadata.uid, obj.metadata.resource_version
