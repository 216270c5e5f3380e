"""Live counts of one budget: updated with each pod, never recomputed.

A unit is a pod, or, in group mode, a group. A pod without the group label is a unit of its own. In
group mode the pods are counted as well: as long as no group has as many pods as it needs, the
budget holds pods. An update costs the same however many pods there are.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

Key = TypeVar("Key", str, int)


@dataclass(frozen=True, slots=True)
class Member:
    """A pod as the counts see it."""

    owner: str
    """UID of the owner whose scale says how many of these there should be; empty if none does."""
    available: bool
    group: str | None = None
    present: bool = True
    """Not terminating and not finished: it is one of its owner's replicas."""
    need: int | None = None
    """How many pods its group needs, if the pod says so itself, and not the budget."""
    idle: bool = False
    """It would be available, but its owner wants no pods any more: it is free to go, and no other
    pod may go in its place."""


@dataclass(slots=True)
class _Group:
    pods: int = 0
    present: int = 0
    available: int = 0
    idle: int = 0
    needs: dict[int, int] = field(default_factory=dict)
    """What its pods say that it needs, and how many of them say so."""


class Counts:
    def __init__(self, need: int | None) -> None:
        """`need` is how many available pods a group needs, unless its pods say so themselves; None
        if the budget counts pods."""
        self.need = need
        self.unavailable_groups: dict[str, None] = {}
        """Groups that have pods and are not available, in the order in which they became so."""
        self.surplus: dict[str, int] = {}
        self.owners: dict[str, int] = {}
        """Present pods by owner; an owner stays as long as it has any pod, present or not."""
        self._members: dict[str, Member] = {}
        self._by_owner: dict[str, int] = {}
        self._groups: dict[str, _Group] = {}
        self._ledger: frozenset[str] = frozenset()
        self._single_available = 0
        self._single = 0
        self._single_present = 0
        self._available_pods = 0
        self._idle_pods = 0
        self._single_idle = 0
        self._idle_groups: dict[str, None] = {}

    def put(self, uid: str, member: Member) -> bool:
        """Returns whether anything has changed."""
        if self._members.get(uid) == member:
            return False
        self.remove(uid)
        self._members[uid] = member
        self._count(uid, member, +1)
        return True

    def remove(self, uid: str) -> None:
        member = self._members.pop(uid, None)
        if member is not None:
            self._count(uid, member, -1)

    @property
    def ledger(self) -> frozenset[str]:
        return self._ledger

    def set_ledger(self, uids: Iterable[str]) -> None:
        """The recorded pods: they count as unavailable, whatever they say themselves."""
        new = frozenset(uids)
        # Sorted: the order of groups in the status must not depend on hashes.
        moved = sorted(new ^ self._ledger)
        changed = [(uid, self._members[uid]) for uid in moved if uid in self._members]
        for uid, member in changed:
            self._count(uid, member, -1)
        self._ledger = new
        for uid, member in changed:
            self._count(uid, member, +1)

    @property
    def units(self) -> int:
        return len(self._groups) + self._single

    @property
    def available(self) -> int:
        """Available units."""
        return len(self._groups) - len(self.unavailable_groups) + self._single_available

    @property
    def available_pods(self) -> int:
        return self._available_pods

    @property
    def idle(self) -> int:
        """Units that are not among the available ones only because their owners want no pods."""
        return len(self._idle_groups) + self._single_idle

    @property
    def idle_pods(self) -> int:
        return self._idle_pods

    @property
    def single_present(self) -> int:
        """Present pods that are units of their own."""
        return self._single_present

    @property
    def pods(self) -> int:
        return len(self._members)

    @property
    def largest_group(self) -> int:
        """Present pods of the group that has the most."""
        return max((group.present for group in self._groups.values()), default=0)

    @property
    def largest_need(self) -> int:
        """Of all groups; the budget's own if there are none."""
        return max(map(self._need, self._groups.values()), default=self.need or 0)

    @property
    def has_whole_group(self) -> bool:
        """Whether some group has as many present pods as it needs."""
        return any(group.present >= self._need(group) for group in self._groups.values())

    def small_groups(self) -> list[str]:
        """Groups that have fewer present pods than they need."""
        found = ((name, self._groups[name]) for name in self.unavailable_groups)
        return [name for name, group in found if group.present < self._need(group)]

    def _need(self, group: _Group) -> int:
        """Where its pods differ, the strictest."""
        return max(group.needs, default=self.need or 0)

    @property
    def groups(self) -> Collection[str]:
        return self._groups.keys()

    def pods_by_owner(self) -> dict[str, int]:
        """All pods by owner, present or not."""
        return self._by_owner

    def uids_of(self, owner: str) -> list[str]:
        return [uid for uid, member in self._members.items() if member.owner == owner]

    def available_without(self, uids: Iterable[str], *, in_groups: bool = True) -> int:
        """How many units were available if these pods were recorded as well; without `in_groups`,
        every pod is a unit."""
        singles = 0
        groups: dict[str, int] = {}
        for uid in uids:
            member = self._members.get(uid)
            if member is None or not member.available or uid in self._ledger:
                continue
            if in_groups and self.need is not None and member.group is not None:
                groups[member.group] = groups.get(member.group, 0) + 1
            else:
                singles += 1
        if not in_groups:
            return self._available_pods - singles
        lost = sum(
            name not in self.unavailable_groups
            and self._groups[name].available - gone < self._need(self._groups[name])
            for name, gone in groups.items()
        )
        return self.available - singles - lost

    def held_groups(self, uids: Iterable[str]) -> list[str]:
        """The unavailable groups that would be available if these pods were not recorded."""
        more: dict[str, int] = {}
        for uid in uids:
            member = self._members.get(uid)
            if member is not None and member.available and member.group is not None:
                more[member.group] = more.get(member.group, 0) + (uid in self._ledger)
        return [
            name
            for name in self.unavailable_groups
            if name in more
            and self._groups[name].available + more[name] >= self._need(self._groups[name])
        ]

    def _count(self, uid: str, member: Member, sign: int) -> None:
        _add(self._by_owner, member.owner, sign)
        self.owners[member.owner] = self.owners.get(member.owner, 0) + sign * member.present
        if member.owner not in self._by_owner:
            del self.owners[member.owner]
        available = member.available and uid not in self._ledger
        idle = member.idle and uid not in self._ledger
        self._available_pods += sign * available
        self._idle_pods += sign * idle
        if self.need is None or member.group is None:
            self._single += sign
            self._single_available += sign * available
            self._single_idle += sign * idle
            self._single_present += sign * member.present
        else:
            group = self._groups.setdefault(member.group, _Group())
            group.pods += sign
            group.present += sign * member.present
            group.available += sign * available
            group.idle += sign * idle
            if member.need is not None:
                _add(group.needs, member.need, sign)
            self._judge(member.group, group, self._need(group))

    def _judge(self, name: str, group: _Group, need: int) -> None:
        self.surplus.pop(name, None)
        self._idle_groups.pop(name, None)
        if group.available < need <= group.available + group.idle:
            self._idle_groups[name] = None
        if not group.pods:
            del self._groups[name]
            self.unavailable_groups.pop(name, None)
        elif group.available < need:
            self.unavailable_groups.setdefault(name)
        else:
            self.unavailable_groups.pop(name, None)
            if group.available > need:
                self.surplus[name] = group.available - need


def _add(counts: dict[Key, int], key: Key, number: int) -> None:
    counts[key] = counts.get(key, 0) + number
    if not counts[key]:
        del counts[key]
