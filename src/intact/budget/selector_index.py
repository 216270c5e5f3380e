"""Which selectors select these labels, without asking each selector.

The index files a selector under one of the labels that all its pods must have. It asks only the
selectors without such a label every time.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from intact.budget.selectors import Selector

K = TypeVar("K")


class SelectorIndex(Generic[K]):
    def __init__(self) -> None:
        self._selectors: dict[K, Selector] = {}
        self._by_label: dict[tuple[str, str], dict[K, None]] = {}
        self._anywhere: dict[K, None] = {}

    def __len__(self) -> int:
        return len(self._selectors)

    def put(self, key: K, selector: Selector) -> None:
        self.remove(key)
        self._selectors[key] = selector
        for shelf in self._shelves(selector):
            shelf[key] = None

    def remove(self, key: K) -> None:
        selector = self._selectors.pop(key, None)
        if selector is None:
            return
        for shelf in self._shelves(selector):
            del shelf[key]
        if anchor := selector.anchor():
            for value in anchor[1]:
                if not self._by_label[anchor[0], value]:
                    del self._by_label[anchor[0], value]

    def _shelves(self, selector: Selector) -> list[dict[K, None]]:
        anchor = selector.anchor()
        if anchor is None:
            return [self._anywhere]
        return [self._by_label.setdefault((anchor[0], value), {}) for value in sorted(anchor[1])]

    def selecting(self, labels: Mapping[str, str]) -> Iterator[K]:
        """The keys of all selectors that select these labels."""
        for item in labels.items():
            for key in self._by_label.get(item, ()):
                if self._selectors[key].selects(labels):
                    yield key
        for key in self._anywhere:
            if self._selectors[key].selects(labels):
                yield key
