"""Live counts of a PodDisruptionBudget that counts groups: kept up to date with each pod.

They do not contain the ledger, because gate and recount look at different ones. The caller names
the pods that are recorded, and `without` counts as if these did not exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import (
    Definition,
    Family,
    GroupDefinitions,
    Reference,
    define,
    reference_of,
)
from intact.budget.pdb.pod_counts import is_healthy
from intact.model.meta import OwnerReference
from intact.model.pod import Pod
from intact.model.pod_state import controller_of, is_gone, is_terminating
from intact.model.times import is_time

K = TypeVar("K")
_CONTROLLERS = 3
"""How many controllers of its pods a group remembers: a rollout changes them."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The groups at one moment."""

    healthy: int = 0
    """Pods."""
    unavailable: dict[str, int] = field(default_factory=dict)
    """Groups below their need: healthy pods left."""
    surplus: dict[str, int] = field(default_factory=dict)
    needs: dict[int, int] = field(default_factory=dict)
    """How many available groups have which need."""

    @property
    def available(self) -> int:
        return sum(self.needs.values())


class Seen(NamedTuple):
    """A pod that was seen to go by an eviction, and when the Eviction API said so."""

    uid: str
    at: str


class _State(Enum):
    PRESENT = auto()
    GOING = auto()
    """Terminating or failed."""
    DONE = auto()
    """It has done its work, and nothing replaces it."""


def _state_of(pod: Pod) -> _State:
    if pod.status.phase == "Succeeded":
        return _State.DONE
    return _State.GOING if is_gone(pod) else _State.PRESENT


class _Member(NamedTuple):
    name: str
    reference: Reference | None
    healthy: bool
    state: _State
    controlled: bool


@dataclass(slots=True)
class _Group:
    definition: Definition | None = None
    pods: int = 0
    healthy: int = 0
    present: int = 0
    done: int = 0
    references: dict[Reference, int] = field(default_factory=dict)
    controllers: tuple[OwnerReference, ...] = ()
    """The last ones of its pods."""


