"""PodUnavailableBudgets by the pods that they cover, with the live counts of each.

Everything here is kept up to date by the handlers of the stores: a pod event costs the same however
many pods and budgets there are. Every process keeps this index: the gate asks it, and the leader
recounts from it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from intact.budget.label_groups import group_of, is_batch_key, stated_need
from intact.budget.pub.availability import is_available
from intact.budget.pub.counts import Counts, Member
from intact.budget.pub.settings import PubSettings, read_settings
from intact.budget.pub.unreadable import covers_everything
from intact.budget.selectors import Selector, check_selector
from intact.kube.store import Key, Store, key_of
from intact.model.meta import LabelSelector, OwnerReference, api_group
from intact.model.pod import Pod
from intact.model.pod_state import (
    Owned,
    controller_of,
    is_ending,
    is_finished,
    is_gone,
    is_terminating,
)
from intact.model.pub import PodUnavailableBudget, PubSpec, TargetReference
from intact.model.workload import Workload, stated_pods, wanted_ordinals
from intact.operator.pub.write_turns import Turn
from intact.operator.watch.kinds import GroupKind, scales_in_groups
from intact.operator.watch.membership import BudgetEntry, Membership
from intact.operator.watch.owners import MOST_LEVELS, Chain, Owner, Target, Workloads

_PRUNE_FROM = 1000
_REPLICA_SET: GroupKind = ("apps", "ReplicaSet")


@dataclass(slots=True)
class PubEntry(BudgetEntry[PodUnavailableBudget]):
    """One budget with its live counts."""

    counts: Counts
    template_owners: dict[str, None] = field(default_factory=dict)
    """Workloads whose pods it will select, also while there are none."""
    unlabelled: dict[str, str] = field(default_factory=dict)
    """Pods without the group label: names by UID."""
    unwanted: dict[str, str] = field(default_factory=dict)
    """Pods that the scale of a StatefulSet no longer wants: its UID by theirs. They do not count.
    """
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while this process decides and stores: its gate and its recount need not collide."""
    turn: Turn = field(default_factory=Turn)
    """Among the processes that write to the budget."""
    overlapping: dict[str, None] = field(default_factory=dict)
    """Names of budgets that cover the same pods."""
    settings: PubSettings = field(init=False)
    group_key: str | None = field(init=False)
    """The label by whose values it counts groups; None if it counts pods. As long as it stays, so
    does this entry: other rules are counted anew."""

    def __post_init__(self) -> None:
        policy = self.budget.spec.pod_group_policy
        self.group_key = policy.group_label_key if policy else None
        self.settings = read_settings(self.budget)

    def group_and_need(self, pod: Pod) -> tuple[str | None, int | None]:
        """The pod's group, and how many pods it needs where the pod says so and not the budget. A
        pod of a batch whose size neither says is a unit of its own."""
        policy = self.budget.spec.pod_group_policy
        if self.group_key is None or policy is None:
            return None, None
        group = group_of(pod, self.group_key)
        if policy.min_ready_replicas is not None or not is_batch_key(self.group_key):
            return group, None
        need = stated_need(pod, self.group_key)
        return (group, need) if need is not None else (None, None)

    def take(self, budget: PodUnavailableBudget) -> None:
        """Another reading of the budget: it counts if it is newer."""
        if self.is_older_than(budget):
            self.settings = read_settings(budget)
            self.budget = budget
            self.turn.heard(budget.metadata.resource_version)


def ignore_dirty(_key: Key) -> None:
    """Marks nothing."""


