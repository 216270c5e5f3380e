"""Garbage collection: what an object owned goes when it goes.

| the owner was deleted | its dependents |
|---|---|
| in the background | go once it is gone and no other owner is left |
| in the foreground (finalizer `foregroundDeletion`) | go first; it waits for those whose reference has `blockOwnerDeletion` |
| and orphans (finalizer `orphan`) | stay, without the reference |

Owners in a circle that are deleted in the foreground wait for one another for good.
"""  # noqa: E501

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass

from intact.kube.errors import NotFound
from intact.kube.queue import Queue, work
from intact.kube.resources import Resource, untyped
from intact.kube.retry import Backoff
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_terminating
from intact.sandbox.api.removal.delete_options import FOREGROUND, ORPHAN
from intact.sandbox.controllers.controller import Shared

_USER = "system:serviceaccount:kube-system:generic-garbage-collector"
_WORKERS = 20


@dataclass(frozen=True, slots=True)
class _Place:
    kind: Kind
    namespace: str
    name: str

    @property
    def resource(self) -> Resource[Json]:
        kind = self.kind
        return untyped(kind.group, kind.version, kind.plural, kind.kind, namespaced=kind.namespaced)


class GarbageCollector:
    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        self._client = shared.client_of(_USER)
        self._places: dict[str, _Place] = {}
        """Where each object is, by UID."""
        self._dependents: dict[str, dict[str, None]] = {}
        """The UIDs of what each owner's UID is referred to by, oldest first."""
        self._queue: Queue[str] = Queue(
            "garbage", backoff=Backoff(first=0.005, most=60.0), rng=random.Random("garbage")
        )

    async def run(self) -> None:
        """Until cancelled."""
        self._places.clear()
        self._dependents.clear()
        end = self._api.follow_all(self._changed)
        # Owners that were listed after their dependents are known by now.
        for uid in self._places:
            self._queue.add(uid)
        try:
            await asyncio.gather(*(work(self._queue, self._collect) for _ in range(_WORKERS)))
        finally:
            end()

    def _changed(self, kind: Kind, old: Json | None, new: Json | None) -> None:
        before, after = _references(old), _references(new)
        waits = new is not None and _begins_to_wait(old, new)
        stays = old is not None and new is not None
        if not kind.garbage_collected or (stays and before == after and not waits):
            return
        meta = (new or old or {})["metadata"]
        uid = meta["uid"]
        if old is None:
            self._places[uid] = _Place(kind, meta.get("namespace", ""), meta["name"])
        if before != after:
            self._refer(uid, _owners(before), _owners(after))
            # An owner that is deleted in the foreground may have waited for this one.
            for owner in _owners(before):
                self._queue.add(owner)
            if after:
                self._queue.add(uid)
        if waits:
            self._queue.add(uid)
        if new is None:
            del self._places[uid]
        if waits or new is None:
            for dependent in self._dependents.get(uid, ()):
                self._queue.add(dependent)

    def _refer(self, uid: str, before: list[str], after: list[str]) -> None:
        for owner in before:
            if owner not in after:
                self._forget(owner, uid)
        for owner in after:
            self._dependents.setdefault(owner, {})[uid] = None

    def _forget(self, owner: str, uid: str) -> None:
        dependents = self._dependents[owner]
        dependents.pop(uid, None)
        if not dependents:
            del self._dependents[owner]

    def _object(self, uid: str) -> tuple[_Place, Json] | None:
        place = self._places.get(uid)
        if place is None:
            return None
        obj = self._api.peek(place.kind.full_name, place.namespace, place.name)
        return None if obj is None else (place, obj)

    async def _collect(self, uid: str) -> None:
        found = self._object(uid)
        if found is None:
            return
        place, obj = found
        if is_terminating(obj):
            await self._let_go(uid, place, obj)
            return
        references = obj["metadata"].get("ownerReferences") or []
        states = [self._state(place, each) for each in references]
        with suppress(NotFound):
            if _SOLID in states:
                kept = [
                    each for each, state in zip(references, states, strict=True) if state == _SOLID
                ]
                if len(kept) < len(references):
                    await self._patch(place, obj, {"ownerReferences": kept})
            elif states:
                waited_for = _WAITING in states and uid in self._dependents
                await self._client.delete(
                    place.resource,
                    place.name,
                    place.namespace,
                    propagation_policy="Foreground" if waited_for else _policy(obj),
                    uid=uid,
                )

    async def _let_go(self, uid: str, place: _Place, obj: Json) -> None:
        """End the wait of an owner whose dependents are gone, or free."""
        finalizers = obj["metadata"].get("finalizers") or ()
        dependents = [
            found for each in list(self._dependents.get(uid, ())) if (found := self._object(each))
        ]
        if ORPHAN in finalizers:
            for there, dependent in dependents:
                kept = [each for each in _references(dependent) if each["uid"] != uid]
                with suppress(NotFound):
                    await self._patch(there, dependent, {"ownerReferences": kept})
            await self._without(place, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = (
                each.get("blockOwnerDeletion")
                for _, dependent in dependents
                for each in _references(dependent)
                if each["uid"] == uid
            )
            if not any(blocking):
                await self._without(place, obj, FOREGROUND)

    async def _without(self, place: _Place, obj: Json, finalizer: str) -> None:
        kept = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        with suppress(NotFound):
            await self._patch(place, obj, {"finalizers": kept})

    async def _patch(self, place: _Place, obj: Json, changes: Json) -> None:
        # With its version, so that no reference or finalizer that is new is lost.
        meta = {"resourceVersion": obj["metadata"]["resourceVersion"], **changes}
        await self._client.patch(place.resource, {"metadata": meta}, place.name, place.namespace)

    def _state(self, place: _Place, reference: Json) -> str:
        found = self._object(reference["uid"])
        if found is None or not _is_meant(place, reference, found[0]):
            return _DANGLING if self._is_served(reference) else _SOLID
        owner = found[1]
        waits = is_terminating(owner) and FOREGROUND in (owner["metadata"].get("finalizers") or ())
        return _WAITING if waits else _SOLID

    def _is_served(self, reference: Json) -> bool:
        """An owner of a kind that the server does not know cannot be looked up."""
        return any(
            kind.kind == reference["kind"]
            and reference["apiVersion"] in map(kind.api_version, kind.versions)
            for kind in self._api.kinds()
        )


_SOLID, _DANGLING, _WAITING = "solid", "dangling", "waiting"
"""An owner that is there; that is not; that waits for its dependents to go."""


def _references(obj: Json | None) -> list[Json]:
    return (obj["metadata"].get("ownerReferences") or []) if obj is not None else []


def _owners(references: list[Json]) -> list[str]:
    return [each["uid"] for each in references]


def _is_meant(place: _Place, reference: Json, owner: _Place) -> bool:
    """An owner is in the same namespace, or in none."""
    group, _, _version = reference["apiVersion"].rpartition("/")
    return (
        owner.name == reference["name"]
        and owner.kind.kind == reference["kind"]
        and owner.kind.group == group
        and owner.namespace in ("", place.namespace)
    )


def _begins_to_wait(old: Json | None, new: Json) -> bool:
    """Deleted, with one of the collector's finalizers."""

    def waits(obj: Json | None) -> bool:
        if obj is None or not is_terminating(obj):
            return False
        finalizers = obj["metadata"].get("finalizers") or ()
        return FOREGROUND in finalizers or ORPHAN in finalizers

    return waits(new) and not waits(old)


def _policy(obj: Json) -> str:
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
