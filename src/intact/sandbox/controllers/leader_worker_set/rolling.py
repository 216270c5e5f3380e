"""How far a rolling update may go: the partition and the replicas of the StatefulSet of leaders.

Groups are updated from the highest index down. The partition only ever falls during an update, by
so much that no more than maxUnavailable groups are down besides the surge.
"""

from dataclasses import dataclass
from itertools import takewhile

from intact.sandbox.controllers.leader_worker_set.kind import Wanted


@dataclass(frozen=True, slots=True)
class Group:
    ready: bool = False
    updated: bool = False

    @property
    def done(self) -> bool:
        return self.ready and self.updated


@dataclass(frozen=True, slots=True)
class Leaders:
    """What the StatefulSet of leaders says."""

    partition: int
    replicas: int


def begin(wanted: Wanted, now: Leaders) -> Leaders:
    """A new template was written: nothing is updated yet, and the surge is made."""
    partition = max(min(wanted.replicas, now.replicas), wanted.partition)
    return Leaders(partition, _replicas(wanted, wanted.replicas))


def go_on(wanted: Wanted, now: Leaders, groups: list[Group], *, rescaled: bool) -> Leaders:
    """The next step. `groups` has one for each replica of the StatefulSet; `rescaled` says that the
    set was scaled since the last step."""
    if now.partition == 0 and now.replicas == wanted.replicas:
        return Leaders(wanted.partition, wanted.replicas)
    there = groups[: wanted.replicas]
    undone = wanted.replicas - sum(group.done for group in there)
    replicas = _replicas(wanted, undone)
    if rescaled:
        partition = min(now.partition, wanted.replicas + wanted.surge)
    else:
        partition = _partition(wanted, now, groups)
    return Leaders(max(partition, wanted.partition), replicas)


def _replicas(wanted: Wanted, undone: int) -> int:
    """The surge goes as the groups that it stands for are done."""
    if undone <= wanted.surge:
        return wanted.replicas + max(0, undone - 1)
    return wanted.replicas + wanted.surge


def _partition(wanted: Wanted, now: Leaders, groups: list[Group]) -> int:
    surge_there = now.replicas - wanted.replicas
    done = sum(1 for _ in takewhile(lambda group: group.done, reversed(groups)))
    lowest = max(0, now.replicas - done - (wanted.unavailable + surge_there))
    # A group below that is not ready counts against what may be down.
    found = lowest + sum(not group.ready for group in groups[:lowest])
    # Updating a group that is down anyway costs nothing.
    for index in range(min(found, now.replicas - 1), lowest - 1, -1):
        if groups[index].ready and not groups[index].updated:
            break
        found = index
    return min(found, now.partition)
