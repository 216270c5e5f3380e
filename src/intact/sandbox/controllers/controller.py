"""What all controllers have in common: one kind of object, whose keys are queued and reconciled.

A controller sees every change at once, past the API, and writes through the API, where admission
may refuse it. It is level-triggered: `reconcile` looks at what is there now.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import ClassVar

from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, Conflict, NotFound
from intact.kube.queue import Queue, work
from intact.kube.resources import Resource
from intact.kube.retry import Backoff
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.owned import Owned, controller_of
from intact.sandbox.controllers.pods_by_node import PodsByNode
from intact.sandbox.controllers.resources import PODS

Key = tuple[str, str]
"""Namespace and name."""
_USER = "system:kube-controller-manager"
_BACKOFF = Backoff(first=0.005, most=60.0)
_WORKERS = 5
"""Of each controller, as kube-controller-manager has: an admission that waits does not hold up the
objects beside it."""


class Shared:
    """What the controllers of one cluster share."""

    def __init__(self, api: MemoryApi, clock: Callable[[], datetime]) -> None:
        self.api = api
        self.clock = clock
        self.client = self.client_of(_USER)
        self.pods = Owned(api, "pods")
        self.pods_by_node = PodsByNode(api)
        self.replica_sets = Owned(api, "replicasets.apps")
        self.revisions = Owned(api, "controllerrevisions.apps")

    def client_of(self, user: str) -> Client:
        """For a controller whose user admission knows."""
        return Client(
            self.api.as_user(user),
            field_manager="kube-controller-manager",
            rng=random.Random(user),
            on_warning=lambda _text: None,
        )

    async def create_pod(self, pod: Json) -> None:
        await self.client.create(PODS, pod, pod["metadata"]["namespace"])

    async def delete_pod(self, pod: Json) -> None:
        """Unless it is gone."""
        meta = pod["metadata"]
        with suppress(NotFound):
            await self.client.delete(PODS, meta["name"], meta["namespace"])

    async def write_status(
        self, resource: Resource[Json], obj: Json, status: Json, annotations: Json | None = None
    ) -> None:
        """Store the status that was found for this object, unless it says the same already.
        Built-in kinds take annotations with it."""
        meta = obj["metadata"]
        fresh = self.api.peek(resource.full_name, meta["namespace"], meta["name"])
        if fresh is None or fresh["metadata"]["uid"] != meta["uid"]:
            return
        kept = fresh["metadata"].get("annotations") or {}
        noted = {**kept, **(annotations or {})}
        if fresh.get("status") != status or noted != kept:
            body = {**fresh, "metadata": {**fresh["metadata"], "annotations": noted}}
            body["status"] = status
            await self.client.update(
                resource, body, meta["name"], meta["namespace"], subresource="status"
            )


class Controller:
    kind: ClassVar[str]
    """The kind that is reconciled, by its full name: `statefulsets.apps`."""
    makes_pods: ClassVar[bool] = False
    """Whether its objects own pods, and bring them back."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.queue: Queue[Key] = Queue(self.kind, backoff=_BACKOFF, rng=random.Random(self.kind))

    async def run(self) -> None:
        """Until cancelled."""
        ends = [self.shared.api.follow(self.kind, self._changed), *self.follow()]
        try:
            await asyncio.gather(*(work(self.queue, self._reconcile) for _ in range(_WORKERS)))
        finally:
            for end in ends:
                end()

    def follow(self) -> list[Callable[[], None]]:
        """Follow what else matters. Returns what ends it."""
        return []

    def follow_owned(self, full_name: str = "pods") -> Callable[[], None]:
        """Reconcile an object again with each change of something that it controls."""

        def changed(old: Json | None, new: Json | None) -> None:
            for obj in (old, new):
                owner = controller_of(obj) if obj is not None else None
                if obj is not None and owner is not None and self.is_own_kind(owner):
                    self.queue.add((obj["metadata"]["namespace"], owner["name"]))

        return self.shared.api.follow(full_name, changed)

    def is_own_kind(self, owner: Json) -> bool:
        """Whether an owner reference names an object of this controller's kind."""
        plural, _, group = self.kind.partition(".")
        named, _, _version = owner["apiVersion"].rpartition("/")
        return named == group and f"{owner['kind'].lower()}s" == plural

    def again_after(self, obj: Json, wait: float | None) -> None:
        """Look at the object again after so many seconds, if at all."""
        if wait is not None:
            self.queue.add_after(_key(obj), wait)

    def now(self) -> datetime:
        return self.shared.clock()

    async def reconcile(self, obj: Json) -> None:
        """Bring the cluster one step closer to what this object wants. Called again after each
        change of it, and of what it controls."""
        raise NotImplementedError

    def _changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        self.queue.add(_key(obj))

    async def _reconcile(self, key: Key) -> None:
        obj = self.shared.api.peek(self.kind, *key)
        if obj is None:
            return
        try:
            await self.reconcile(obj)
        except AlreadyExists:
            raise
        except Conflict:
            # Another write was faster: look again at what is there now.
            self.queue.add(key)


def _key(obj: Json) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
