"""PodDisruptionBudgets by the pods that they cover, with the live tally of each.

Kept up to date by the handlers of the stores: a pod event costs the same however many pods and
budgets there are, and nothing is matched again while a pod's labels stay. Pods of all phases are
members, and every budget that selects a pod is told of it, before and after a change of labels.
Every process keeps this index: the webhooks ask it, and the leader recounts from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.selectors import Selector, check_selector
from intact.kube.store import Key, Store, key_of
from intact.model.meta import OwnerReference
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.workload import Workload
from intact.operator.watch.kinds import GroupKind
from intact.operator.watch.membership import BudgetEntry, Membership
from intact.operator.watch.owners import Workloads


class Tally(Protocol):
    """The live counts of one budget."""

    def put(self, pod: Pod) -> bool:
        """The pod is a member, or has changed. True if that changes any count."""

    def remove(self, uid: str) -> bool:
        """The pod is no member any more. True if that changes any count."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A pod of `status.disruptedPods`, which names it only."""

    at: str
    uid: str
    """Of the pod that had this name when the entry was first seen; empty if there was none."""


@dataclass(slots=True)
class PdbEntry(BudgetEntry[PodDisruptionBudget]):
    """One budget with its live tally."""

    tally: Tally
    evicted: dict[str, Evicted] = field(default_factory=dict)


MakeTally = Callable[[PodDisruptionBudget], Tally | None]
"""None for a budget that another controller counts."""


class PdbIndex(Membership[PdbEntry]):
    def __init__(
        self,
        pods: Store[Pod],
        budgets: Store[PodDisruptionBudget],
        workloads: Workloads,
        make_tally: MakeTally,
    ) -> None:
        super().__init__(pods)
        self._workloads = workloads
        self._make_tally = make_tally
        self._on_dirty: list[Callable[[Key], None]] = []
        self._on_overlap: list[Callable[[Pod, tuple[Key, ...]], None]] = []
        pods.subscribe(self._pod_changed)
        budgets.subscribe(self._budget_changed)
        workloads.subscribe(self._workload_changed)

    def on_dirty(self, handler: Callable[[Key], None]) -> None:
        """Call this when the counts of a budget, or what they stand for, have changed."""
        self._on_dirty.append(handler)

    def on_overlap(self, handler: Callable[[Pod, tuple[Key, ...]], None]) -> None:
        """Call this when a pod begins to be covered by several budgets, or by others."""
        self._on_overlap.append(handler)

    def mark(self, key: Key) -> None:
        for handler in self._on_dirty:
            handler(key)

    def count(self, pod: Pod) -> None:
        """Put a pod into its tallies again: what it stands for may have changed."""
        for key in self.budgets_of(pod.metadata.uid):
            if self.entries[key].tally.put(pod):
                self.mark(key)

    def update(self, budget: PodDisruptionBudget) -> bool:
        """A later reading of a budget, from the watch or as the answer to a write. False if it
        was known already."""
        entry = self.entries.get(key_of(budget))
        if entry is None or entry.budget.metadata.uid != budget.metadata.uid:
            return False
        if not entry.is_older_than(budget):
            return False
        entry.budget = budget
        self._note_evicted(entry)
        return True

    def has_rules_of(self, budget: PodDisruptionBudget) -> bool:
        """Whether its pods are counted as this reading of it says. Other rules need other counts:
        those come with the watch."""
        entry = self.entries.get(key_of(budget))
        return entry is not None and _same_rules(entry.budget, budget)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            for key in self.drop(old.metadata.uid):
                self._remove(key, old.metadata.uid)
        elif old is None or old.metadata.labels != new.metadata.labels:
            self._match(new)
        else:
            self.count(new)

    def _match(self, pod: Pod) -> None:
        match = self.match(pod)
        for key in match.left:
            self._remove(key, pod.metadata.uid)
        for key in match.keys:
            if self.entries[key].tally.put(pod) or key not in match.before:
                self.mark(key)
        if len(match.keys) > 1 and match.keys != match.before:
            for handler in self._on_overlap:
                handler(pod, match.keys)

    def _remove(self, key: Key, uid: str) -> None:
        self.entries[key].tally.remove(uid)
        self.mark(key)

    def _budget_changed(
        self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
    ) -> None:
        if old is not None and new is not None and _same_rules(old, new):
            if self.update(new):
                self.mark(key_of(new))
            return
        if old is not None and key_of(old) in self.entries:
            self.remove(key_of(old))
        if new is not None:
            self._adopt(new)
        self.mark(key_of(new or old))  # type: ignore[arg-type]

    def _note_evicted(self, entry: PdbEntry) -> None:
        if not entry.evicted and not entry.budget.status.disrupted_pods:
            return
        namespace = entry.key[0]
        known, entry.evicted = entry.evicted, {}
        for name, at in entry.budget.status.disrupted_pods.items():
            before = known.get(name)
            if before is None or before.at != at:
                pod = self._pods.get(namespace, name)
                before = Evicted(at, pod.metadata.uid if pod is not None else "")
            entry.evicted[name] = before

    def _adopt(self, budget: PodDisruptionBudget) -> None:
        tally = self._make_tally(budget)
        if tally is None:
            return
        entry = PdbEntry(budget, tally)
        self.add(entry, selector_of(budget))
        self._note_evicted(entry)
        for pod in self.selected(entry.key):
            self._match(pod)

    def _workload_changed(
        self, kind: GroupKind, old: Workload | None, new: Workload | None
    ) -> None:
        if old is not None and new is not None and _same_scale(old, new):
            return
        self._mark_owner((new or old).metadata.uid)  # type: ignore[union-attr]
        if kind == ("apps", "Deployment"):
            for replica_set in self._workloads.owned_by((new or old).metadata.uid):  # type: ignore[union-attr]
                self._mark_owner(replica_set.metadata.uid)

    def _mark_owner(self, uid: str) -> None:
        """All budgets that cover a pod of this owner: how many it wants may have changed."""
        keys: dict[Key, None] = {}
        for pod in self._pods.by_index("owner", uid):
            keys.update(dict.fromkeys(self.budgets_of(pod.metadata.uid)))
        for key in keys:
            self.mark(key)


def selector_of(budget: PodDisruptionBudget) -> Selector | None:
    """As policy/v1 means it: none selects nothing, an empty one everything. What the server kept
    from v1beta1 it shows as a selector of v1 that selects the same."""
    selector = budget.spec.selector
    if selector is None or check_selector(selector):
        return None
    return Selector(selector)


def _same_rules(old: PodDisruptionBudget, new: PodDisruptionBudget) -> bool:
    """Whether what is counted, and how, is the same."""
    return (
        old.metadata.uid == new.metadata.uid
        and old.spec.selector == new.spec.selector
        and old.spec.budget_scope == new.spec.budget_scope
        and old.metadata.labels == new.metadata.labels
        and _settings(old) == _settings(new)
    )


def _settings(budget: PodDisruptionBudget) -> dict[str, str]:
    annotations = budget.metadata.annotations
    if not any(key in annotations for key in WRITTEN):
        return annotations
    return {key: text for key, text in annotations.items() if key not in WRITTEN}


def _same_scale(old: Workload, new: Workload) -> bool:
    return (
        old.metadata.generation == new.metadata.generation
        and old.spec.replicas == new.spec.replicas
        and _owners(old) == _owners(new)
    )


def _owners(workload: Workload) -> list[OwnerReference]:
    return workload.metadata.owner_references