class PubIndex(Membership[PubEntry]):
    def __init__(
        self, pods: Store[Pod], budgets: Store[PodUnavailableBudget], workloads: Workloads
    ) -> None:
        super().__init__(pods)
        self.on_dirty: Callable[[Key], None] = ignore_dirty
        """Called when the counts of a budget, or what they stand for, have changed. Set while this
        process leads: only the leader recounts."""
        self._workloads = workloads
        self._owners: dict[str, Owner] = {}
        self._gone: set[str] = set()
        self._idle: set[str] = set()
        self._prune_at = _PRUNE_FROM
        pods.subscribe(self._pod_changed)
        budgets.subscribe(self._budget_changed)
        workloads.subscribe(self._workload_changed)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        if new is None or is_finished(new):
            self._drop(pod.metadata.uid)
        elif self.has_budgets(pod.metadata.namespace):
            self._count(new)
        # A leader pod is above the workers of its group: they hang on it.
        moved = old is None or new is None or _owners(old) != _owners(new)
        if moved and self.has_budgets(pod.metadata.namespace):
            self._recount_owned(pod.metadata.uid)

    def _count(self, pod: Pod) -> None:
        chain = self._workloads.chain(pod)
        match = self.match(pod, chain)
        for key in match.left:
            self._remove(self.entries[key], pod.metadata.uid)
        for key in match.keys:
            self._put(self.entries[key], pod, chain)

    def _put(self, entry: PubEntry, pod: Pod, chain: Chain) -> None:
        uid = pod.metadata.uid
        unwanted = self._workloads.unwanted(pod, chain)
        # Of an owner that wants none at all, they are shown as free.
        if unwanted and not self.is_released(unwanted.owner):
            self._remove(entry, uid)
            entry.unwanted[uid] = unwanted.owner
            return
        entry.unwanted.pop(uid, None)
        owner = self.scale_owner(entry, chain)
        if owner is not None and owner.uid not in self._owners:
            self._owners[owner.uid] = owner
            self._prune()
        group, need = entry.group_and_need(pod)
        if entry.group_key is not None and group is None:
            entry.unlabelled[uid] = pod.metadata.name
        else:
            entry.unlabelled.pop(uid, None)
        wanted = owner is None or not self.is_released(owner.uid)
        member = Member(
            owner=owner.uid if owner else "",
            available=wanted and is_available(pod),
            idle=not wanted and is_available(pod),
            group=group,
            need=need,
            present=not is_terminating(pod),
        )
        # Of a pod in the ledger everything matters: an update may end without a sign in the counts.
        if entry.counts.put(uid, member) or uid in entry.counts.ledger:
            self.on_dirty(entry.key)

    def _remove(self, entry: PubEntry, uid: str) -> None:
        entry.unlabelled.pop(uid, None)
        entry.unwanted.pop(uid, None)
        entry.counts.remove(uid)
        self.on_dirty(entry.key)

    def _drop(self, uid: str) -> None:
        for key in self.drop(uid):
            self._remove(self.entries[key], uid)

    def _recount_owned(self, uid: str, levels: int = MOST_LEVELS) -> None:
        """All pods below an owner, on whatever level: their chain has changed."""
        if not levels:
            return
        for pod in self._pods.by_index("owner", uid):
            if not is_finished(pod):
                self._count(pod)
            self._recount_owned(pod.metadata.uid, levels - 1)
        for workload in self._workloads.owned_by(uid):
            self._recount_owned(workload.metadata.uid, levels - 1)

    def scale_owner(self, entry: PubEntry, chain: Chain) -> Owner | None:
        """The owner whose scale says how many units of this pod's kind there should be."""
        # A LeaderWorkerSet counts its own replicas, of which a batch may have several.
        if entry.group_key is not None and not is_batch_key(entry.group_key):
            for owner in chain.owners:
                if scales_in_groups(owner.group_kind):
                    return owner
        target = target_of(entry.budget.spec)
        if target is not None and not scales_in_groups((target.group, target.kind)):
            for owner in chain.owners:
                if owner.target == target and self._workloads.states_pods(owner.group_kind):
                    return owner
        if not chain.owners:
            return None
        nearest = chain.owners[0]
        if nearest.group_kind == _REPLICA_SET and len(chain.owners) > 1:
            above = chain.owners[1]
            if self._workloads.has_scale(above.group_kind):
                return above
        return nearest

    def largest_group(self, budget: PodUnavailableBudget, namespace: str) -> int:
        """How many pods the largest group has of those that a budget covers, which need not be
        stored yet."""
        policy = budget.spec.pod_group_policy
        if policy is None:
            return 0
        selector, target = selector_of(budget.spec), target_of(budget.spec)
        sizes: Counter[str] = Counter()
        for pod in self._pods.by_index("namespace", namespace):
            labels = pod.metadata.labels
            group = group_of(pod, policy.group_label_key)
            if group is None or is_gone(pod):
                continue
            if target is not None:
                owners = self._workloads.chain(pod).owners
                is_covered = any(owner.target == target for owner in owners)
            else:
                is_covered = selector is not None and selector.selects(labels)
            sizes[group] += is_covered
        return max(sizes.values(), default=0)

    def owner_uids(self, entry: PubEntry) -> list[str]:
        """The UIDs of all owners whose scale counts for a budget, also of those without pods. An
        empty UID stands for pods without an owner."""
        counted = entry.counts.owners
        waiting = [uid for uid in entry.template_owners if uid not in counted]
        if not waiting:
            return list(counted)
        chains = {uid: self._chain_from(uid) for uid in (*counted, *waiting)}
        # A workload above another that counts has it make the pods: theirs are the same.
        above = {owner.uid for chain in chains.values() for owner in chain.owners[1:]}
        found = dict.fromkeys(counted)
        for uid in waiting:
            owner = self.scale_owner(entry, chains[uid])
            if uid not in above:
                found.setdefault(owner.uid if owner else uid)
        return list(found)

    def _chain_from(self, uid: str) -> Chain:
        """A workload with its owners."""
        known = self._workloads.by_uid(uid)
        if known is None:
            return Chain()
        (group, kind), workload = known
        itself = Owner(group, kind, workload.metadata.name, uid)
        return Chain((itself, *self._workloads.chain(workload).owners))

    def _prune(self) -> None:
        """Now and then forget the owners that no budget counts any more: every rollout brings new
        ones."""
        if len(self._owners) < self._prune_at:
            return
        used = {uid for entry in self.entries.values() for uid in self.owner_uids(entry)}
        self._owners = {uid: owner for uid, owner in self._owners.items() if uid in used}
        self._gone &= used
        self._idle &= used
        self._prune_at = 2 * len(self._owners) + _PRUNE_FROM

    def owner(self, uid: str) -> Owner | None:
        """An owner whose scale counts, by its UID."""
        return self._owners.get(uid)

    def release(self, uid: str) -> None:
        """The owner is known to be gone."""
        if uid not in self._gone:
            self._gone.add(uid)
            self._recount_all_members(uid)

    def set_idle(self, uid: str, idle: bool) -> None:
        """What only the scale of an owner says: whether it wants no pods."""
        if idle != (uid in self._idle):
            (self._idle.add if idle else self._idle.discard)(uid)
            self._recount_all_members(uid)

    def _recount_all_members(self, uid: str) -> None:
        for entry in self.entries.values():
            if uid in entry.counts.owners:
                self._recount_members(entry, uid)

    def is_released(self, uid: str) -> bool:
        """Whether an owner wants no pods any more: scaled to zero, being deleted, or gone."""
        found = self._workloads.by_uid(uid)
        if found is None:
            return uid in self._gone
        return uid in self._idle or _wants_none(found[1])

    def _budget_changed(
        self, old: PodUnavailableBudget | None, new: PodUnavailableBudget | None
    ) -> None:
        if new is not None and old is not None and _same_rules(old, new):
            entry = self.entries[key_of(new)]
            entry.take(new)
            entry.counts.set_ledger(entry.budget.status.ledger.pods)
        else:
            if old is not None:
                self._part(key_of(old))
                self.remove(key_of(old))
            if new is not None:
                self._adopt(new)
                if not covers_everything(new):
                    self._meet(key_of(new))
        self.on_dirty(key_of(new or old))  # type: ignore[arg-type]

    def _meet(self, key: Key) -> None:
        """Note which budgets cover the same pods as a new one. They were created at once, or while
        Intact's webhook was away: otherwise it would have refused one."""
        entry = self.entries[key]
        for other in self.overlapping(key):
            entry.overlapping[other[1]] = None
            self.entries[other].overlapping[key[1]] = None
            self.on_dirty(other)

    def _part(self, key: Key) -> None:
        for name in self.entries[key].overlapping:
            self.entries[key[0], name].overlapping.pop(key[1], None)
            self.on_dirty((key[0], name))

    def _adopt(self, budget: PodUnavailableBudget) -> None:
        entry = PubEntry(budget, Counts(need_of(budget.spec)))
        entry.counts.set_ledger(budget.status.ledger.pods)
        if covers_everything(budget):
            self._adopt_selector(entry, Selector(LabelSelector()))
        elif budget.spec.target_ref is not None:
            self._adopt_target(entry, budget.spec.target_ref)
        elif selector := selector_of(budget.spec):
            self._adopt_selector(entry, selector)
        else:
            self.add(entry, None)

    def _adopt_target(self, entry: PubEntry, reference: TargetReference) -> None:
        target, namespace = _target(reference), entry.key[0]
        self.add(entry, target)
        self._workloads.learn(target.group, target.kind, reference.api_version)
        # By name, and not by the UID of the workload: it may be in no store yet, and pods of an
        # earlier one of that name may be left.
        for _, workload in self._workloads.in_namespace(namespace):
            if _is_below(workload, target):
                self._recount_owned(workload.metadata.uid)
        for pod in self._pods.by_index("namespace", namespace):
            if _is_below(pod, target):
                if not is_finished(pod):
                    self._count(pod)
                self._recount_owned(pod.metadata.uid)

    def _adopt_selector(self, entry: PubEntry, selector: Selector) -> None:
        self.add(entry, selector)
        for kind, workload in self._workloads.in_namespace(entry.key[0]):
            if self._stands_alone(kind, workload) and selector.selects(_template(workload)):
                entry.template_owners[workload.metadata.uid] = None
        for pod in self.selected(entry.key):
            if not is_finished(pod):
                self._count(pod)

    def _workload_changed(
        self, kind: GroupKind, old: Workload | None, new: Workload | None
    ) -> None:
        if old is not None and new is not None and _same_workload(old, new):
            return
        workload = new or old
        assert workload is not None
        namespace, uid = workload.metadata.namespace, workload.metadata.uid
        self._match_template(kind, old, new)
        if new is None:
            self._gone.add(uid)
        # A workload of a kind without a namespace may have pods in any.
        keys = self.budgets_in(namespace) if namespace else list(self.entries)
        if not keys:
            return
        moved = old is None or new is None or _owners(old) != _owners(new)
        if moved or wanted_ordinals(old) != wanted_ordinals(new):
            self._recount_owned(uid)
        for key in keys:
            entry = self.entries[key]
            if uid in entry.counts.owners or uid in entry.template_owners or _targets(entry, kind):
                if moved or _wants_none(old) != _wants_none(new):
                    self._recount_members(entry, uid)
                self.on_dirty(key)

    def _recount_members(self, entry: PubEntry, owner: str) -> None:
        """The owner's wish has changed, and with it whether its pods count."""
        for uid in entry.counts.uids_of(owner):
            for pod in self._pods.by_index("uid", uid):
                self._put(entry, pod, self._workloads.chain(pod))

    def _match_template(self, kind: GroupKind, old: Workload | None, new: Workload | None) -> None:
        """File a workload with the budgets that select the pods it will make."""
        workload = new or old
        assert workload is not None
        namespace, uid = workload.metadata.namespace, workload.metadata.uid
        if old is not None:
            for key in self.selecting(namespace, _template(old)):
                if self.entries[key].template_owners.pop(uid, "") is None:
                    self.on_dirty(key)
        if new is None or not self._stands_alone(kind, new):
            return
        for key in self.selecting(namespace, _template(new)):
            self.entries[key].template_owners[uid] = None
            self.on_dirty(key)

    def _stands_alone(self, kind: GroupKind, workload: Workload) -> bool:
        """Whether its own scale counts, and not that of a Deployment above it."""
        if kind != _REPLICA_SET:
            return self._workloads.states_pods(kind) and stated_pods(workload) != 0
        return controller_of(workload) is None


