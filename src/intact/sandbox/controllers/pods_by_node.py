"""The pods of each node."""

from collections.abc import Callable

from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi


class PodsByNode:
    def __init__(self, api: MemoryApi) -> None:
        self._pods: dict[str, dict[str, Json]] = {}
        """By node and UID."""
        self.end: Callable[[], None] = api.follow("pods", self._changed)

    def of(self, node: str) -> list[Json]:
        return list(self._pods.get(node, {}).values())

    def _changed(self, old: Json | None, new: Json | None) -> None:
        before = old["spec"].get("nodeName") if old is not None else None
        after = new["spec"].get("nodeName") if new is not None else None
        if old is not None and before and before != after:
            pods = self._pods[before]
            del pods[old["metadata"]["uid"]]
            if not pods:
                del self._pods[before]
        if new is not None and after:
            self._pods.setdefault(after, {})[new["metadata"]["uid"]] = new
