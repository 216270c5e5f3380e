"""The pods that wait for a node: which is next, and which wait for a change.

Pods of a higher priority are first; among equals, those that have waited longer. A pod that no node
takes waits aside until something changes that could help it.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.accounts import NodeAccount
from intact.sandbox.scheduler.pods import PodInfo
from intact.sandbox.scheduler.reasons import Refusals
from intact.sandbox.scheduler.resources import missing
from intact.sandbox.scheduler.taints import tolerates_cordon


@dataclass(slots=True)
class _Waiting:
    pod: PodInfo
    priority: int
    number: int
    refusals: Refusals | None = None
    """Why it waits aside; None if it is next."""


class WaitingPods:
    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._pods: dict[str, _Waiting] = {}
        self._next: list[tuple[int, int, str]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, pod: PodInfo, priority: int) -> None:
        """A new pod, or one that has changed: it is looked at once more."""
        known = self._pods.get(pod.uid)
        number = known.number if known is not None else next(self._numbers)
        self._pods[pod.uid] = entry = _Waiting(pod, priority, number)
        self._enter(entry)

    def drop(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def pop(self) -> PodInfo | None:
        """The next pod. It stays known until it is dropped or set aside."""
        while self._next:
            _priority, number, uid = heapq.heappop(self._next)
            entry = self._pods.get(uid)
            if entry is not None and entry.number == number and entry.refusals is None:
                return entry.pod
        return None

    def known(self, uids: Iterable[str]) -> list[PodInfo]:
        """Those of these pods that wait, also those that wait aside."""
        return [self._pods[uid].pod for uid in uids if uid in self._pods]

    def set_aside(self, uid: str, refusals: Refusals) -> None:
        if uid in self._pods:
            self._pods[uid].refusals = refusals

    def nodes_changed(self) -> None:
        """A node came, or is more open than before."""
        self._retry(lambda _pod, _refusals: True)

    def pod_left(self, node: NodeAccount | None) -> None:
        """A pod left this node. A pod that only lacks room wants it there."""

        def helps(pod: PodInfo, found: Refusals) -> bool:
            if not found.resolvable or node is None:
                return False
            return not found.is_about_room() or _has_room(node, pod)

        self._retry(helps)

    def pod_leaves(self) -> None:
        """A pod is terminating: it still takes its room, but no longer counts in a spread."""
        self._retry(lambda _pod, found: found.has_spread())

    def pod_placed(self) -> None:
        self._retry(lambda _pod, found: reasons.AFFINITY in found.reasons or found.has_spread())

    def _retry(self, helps: Callable[[PodInfo, Refusals], bool]) -> None:
        for entry in self._pods.values():
            if entry.refusals is not None and helps(entry.pod, entry.refusals):
                entry.refusals = None
                self._enter(entry)

    def _enter(self, entry: _Waiting) -> None:
        heapq.heappush(self._next, (-entry.priority, entry.number, entry.pod.uid))
        self._wake()


def _has_room(node: NodeAccount, pod: PodInfo) -> bool:
    if node.is_unschedulable and not tolerates_cordon(pod.spec.get("tolerations") or ()):
        return False  # the node of a drain: its pods leave room for nothing
    # A pod for which the node is being freed has its room there already.
    return pod.uid in node.pods or not missing(pod, node)
