"""Notices other writers of the status of budgets that Intact counts.

Two disruption controllers destroy nothing: both count the same pods. But where Intact counts better
than kube-controller-manager they disagree, and then write against each other. Intact warns and does
not stop: while a cluster changes over both run for a while, and a budget without a controller is
worse than one with two.
"""

import logging
from collections.abc import Callable

from intact.kube.store import key_of
from intact.model.pdb import ManagedFields, PodDisruptionBudget
from intact.operator.pdb.events import DisruptionEvents
from intact.operator.pdb.status_writer import GROUPS_MANAGER

log = logging.getLogger(__name__)

_EXPECTED = ("intact", GROUPS_MANAGER, "kube-apiserver")
"""Field managers: Intact, also from when a budget counted groups, and the API server, which stores
evictions."""


class OtherWriters:
    def __init__(
        self, events: DisruptionEvents, counts: Callable[[PodDisruptionBudget], bool]
    ) -> None:
        """`counts` says whether only this process may write the status of a budget."""
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
