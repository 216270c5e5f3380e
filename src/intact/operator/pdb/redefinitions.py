"""Changes of what defines groups, passed on to the counts of the budgets that they concern.

Pods that a budget does not select concern it, too: a PodGroup or LeaderWorkerSet whose groups it
counts may have groups that it does not select.
"""

from intact.budget.pdb.expected_groups import depends_on
from intact.budget.pdb.group_sources import LEADER, LWS_NAME, LWS_WORKER_INDEX, Source
from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pod_state import is_ending, is_terminating
from intact.model.scheduling import LeaderWorkerSet, PodGroup
from intact.operator.pdb.group_sources import Defining, GroupSources
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.tallies import counting_groups


class Redefinitions:
    def __init__(self, index: PdbIndex, sources: GroupSources, pods: Store[Pod]) -> None:
        self._index = index
        self._sources = sources
        sources.on_change = self._changed
        pods.subscribe(self._pod_changed)

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

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return
        definition = self._definition_of(pod)
        if definition is None:
            return
        for entry, counts in counting_groups(self._index):
            is_other = entry.key[0] == pod.metadata.namespace and (
                pod.metadata.uid not in entry.members
            )
            if is_other and depends_on(counts, definition):
                self._index.mark(entry.key)

    def _definition_of(self, pod: Pod) -> PodGroup | LeaderWorkerSet | None:
        definitions = self._sources.of(pod.metadata.namespace)
        if group := pod.spec.scheduling_group:
            return definitions.pod_group(group.pod_group_name)
        labels = pod.metadata.labels
        if labels.get(LWS_WORKER_INDEX) == LEADER and LWS_NAME in labels:
            return definitions.leader_worker_set(labels[LWS_NAME])
        return None


def _defines_the_same(old: Defining | None, new: Defining | None) -> bool:
    if old is None or new is None:
        return False
    return old.spec == new.spec and _end_of(old) == _end_of(new)


def _end_of(found: Defining) -> tuple[bool, bool]:
    return is_terminating(found), is_ending(found)
