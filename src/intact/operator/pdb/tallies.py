"""Which live counts a PodDisruptionBudget gets: of pods, of groups, or none."""

from dataclasses import dataclass

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import read_settings
from intact.budget.pdb.pod_counts import PodCounts
from intact.budget.pdb.scope import asks_by_field, counts_pods
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.index import PdbEntry, PdbIndex, Tally


@dataclass(frozen=True, slots=True)
class Tallies:
    sources: GroupSources
    groups: bool
    """Whether budgets that count groups by their label are counted."""
    disruption: bool
    """Whether budgets that count pods are counted."""

    def make(self, budget: PodDisruptionBudget) -> Tally | None:
        """None for a budget that is left to another controller."""
        if asks_by_field(budget) or (self.groups and not counts_pods(budget)):
            definitions = self.sources.of(budget.metadata.namespace)
            return GroupCounts(read_settings(budget), definitions)
        return PodCounts() if self.disruption else None


def counting_groups(index: PdbIndex) -> list[tuple[PdbEntry, GroupCounts]]:
    """All budgets that count groups, with their counts."""
    return [
        (entry, entry.tally)
        for entry in index.entries.values()
        if isinstance(entry.tally, GroupCounts)
    ]
