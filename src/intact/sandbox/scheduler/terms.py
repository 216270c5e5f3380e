"""The affinity terms of the pods that have a node, found by the pods that they are about.

Pods of one workload have equal terms: they are kept once, with their weight on each node.
"""

from collections.abc import Iterator, Mapping

from intact.budget.selector_index import SelectorIndex
from intact.sandbox.scheduler.pods import PodInfo, Term, parsed

Labels = Mapping[str, str]


def namespaces_of(term: Term, namespaces: Mapping[str, Labels]) -> frozenset[str]:
    """The namespaces that a term is about. `namespaces` are all, with their labels."""
    if not term.namespace_selector:
        return frozenset(term.namespaces)
    selector = parsed(term.namespace_selector)
    found = {name for name, labels in namespaces.items() if selector.selects(labels)}
    return frozenset(found.union(term.namespaces))


def is_about(term: Term, pod: PodInfo, namespace: Labels) -> bool:
    """Whether the term is about this pod, whose namespace has these labels."""
    if pod.namespace not in term.namespaces and not (
        term.namespace_selector and parsed(term.namespace_selector).selects(namespace)
    ):
        return False
    selector = term.pods.selector()
    return selector is not None and selector.selects(pod.labels)


class Terms:
    def __init__(self) -> None:
        self._weights: dict[Term, dict[str, int]] = {}
        """By node."""
        self._named: dict[str, SelectorIndex[Term]] = {}
        """By namespace: terms without a namespace selector."""
        self._selecting: SelectorIndex[Term] = SelectorIndex()

    def __bool__(self) -> bool:
        return bool(self._weights)

    def add(self, term: Term, node: str, weight: int) -> None:
        weights = self._weights.get(term)
        if weights is None:
            weights = self._weights[term] = {}
            selector = term.pods.selector()
            if selector is not None:
                for index in self._indexes(term):
                    index.put(term, selector)
        weights[node] = weights.get(node, 0) + weight
        if not weights[node]:
            del weights[node]
        if not weights:
            del self._weights[term]
            for index in self._indexes(term):
                index.remove(term)

    def about(self, pod: PodInfo, namespace: Labels) -> Iterator[tuple[Term, Mapping[str, int]]]:
        """The terms that are about this pod, each with its weight by node."""
        named = self._named.get(pod.namespace)
        if named is not None:
            for term in named.selecting(pod.labels):
                yield term, self._weights[term]
        for term in self._selecting.selecting(pod.labels):
            if is_about(term, pod, namespace):
                yield term, self._weights[term]

    def _indexes(self, term: Term) -> list[SelectorIndex[Term]]:
        if term.namespace_selector:
            return [self._selecting]
        return [self._named.setdefault(name, SelectorIndex()) for name in term.namespaces]
