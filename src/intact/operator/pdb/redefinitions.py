"""Changes of what defines groups, passed on to the counts of the budgets that they concern."""

from intact.budget.pdb.expected_groups import depends_on
from intact.budget.pdb.group_sources import Source
from intact.model.pod_state import is_terminating
from intact.operator.pdb.group_sources import Defining, GroupSources
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.tallies import counting_groups


class Redefinitions:
    def __init__(self, index: PdbIndex, sources: GroupSources) -> None:
        self._index = index
        sources.on_change = self._changed

    def _changed(self, source: Source, old: Defining | None, new: Defining | None) -> None:
        found = new or old
        if found is None or _defines_the_same(old, new):
            return
        meta = found.metadata
        for entry, counts in counting_groups(self._index):
            if entry.key[0] != meta.namespace:
                continue
            changed = counts.redefine(source, meta.name)
            if changed or depends_on(counts, found):
                self._index.mark(entry.key)


def _defines_the_same(old: Defining | None, new: Defining | None) -> bool:
    if old is None or new is None:
        return False
    return old.spec == new.spec and is_terminating(old) == is_terminating(new)