class GroupCounts:
    def __init__(self, settings: GroupSettings, definitions: GroupDefinitions) -> None:
        self.settings = settings
        self.unreferenced: dict[str, str] = {}
        """Pods without a group: names by UID."""
        self.undefined: dict[str, None] = {}
        """Groups whose need is unknown."""
        self.families: dict[Family, int] = {}
        self.workloads: dict[str, int] = {}
        self.vanished: dict[str, tuple[Family, tuple[OwnerReference, ...]]] = {}
        """Groups whose last pod has gone, with the last controllers of their pods; until `forget`.
        """
        self.finished: dict[str, None] = {}
        """Groups whose pods have all succeeded, until `forget`."""
        self.reached: set[int] = set()
        """Needs for which a group has ever had the pods, ready or not."""
        self.evicted: dict[str, Seen] = {}
        """Pods that were seen to go by an eviction, by name, until `forget`."""
        self.version = 0
        """The latest resource version of all pods that these counts have ever seen."""
        self._definitions = definitions
        self._members: dict[str, _Member] = {}
        self._groups: dict[str, _Group] = {}
        self._defined_by: dict[tuple[str, str], dict[str, None]] = {}
        self._healthy = 0
        self._ready = 0
        self._unavailable: dict[str, int] = {}
        self._surplus: dict[str, int] = {}
        self._needs: dict[int, int] = {}

    def put(self, pod: Pod) -> bool:
        meta = pod.metadata
        self.version = max(self.version, int(meta.resource_version or 0))
        changed = False
        if is_terminating(pod) and (moment := evicted_at(pod)):
            seen = Seen(meta.uid, moment)
            changed = self.evicted.get(meta.name) != seen
            self.evicted[meta.name] = seen
        member = _Member(
            meta.name,
            reference_of(pod, self.settings),
            is_healthy(pod),
            _state_of(pod),
            controller_of(pod) is not None,
        )
        known = self._members.get(meta.uid)
        if known == member:
            return changed
        if known is not None:
            if known.reference == member.reference:
                # One copy of it for all events of the pod.
                member = member._replace(reference=known.reference)
            self._uncount(meta.uid, known)
        self._members[meta.uid] = member
        self._ready += member.healthy
        if member.reference is None:
            self.unreferenced[meta.uid] = meta.name
        else:
            self._count(member.reference, member, +1, pod)
        return True

    def remove(self, uid: str) -> bool:
        member = self._members.pop(uid, None)
        if member is None:
            return False
        self._uncount(uid, member)
        return True

    def redefine(self, source: str, name: str) -> bool:
        """A definition has changed. Returns whether that changes any group."""
        changed = False
        for group in list(self._defined_by.get((source, name), ())):
            found = self._groups[group]
            definition = self._define(found)
            if definition != found.definition:
                self._take_out(group, found)
                found.definition = definition
                self._put_in(group, found)
                changed = True
        return changed

    def forget(self, groups: Iterable[str], evictions: Iterable[str]) -> None:
        """Remember these vanished groups and evicted pods, by name, no longer."""
        for group in groups:
            self.vanished.pop(group, None)
            if group not in self._groups:
                self.finished.pop(group, None)
        for name in evictions:
            self.evicted.pop(name, None)

    @property
    def pods(self) -> int:
        return len(self._members)

    @property
    def groups(self) -> Iterable[str]:
        return self._groups.keys()

    def need_of(self, group: str) -> int | None:
        found = self._groups.get(group)
        return found.definition.need if found and found.definition else None

    def unready(self, group: str) -> int:
        """How many pods of the group are neither ready nor going."""
        found = self._groups.get(group)
        return max(0, found.present - found.healthy) if found else 0

    def unproven(self, proven: Iterable[int]) -> dict[int, int]:
        """The needs that are not proven, with the pods of the largest group that has this need."""
        missing = self.needs_of_all().keys() - set(proven)
        found = dict.fromkeys(sorted(missing), 0)
        if found:
            for group in self._groups.values():
                need = group.definition.need if group.definition else 0
                if need in found:
                    found[need] = max(found[need], group.present)
        return found

    def group_of(self, uid: str) -> str | None:
        member = self._members.get(uid)
        return member.reference.group if member and member.reference else None

    def is_healthy(self, uid: str) -> bool:
        """Whether it is ready, and the need of its group is known."""
        member = self._members.get(uid)
        if member is None or not member.healthy or member.reference is None:
            return False
        group = self._groups[member.reference.group]
        return group.definition is not None and not self._is_finished(group)

    def needs_of_all(self) -> dict[int, int]:
        """The needs of all groups, available or not, with their number."""
        needs = dict(self._needs)
        for group in self._unavailable:
            need = self.need_of(group)
            assert need is not None
            needs[need] = needs.get(need, 0) + 1
        return needs

    def ready_without(self, uids: Iterable[str]) -> int:
        """How many pods are ready, whether they have a group or not, but for these."""
        members = (self._members.get(uid) for uid in dict.fromkeys(uids))
        return self._ready - sum(member.healthy for member in members if member is not None)

    def without(self, uids: Iterable[str]) -> Counted:
        """The counts as if these pods did not exist."""
        gone: dict[str, int] = {}
        for uid in dict.fromkeys(uids):
            if self.is_healthy(uid):
                group = self.group_of(uid)
                assert group is not None
                gone[group] = gone.get(group, 0) + 1
        unavailable, surplus = dict(self._unavailable), dict(self._surplus)
        needs = dict(self._needs)
        for group, number in gone.items():
            need = self.need_of(group)
            assert need is not None
            left = self._groups[group].healthy - number
            surplus.pop(group, None)
            if left < need:
                if group not in unavailable:
                    _add(needs, need, -1)
                unavailable[group] = left
            elif left > need:
                surplus[group] = left - need
        return Counted(self._healthy - sum(gone.values()), unavailable, surplus, needs)

    def _count(self, reference: Reference, member: _Member, sign: int, pod: Pod | None) -> None:
        name = reference.group
        group = self._groups.get(name)
        finished = False
        if group is None:
            group = self._groups[name] = _Group()
            self.vanished.pop(name, None)
            self.finished.pop(name, None)
        else:
            finished = self._is_finished(group)
            self._take_out(name, group)
        controller = controller_of(pod) if pod is not None else None
        if not member.controlled:
            group.controllers = ()  # that of other pods, or an earlier one, may end without it
        elif controller is not None and controller not in group.controllers:
            group.controllers = (*group.controllers, controller)[-_CONTROLLERS:]
        group.pods += sign
        group.healthy += sign * member.healthy
        group.present += sign * (member.state is _State.PRESENT)
        group.done += sign * (member.state is _State.DONE)
        before = group.references.get(reference, 0)
        _add(group.references, reference, sign)
        if not before or reference not in group.references:
            self._index(name, reference, group)
        if not group.pods:
            del self._groups[name]
            if finished:
                self.finished[name] = None
            elif group.definition is not None:
                self.vanished[name] = (group.definition.family, group.controllers)
            return
        if not before or reference not in group.references:
            group.definition = self._define(group)
        self._put_in(name, group)

    def _index(self, name: str, reference: Reference, group: _Group) -> None:
        """File the group under what defines it, as long as any of its pods refers to that."""
        key = (reference.source, reference.defined_by)
        if any((each.source, each.defined_by) == key for each in group.references):
            self._defined_by.setdefault(key, {})[name] = None
        elif groups := self._defined_by.get(key):
            groups.pop(name, None)
            if not groups:
                del self._defined_by[key]

    def _uncount(self, uid: str, member: _Member) -> None:
        self._ready -= member.healthy
        if member.reference is None:
            self.unreferenced.pop(uid, None)
        else:
            self._count(member.reference, member, -1, None)

    def _define(self, group: _Group) -> Definition | None:
        """Pods of one group may disagree for a while: then the largest need counts."""
        found = [define(each, self.settings, self._definitions) for each in group.references]
        if not found or None in found:
            return None
        return max(each for each in found if each is not None)

    @staticmethod
    def _is_finished(group: _Group) -> bool:
        return group.done == group.pods

    def _put_in(self, name: str, group: _Group) -> None:
        definition = group.definition
        if self._is_finished(group):
            self.finished[name] = None
            return
        if definition is None:
            self.undefined[name] = None
            return
        _add(self.families, definition.family, +1)
        if definition.workload:
            _add(self.workloads, definition.workload, +1)
        self._healthy += group.healthy
        if group.present >= definition.need:
            self.reached.add(definition.need)
        if group.healthy < definition.need:
            self._unavailable[name] = group.healthy
            return
        _add(self._needs, definition.need, +1)
        if group.healthy > definition.need:
            self._surplus[name] = group.healthy - definition.need

    def _take_out(self, name: str, group: _Group) -> None:
        definition = group.definition
        if self._is_finished(group):
            self.finished.pop(name, None)
            return
        if definition is None:
            self.undefined.pop(name, None)
            return
        _add(self.families, definition.family, -1)
        if definition.workload:
            _add(self.workloads, definition.workload, -1)
        self._healthy -= group.healthy
        if self._unavailable.pop(name, None) is None:
            _add(self._needs, definition.need, -1)
            self._surplus.pop(name, None)


def evicted_at(pod: Pod) -> str:
    """When the Eviction API said that it evicts this pod; empty if it did not say so."""
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            evicted = condition.reason == "EvictionByEvictionAPI"
            at = condition.last_transition_time or "" if evicted else ""
            return at if is_time(at) else ""  # others may write it
    return ""


def _add(counts: dict[K, int], key: K, number: int) -> None:
    counts[key] = counts.get(key, 0) + number
    if not counts[key]:
        del counts[key]