def target_of(spec: PubSpec) -> Target | None:
    return _target(spec.target_ref) if spec.target_ref is not None else None


def _target(reference: TargetReference) -> Target:
    return Target(api_group(reference.api_version), reference.kind, reference.name)


def selector_of(spec: PubSpec) -> Selector | None:
    """None if it cannot be read: it selects nothing."""
    if spec.selector is None or check_selector(spec.selector):
        return None
    return Selector(spec.selector)


def need_of(spec: PubSpec) -> int | None:
    policy = spec.pod_group_policy
    return None if policy is None else policy.min_ready_replicas or 1


def _same_rules(old: PodUnavailableBudget, new: PodUnavailableBudget) -> bool:
    return (old.metadata.uid, old.spec, old.problems) == (
        new.metadata.uid,
        new.spec,
        new.problems,
    )


def _same_workload(old: Workload, new: Workload) -> bool:
    said = (old.spec, stated_pods(old), is_ending(old))
    return said == (new.spec, stated_pods(new), is_ending(new)) and (
        (old.metadata.deletion_timestamp, _owners(old), old.metadata.generation)
        == (new.metadata.deletion_timestamp, _owners(new), new.metadata.generation)
    )


def _owners(found: Owned) -> list[OwnerReference]:
    return found.metadata.owner_references


def _is_below(found: Owned, target: Target) -> bool:
    """Whether what a budget names controls it."""
    above = controller_of(found)
    return (
        above is not None
        and above.name == target.name
        and above.kind == target.kind
        and api_group(above.api_version) == target.group
    )


def _wants_none(workload: Workload | None) -> bool:
    if workload is None:
        return True
    return is_ending(workload) or workload.spec.replicas == 0


def _targets(entry: PubEntry, kind: GroupKind) -> bool:
    target = target_of(entry.budget.spec)
    return target is not None and (target.group, target.kind) == kind


def _template(workload: Workload) -> dict[str, str]:
    return workload.spec.template.metadata.labels
