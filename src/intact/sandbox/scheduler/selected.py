"""How many of each node's pods a selector selects, kept up to date with every pod.

A selector is counted when it is first asked for. From then on each pod that comes or goes changes
the counts of the selectors that select it, which an index finds by the pod's labels.
"""

from collections.abc import Iterable

from intact.budget.selector_index import SelectorIndex
from intact.budget.selectors import Selector
from intact.sandbox.scheduler.pods import Chosen, PodInfo

Counts = dict[str, int]
"""By node; nodes without any are missing."""
_Key = tuple[frozenset[str], Chosen, bool]


class SelectedPods:
    def __init__(self) -> None:
        self._placed: dict[str, dict[str, tuple[PodInfo, str]]] = {}
        """By namespace and UID, with the node."""
        self._by_label: dict[tuple[str, str, str], dict[str, tuple[PodInfo, str]]] = {}
        self._counts: dict[_Key, Counts] = {}
        self._index: dict[str, SelectorIndex[_Key]] = {}
        """By namespace."""

    def add(self, pod: PodInfo, node: str) -> None:
        self._placed.setdefault(pod.namespace, {})[pod.uid] = (pod, node)
        for key, value in pod.labels.items():
            self._by_label.setdefault((pod.namespace, key, value), {})[pod.uid] = (pod, node)
        self._change(pod, node, 1)

    def remove(self, pod: PodInfo, node: str) -> None:
        del self._placed[pod.namespace][pod.uid]
        for key, value in pod.labels.items():
            shelf = self._by_label[pod.namespace, key, value]
            del shelf[pod.uid]
            if not shelf:
                del self._by_label[pod.namespace, key, value]
        self._change(pod, node, -1)

    def counts(
        self, namespaces: frozenset[str], chosen: Chosen, *, terminating: bool = True
    ) -> Counts:
        """With or without the pods that are terminating. Not to be changed."""
        key = (namespaces, chosen, terminating)
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = {}
            selector = chosen.selector()
            if selector is not None:
                self._count(key, selector, found)
        return found

    def _count(self, key: _Key, selector: Selector, counts: Counts) -> None:
        namespaces, _chosen, terminating = key
        for namespace in sorted(namespaces):
            self._index.setdefault(namespace, SelectorIndex()).put(key, selector)
            for pod, node in self._candidates(namespace, selector):
                if (terminating or not pod.is_terminating) and selector.selects(pod.labels):
                    counts[node] = counts.get(node, 0) + 1

    def _candidates(self, namespace: str, selector: Selector) -> Iterable[tuple[PodInfo, str]]:
        anchor = selector.anchor()
        if anchor is None:
            yield from self._placed.get(namespace, {}).values()
            return
        for value in sorted(anchor[1]):
            yield from self._by_label.get((namespace, anchor[0], value), {}).values()

    def _change(self, pod: PodInfo, node: str, by: int) -> None:
        index = self._index.get(pod.namespace)
        if index is None:
            return
        for key in index.selecting(pod.labels):
            if key[2] or not pod.is_terminating:
                counts = self._counts[key]
                number = counts.get(node, 0) + by
                if number:
                    counts[node] = number
                else:
                    del counts[node]
