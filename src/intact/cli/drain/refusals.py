"""What was refused, and what must change before it is asked for again.

A refusal is remembered with what was known when the question was asked: of each budget how often it
or one of its pods had changed until then. If that number is another one now, the answer can be
another one, too.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from intact.cli.drain.plan import Mark
from intact.cli.drain.units import BudgetKey, DrainUnit, UnitKey, key_of

Known = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    known: Known
    message: str
    at: float
    """The time of the answer."""
    not_before: float = 0.0
    """The server does not want to be asked earlier, whatever changes."""
    at_latest: float = math.inf
    """Asked again then, even if nothing changes that can be seen."""
    changes: Mapping[BudgetKey, int] = field(default_factory=dict)
    """How often each budget had changed when the question was asked."""
    attempts: int = 1
    """Answers in a row that were no answer: the server failed, or no budget explains it."""


class Refusals:
    def __init__(self) -> None:
        self.changes: Counter[BudgetKey] = Counter()
        """How often a budget, or one of its pods, has changed."""
        self.messages: dict[BudgetKey, str] = {}
        """The last words of the server about a budget."""
        self._units: dict[UnitKey, Refusal] = {}
        self._marks: dict[tuple[BudgetKey, bool], int] = {}

    def known(self, unit: DrainUnit) -> Known:
        """What is known at this moment of all that the answer depends on."""
        budgets = sorted(key_of(one) for one in unit.budgets)
        pods = sorted((pod.metadata.uid, pod.metadata.resource_version) for pod in unit.pods)
        return (*((key, self.changes[key]) for key in budgets), *pods, unit.free)

    def of(self, key: UnitKey) -> Refusal | None:
        return self._units.get(key)

    def refuse(
        self, unit: DrainUnit, refusal: Refusal, blamed: Iterable[BudgetKey], *, free: bool
    ) -> None:
        """`blamed` are the budgets that other units of the same class need not ask again either."""
        self._units[unit.key] = refusal
        for key in blamed:
            self.messages[key] = refusal.message
            if math.isinf(refusal.at_latest):
                self._marks[key, free] = refusal.changes.get(key, 0)

    def grant(self, unit: DrainUnit, *, free: bool) -> None:
        self._units.pop(unit.key, None)
        for one in unit.budgets:
            self._marks.pop((key_of(one), free), None)

    def may_ask(self, unit: DrainUnit, now: float) -> bool:
        found = self._units.get(unit.key)
        if found is None:
            return True
        if now < found.not_before:
            return False
        return now >= found.at_latest or found.known != self.known(unit)

    def mark(self, key: BudgetKey, free: bool) -> Mark:
        found = self._marks.get((key, free))
        if found is None:
            return Mark.NONE
        return Mark.STANDS if found == self.changes[key] else Mark.CHANGED

    def next_time(self, keys: Iterable[UnitKey], now: float) -> float:
        """When one of these units may be asked for without any change; infinity if never."""
        times = [math.inf]
        for key in keys:
            found = self._units.get(key)
            if found is not None:
                times += [at for at in (found.not_before, found.at_latest) if at > now]
        return min(times)
