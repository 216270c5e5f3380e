"""What all handlers of the server share."""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import datetime

from intact.model.times import timestamp
from intact.sandbox.api.admission import Admission
from intact.sandbox.api.builtin import NAMESPACES
from intact.sandbox.api.kinds import Registry
from intact.sandbox.api.objects import Json, new_uid
from intact.sandbox.api.store import Store


class State:
    def __init__(
        self,
        registry: Registry,
        store: Store,
        clock: Callable[[], datetime],
        rng: random.Random,
        *,
        managed_fields: bool,
    ) -> None:
        self.registry = registry
        self.store = store
        self.clock = clock
        self.rng = rng
        self.managed_fields = managed_fields
        self.admission = Admission(self.new_uid, self._namespace_labels)

    def now(self) -> str:
        return timestamp(self.clock())

    def new_uid(self) -> str:
        return new_uid(self.rng)

    def find(self, full_name: str, namespace: str, name: str) -> Json | None:
        """One object as it is stored. Not to be changed."""
        kind = self.registry.named(full_name)
        stored = self.store.get(kind, kind.key(namespace, name))
        return stored.obj if stored is not None else None

    async def pause(self) -> None:
        """A point at which a real server would let other requests go ahead of this one."""
        await asyncio.sleep(0)

    def _namespace_labels(self, name: str) -> Mapping[str, str] | None:
        stored = self.store.get(NAMESPACES, name)
        return (stored.obj["metadata"].get("labels") or {}) if stored is not None else {}
