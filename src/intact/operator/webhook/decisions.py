"""How often each budget decided what, for `/metrics`.

Every decision counts once. The first `MOST` budgets have series of their own; the others share one
without a name. The series of a budget that is gone end at the next scrape, and others may have its
place. What it had is added to no other series: `rate()` would take that for new decisions.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily

from intact.kube.store import Key

MOST = 1000
"""Budgets with series of their own."""

Budget = tuple[str, str, str]
"""Kind, namespace and name."""
_OTHERS: Budget = ("", "", "")
_LABELS = ("kind", "namespace", "budget", "operation", "answer", "reason")


class Decisions:
    def __init__(self) -> None:
        self._exists: dict[str, Callable[[Key], bool]] = {}
        self._counts: dict[Budget, Counter[tuple[str, str, str]]] = {}
        self._others: Counter[tuple[str, str, str]] = Counter()

    def follow(self, kind: str, exists: Callable[[Key], bool]) -> None:
        """Ask this at each scrape whether a budget of the kind is still there."""
        self._exists[kind] = exists

    def count(self, budget: Budget, operation: str, answer: str, reason: str) -> None:
        counts = self._counts.get(budget)
        if counts is None:
            counts = self._others
            if len(self._counts) < MOST:
                counts = self._counts[budget] = Counter()
        counts[operation, answer, reason] += 1

    def collect(self) -> CounterMetricFamily:
        self._counts = {
            budget: counts for budget, counts in self._counts.items() if self._is_there(budget)
        }
        family = CounterMetricFamily(
            "intact_gate_decisions",
            "Decisions by budget, operation, answer and reason.",
            labels=_LABELS,
        )
        for labels, number in self._series():
            family.add_metric(labels, number)
        return family

    def _is_there(self, budget: Budget) -> bool:
        kind, namespace, name = budget
        exists = self._exists.get(kind)
        return exists is None or exists((namespace, name))

    def _series(self) -> Iterable[tuple[tuple[str, ...], int]]:
        for budget, counts in (*self._counts.items(), (_OTHERS, self._others)):
            for decision, number in counts.items():
                yield (*budget, *decision), number
