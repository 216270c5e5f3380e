"""Which budgets cover which pods.

A budget covers pods by a selector, or by the name of a workload above them. Membership is computed
from labels and owners, never stamped on pods. Every change costs what it changes: a pod event asks
only the budgets that may select its labels, a new budget looks only at pods that may be its own,
and a deleted one only at those that were.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from intact.budget.selector_index import SelectorIndex
from intact.budget.selectors import Selector
from intact.kube.store import Key, Store, key_of
from intact.model.meta import Object
from intact.model.pod import Pod
from intact.model.versions import is_before
from intact.operator.watch.owners import Chain, Target
from intact.operator.watch.pods_by_label import PodsByLabel

B = TypeVar("B", bound=Object)


@dataclass(slots=True)
class BudgetEntry(Generic[B]):
    """One budget, as it was last read. Each kind of budget adds its live counts."""

    budget: B
    members: dict[str, None] = field(default_factory=dict, init=False)
    """UIDs of its pods; kept by the membership."""

    @property
    def key(self) -> Key:
        return key_of(self.budget)

    def is_older_than(self, budget: B) -> bool:
        """By resource version: readings come from the watch and from answers to writes."""
        return is_before(self.budget.metadata.resource_version, budget.metadata.resource_version)


class Match(NamedTuple):
    """The budgets of a pod, before an event of it and after."""

    before: tuple[Key, ...]
    keys: tuple[Key, ...]

    @property
    def left(self) -> list[Key]:
        if self.before == self.keys:
            return []
        return [key for key in self.before if key not in self.keys]


E = TypeVar("E", bound=BudgetEntry[Any])


class Membership(Generic[E]):
    """Budgets, and the pods that each covers."""

    def __init__(self, pods: Store[Pod]) -> None:
        """The store has an index `namespace`."""
        self.entries: dict[Key, E] = {}
        self._pods = pods
        self._by_label = PodsByLabel(pods)
        self._covers: dict[Key, Selector | Target | None] = {}
        self._namespaces: dict[str, dict[Key, None]] = {}
        self._selectors: dict[str, SelectorIndex[Key]] = {}
        self._targets: dict[str, dict[Target, dict[Key, None]]] = {}
        self._budgets_of: dict[str, tuple[Key, ...]] = {}

    def add(self, entry: E, covers: Selector | Target | None) -> None:
        """A budget begins to cover pods; by None it covers none."""
        key = entry.key
        namespace = key[0]
        self.entries[key] = entry
        self._covers[key] = covers
        self._namespaces.setdefault(namespace, {})[key] = None
        if isinstance(covers, Target):
            self._targets.setdefault(namespace, {}).setdefault(covers, {})[key] = None
        elif covers is not None:
            self._selectors.setdefault(namespace, SelectorIndex()).put(key, covers)
            if anchor := covers.anchor():
                self._by_label.follow(namespace, anchor[0])

    def remove(self, key: Key) -> None:
        """A budget is gone, with all that it covered."""
        namespace = key[0]
        covers = self._covers.pop(key)
        for uid in self.entries.pop(key).members:
            self._set(uid, tuple(other for other in self._budgets_of[uid] if other != key))
        _discard(self._namespaces, namespace, key)
        if isinstance(covers, Target):
            targets = self._targets[namespace]
            _discard(targets, covers, key)
            if not targets:
                del self._targets[namespace]
        elif covers is not None:
            index = self._selectors[namespace]
            index.remove(key)
            if not index:
                del self._selectors[namespace]
            if anchor := covers.anchor():
                self._by_label.unfollow(namespace, anchor[0])

    def selected(self, key: Key) -> list[Pod]:
        """The pods that a budget selects by their labels. Empty for one that names a workload."""
        covers = self._covers[key]
        if covers is None or isinstance(covers, Target):
            return []
        found: Iterable[Pod]
        if anchor := covers.anchor():
            found = self._by_label.having(key[0], anchor[0], sorted(anchor[1]))
        else:
            found = self._pods.by_index("namespace", key[0])
        return [pod for pod in found if covers.selects(pod.metadata.labels)]

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> tuple[Key, ...]:
        """The budgets whose selectors select these labels."""
        index = self._selectors.get(namespace)
        return tuple(index.selecting(labels)) if index else ()

    def overlapping(self, key: Key) -> list[Key]:
        """The budgets that cover the same pods: by the same workload, or by selectors of which one
        selects what the other selects."""
        covers = self._covers[key]
        if isinstance(covers, Target):
            found: Iterable[Key] = self._targets[key[0]][covers]
        elif covers is not None:
            found = [
                other
                for other in self._namespaces[key[0]]
                if isinstance(theirs := self._covers[other], Selector) and covers.overlaps(theirs)
            ]
        else:
            found = ()
        return [other for other in found if other != key]

    def covering(self, pod: Pod, chain: Chain | None = None) -> list[E]:
        """The budgets that cover a pod with these owners, as it is now."""
        return [self.entries[key] for key in self._keys(pod, chain)]

    def _keys(self, pod: Pod, chain: Chain | None) -> tuple[Key, ...]:
        namespace = pod.metadata.namespace
        keys = self.selecting(namespace, pod.metadata.labels)
        targets = self._targets.get(namespace)
        if targets is None or chain is None:
            return keys
        found = dict.fromkeys(keys)
        for owner in chain.owners:
            found.update(targets.get(owner.target, {}))
        return tuple(found)

    def match(self, pod: Pod, chain: Chain | None = None) -> Match:
        """Note which budgets cover a pod from now on."""
        uid = pod.metadata.uid
        match = Match(self._budgets_of.get(uid, ()), self._keys(pod, chain))
        if match.before == match.keys:
            return match
        for key in match.left:
            del self.entries[key].members[uid]
        for key in match.keys:
            self.entries[key].members[uid] = None
        self._set(uid, match.keys)
        return match

    def drop(self, uid: str) -> tuple[Key, ...]:
        """The pod is gone, or counts no more. Returns the budgets that covered it."""
        keys = self._budgets_of.pop(uid, ())
        for key in keys:
            del self.entries[key].members[uid]
        return keys

    def _set(self, uid: str, keys: tuple[Key, ...]) -> None:
        if keys:
            self._budgets_of[uid] = keys
        else:
            self._budgets_of.pop(uid, None)

    def budgets_of(self, uid: str) -> tuple[Key, ...]:
        """The budgets of which the pod is a member, as of its last event."""
        return self._budgets_of.get(uid, ())

    def budgets_in(self, namespace: str) -> list[Key]:
        return list(self._namespaces.get(namespace, ()))

    def has_budgets(self, namespace: str) -> bool:
        return namespace in self._namespaces

    def has_targets(self, namespace: str) -> bool:
        """Whether budgets of the namespace name workloads, so that the owners of a pod matter."""
        return namespace in self._targets


K = TypeVar("K")


def _discard(shelves: dict[K, dict[Key, None]], shelf: K, key: Key) -> None:
    shelves[shelf].pop(key, None)
    if not shelves[shelf]:
        del shelves[shelf]
