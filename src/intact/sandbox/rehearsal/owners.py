"""Which workload a pod belongs to, by the owners above it."""

from collections.abc import Iterator
from dataclasses import dataclass

from intact.budget.pdb.group_sources import LWS_NAME
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.owned import controller_of

_MOST_LEVELS = 5
_ABOVE = frozenset({"RoleBasedGroup", "CronJob"})
"""Kinds whose parts are workloads of their own: each role has its own template."""


@dataclass(frozen=True, slots=True, order=True)
class Workload:
    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def is_named(self, text: str) -> bool:
        """By NAME, NAMESPACE/NAME or KIND/NAME."""
        before, slash, name = text.rpartition("/")
        if name != self.name:
            return False
        return not slash or before == self.namespace or before.lower() == self.kind.lower()


class Owners:
    def __init__(self, api: MemoryApi) -> None:
        self._api = api
        self._kinds = {(kind.group, kind.kind): kind.full_name for kind in api.kinds()}

    def above(self, obj: Json) -> Iterator[Json]:
        """The owner references of its controller, of that one's controller, and so on."""
        for _ in range(_MOST_LEVELS):
            owner = controller_of(obj)
            if owner is None:
                return
            yield owner
            found = self.owner_of(obj)
            if found is None:
                return
            obj = found

    def owner_of(self, obj: Json) -> Json | None:
        """The object that controls it, if it is there."""
        owner = controller_of(obj)
        if owner is None:
            return None
        return self.find(owner, obj["metadata"].get("namespace", ""))

    def find(self, owner: Json, namespace: str) -> Json | None:
        """What an owner reference names, if it is there."""
        group, _, _version = owner["apiVersion"].rpartition("/")
        full_name = self._kinds.get((group, owner["kind"]))
        if full_name is None:
            return None
        found = self._api.peek(full_name, namespace, owner["name"])
        return found if found is not None and found["metadata"]["uid"] == owner["uid"] else None

    def workload_of(self, pod: Json) -> Workload:
        meta = pod["metadata"]
        namespace = meta.get("namespace", "")
        leader = (meta.get("labels") or {}).get(LWS_NAME)
        if leader:
            return Workload(namespace, "LeaderWorkerSet", leader)
        found = Workload(namespace, "Pod", meta["name"])
        for owner in self.above(pod):
            if owner["kind"] in _ABOVE:
                break
            found = Workload(namespace, owner["kind"], owner["name"])
        return found
