"""Which selectors select these labels, without asking each selector.

The index files a selector under one of the labels that all its pods must have. Most selectors ask
for that label alone: what is filed under it then needs no further question. The index asks only the
selectors without such a label every time.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from intact.budget.selectors import Selector

K = TypeVar("K")


class SelectorIndex(Generic[K]):
    def __init__(self) -> None:
        self._selectors: dict[K, Selector] = {}
        self._by_label: dict[tuple[str, str], dict[K, Selector | None]] = {}
        """What each selector has to be asked besides; None if nothing."""
        self._anywhere: dict[K, Selector | None] = {}

    def __len__(self) -> int:
        return len(self._selectors)

    def put(self, key: K, selector: Selector) -> None:
        self.remove(key)
        self._selectors[key] = selector
        rest = None if selector.asks_only_anchor() else selector
        for shelf in self._shelves(selector):
            shelf[key] = rest

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

    def _shelves(self, selector: Selector) -> list[dict[K, Selector | None]]:
        anchor = selector.anchor()
        if anchor is None:
            return [self._anywhere]
        return [self._by_label.setdefault((anchor[0], value), {}) for value in sorted(anchor[1])]

    def selecting(self, labels: Mapping[str, str]) -> Iterator[K]:
        """The keys of all selectors that select these labels."""
        for item in labels.items():
            for key, rest in self._by_label.get(item, {}).items():
                if rest is None or rest.selects(labels):
                    yield key
        for key in self._anywhere:
            if self._selectors[key].selects(labels):
                yield key
