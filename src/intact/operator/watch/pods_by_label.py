"""Pods by their labels, for the label keys that budgets use.

A new budget must find its pods without looking at each pod of a large namespace. An index of all
labels would be larger than the pods themselves: many values belong to one pod only.
"""

from collections.abc import Iterable, Iterator

from intact.kube.store import Store
from intact.model.pod import Pod


class _Shelf:
    """The pods of one namespace by the values of one label: their names."""

    __slots__ = ("by_value", "users")

    def __init__(self) -> None:
        self.by_value: dict[str, dict[str, None]] = {}
        self.users = 0

    def put(self, value: str, name: str) -> None:
        self.by_value.setdefault(value, {})[name] = None

    def remove(self, value: str, name: str) -> None:
        names = self.by_value.get(value)
        if names is not None:
            names.pop(name, None)
            if not names:
                del self.by_value[value]


class PodsByLabel:
    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods
        self._shelves: dict[str, dict[str, _Shelf]] = {}
        pods.subscribe(self._changed)

    def follow(self, namespace: str, key: str) -> None:
        """Index this key, until `unfollow` has been called as often."""
        shelves = self._shelves.setdefault(namespace, {})
        shelf = shelves.get(key)
        if shelf is None:
            shelf = shelves[key] = _Shelf()
            for pod in self._pods.by_index("namespace", namespace):
                value = pod.metadata.labels.get(key)
                if value is not None:
                    shelf.put(value, pod.metadata.name)
        shelf.users += 1

    def unfollow(self, namespace: str, key: str) -> None:
        shelves = self._shelves[namespace]
        shelves[key].users -= 1
        if not shelves[key].users:
            del shelves[key]
            if not shelves:
                del self._shelves[namespace]

    def having(self, namespace: str, key: str, values: Iterable[str]) -> Iterator[Pod]:
        """The pods that have one of these values; the key must be followed."""
        by_value = self._shelves[namespace][key].by_value
        for value in values:
            for name in tuple(by_value.get(value, ())):
                pod = self._pods.get(namespace, name)
                if pod is not None:
                    yield pod

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        shelves = self._shelves.get((new or old).metadata.namespace)  # type: ignore[union-attr]
        if not shelves:
            return
        before = old.metadata.labels if old is not None else {}
        after = new.metadata.labels if new is not None else {}
        if before == after:
            return
        name = (new or old).metadata.name  # type: ignore[union-attr]
        for key, shelf in shelves.items():
            was, now = before.get(key), after.get(key)
            if was == now:
                continue
            if was is not None:
                shelf.remove(was, name)
            if now is not None:
                shelf.put(now, name)
