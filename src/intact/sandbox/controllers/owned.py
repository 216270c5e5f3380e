"""Objects of one kind, by the UID of their controller."""

from collections.abc import Callable

from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi


def controller_of(obj: Json) -> Json | None:
    """The owner reference of the object's controller."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Json = owner
            return found
    return None


def controller_uid(obj: Json | None) -> str:
    """The UID of the object's controller, or empty."""
    owner = controller_of(obj) if obj is not None else None
    return owner["uid"] if owner is not None else ""


class Owned:
    def __init__(self, api: MemoryApi, full_name: str) -> None:
        self._by_owner: dict[str, dict[str, Json]] = {}
        self.end: Callable[[], None] = api.follow(full_name, self._changed)

    def of(self, owner: Json) -> list[Json]:
        """What this object controls, oldest first."""
        return self.of_uid(owner["metadata"]["uid"])

    def of_uid(self, uid: str) -> list[Json]:
        return list(self._by_owner.get(uid, {}).values())

    def _changed(self, old: Json | None, new: Json | None) -> None:
        before, after = (controller_uid(each) for each in (old, new))
        if old is not None and before and before != after:
            owned = self._by_owner[before]
            del owned[old["metadata"]["uid"]]
            if not owned:
                del self._by_owner[before]
        if new is not None and after:
            self._by_owner.setdefault(after, {})[new["metadata"]["uid"]] = new
