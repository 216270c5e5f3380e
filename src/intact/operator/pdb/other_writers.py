"""Notices that somebody else writes the status of budgets, too.

Two disruption controllers destroy nothing: each counts the same pods. But where ours is better than
the stock one they disagree, and then write against each other. It is a warning and no reason to
stop: while a cluster changes over both run for a while, and a budget that nobody counts is worse
than one that two count.
"""

import logging
from collections.abc import Callable

from intact.kube.store import key_of
from intact.model.pdb import ManagedFields, PodDisruptionBudget
from intact.operator.pdb.events import PdbEvents
from intact.operator.pdb.group_recount import MANAGER

log = logging.getLogger(__name__)

_EXPECTED = ("intact", MANAGER, "kube-apiserver")
"""Field managers: ourselves, also when a budget counted groups before, and the API server when it
allows an eviction."""


class OtherWriters:
    def __init__(self, events: PdbEvents, counts: Callable[[PodDisruptionBudget], bool]) -> None:
        """`counts` says whether the status of a budget is ours to write."""
        self.seen = 0
        self._events = events
        self._counts = counts
        self._named: set[str] = set()

    def budget_changed(
        self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
    ) -> None:
        if old is None or new is None:
            return
        before, after = old.metadata.managed_fields, new.metadata.managed_fields
        if before == after or not self._counts(new):
            return
        for entry in after:
            if _is_foreign(entry) and entry not in before:
                self._warn(new, entry.manager)

    def _warn(self, budget: PodDisruptionBudget, manager: str) -> None:
        self.seen += 1
        self._events.other_writer(budget, manager)
        if manager not in self._named:
            self._named.add(manager)
            log.warning(
                "%s writes the status of PodDisruptionBudgets as well (%s/%s): start "
                "kube-controller-manager with --controllers=*,-disruption-controller",
                manager,
                *key_of(budget),
            )


def _is_foreign(entry: ManagedFields) -> bool:
    return entry.subresource == "status" and entry.manager not in _EXPECTED
