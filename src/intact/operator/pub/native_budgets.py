"""The PodDisruptionBudgets that cover a pod, as the gate of PodUnavailableBudgets sees them.

The store may be behind. If it shows less than a budget allows, the gate denies too much for a
moment; if it shows more, the API server refuses, and the record ends after its lifetime. Evictions
that this process has let through count against a budget until the budget shows them, or for a few
seconds. Otherwise a drain would spend a unit on each of its pods, and the budget would refuse most
of them.

What a budget in groups allows depends on the pod, and its numbers do not say it: where this process
answers for such budgets, its door is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from intact.budget.native_eviction import counts_for, is_free, refusal
from intact.budget.selector_index import SelectorIndex
from intact.budget.selectors import Selector, check_selector
from intact.kube.store import Key, Store, key_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod

_UNDER_WAY = 5.0
"""Seconds for which an eviction counts that its budget does not show."""


class Refusal(NamedTuple):
    budget: PodDisruptionBudget
    message: str
    is_told: bool = False
    """The door, which the API server asks as well, records it."""


AskDoor = Callable[[Pod], Awaitable[tuple[PodDisruptionBudget, str] | None]]
"""What the door would say to an eviction of the pod; None if it would let it through."""


async def no_door(_pod: Pod) -> None:
    """There is none in this process."""


class NativeBudgets:
    def __init__(self, budgets: Store[PodDisruptionBudget], ask_door: AskDoor = no_door) -> None:
        self._budgets = budgets
        self._ask_door = ask_door
        self._selectors: dict[str, SelectorIndex[Key]] = {}
        self._under_way: dict[Key, dict[str, float]] = {}
        """For each budget the pods that were let through, by name, and until when they count."""
        budgets.subscribe(self._changed)

    async def refusal(self, pod: Pod) -> Refusal | None:
        """Why the API server would refuse an eviction of this pod; None if it would not. If
        several budgets cover the pod, the first of them stands for all."""
        budgets = sorted(self._covering(pod), key=lambda budget: budget.metadata.name)
        if budgets and (found := await self._ask_door(pod)):
            return Refusal(*found, is_told=True)
        under_way = 0
        if len(budgets) == 1:
            under_way = len(self._fresh(key_of(budgets[0])).keys() - {pod.metadata.name})
        message = refusal(pod, budgets, under_way)
        return Refusal(budgets[0], message) if message else None

    def let_through(self, pod: Pod) -> None:
        """The gate has let an eviction of this pod through."""
        for budget in self._covering(pod):
            if counts_for(pod) and not is_free(pod, budget):
                under_way = self._under_way.setdefault(key_of(budget), {})
                under_way[pod.metadata.name] = _now() + _UNDER_WAY

    def give_back(self, pod: Pod) -> None:
        """The gate has not let it through after all."""
        for budget in self._covering(pod):
            self._under_way.get(key_of(budget), {}).pop(pod.metadata.name, None)

    def _covering(self, pod: Pod) -> list[PodDisruptionBudget]:
        index = self._selectors.get(pod.metadata.namespace)
        keys = index.selecting(pod.metadata.labels) if index else ()
        found = [self._budgets.get(*key) for key in keys]
        return [budget for budget in found if budget is not None]

    def _fresh(self, key: Key) -> dict[str, float]:
        now = _now()
        found = {name: until for name, until in self._under_way.get(key, {}).items() if until > now}
        if found:
            self._under_way[key] = found
        else:
            self._under_way.pop(key, None)
        return found

    def _changed(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> None:
        if new is None:
            assert old is not None
            self._forget(key_of(old))
            self._under_way.pop(key_of(old), None)
            return
        key = key_of(new)
        if old is None or old.spec.selector != new.spec.selector:
            self._forget(key)
            selector = new.spec.selector
            # Without a selector, or with one that cannot be read, the API server takes none.
            if selector is not None and not check_selector(selector):
                self._selectors.setdefault(key[0], SelectorIndex()).put(key, Selector(selector))
        for name in self._under_way.get(key, {}).keys() & new.status.disrupted_pods.keys():
            del self._under_way[key][name]

    def _forget(self, key: Key) -> None:
        index = self._selectors.get(key[0])
        if index is not None:
            index.remove(key)
            if not index:
                del self._selectors[key[0]]


def _now() -> float:
    return asyncio.get_running_loop().time()
