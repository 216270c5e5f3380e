"""What this process remembers of its evictions, because its stores may not have seen them yet.

A new leader starts with none of it: what was evicted before is in its stores.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.times import timestamp
from intact.rollout.names import HELD
from intact.rollout.orders import Eviction

P = TypeVar("P", bound=Pod)


class EvictedPods:
    """UIDs of evicted pods that their Deployments have not been lowered by yet; and evicted pods of
    StatefulSets that the store has not seen going yet. Without the latter, a plan for other
    templates would count such a pod as available, and take another one."""

    def __init__(self) -> None:
        self._held: dict[str, Eviction] = {}
        """By the UID of the pod."""
        self._unanswered: set[str] = set()
        self.by_deployment: Mapping[str, frozenset[str]] = {}
        """By the UID of the Deployment. Replaced by every change: what was read stays as it was."""

    def add(self, deployment: str, pod: str) -> bool:
        """Whether it is new."""
        known = self.by_deployment.get(deployment, frozenset())
        self.by_deployment = {**self.by_deployment, deployment: known | {pod}}
        return pod not in known

    def discard(self, deployment: str, pod: str) -> None:
        """Also if the Deployment was forgotten meanwhile."""
        if deployment in self.by_deployment:
            rest = self.by_deployment[deployment] - {pod}
            self.by_deployment = {**self.by_deployment, deployment: rest}

    def forget(self, deployment: str) -> None:
        self.by_deployment = {
            uid: pods for uid, pods in self.by_deployment.items() if uid != deployment
        }

    def forget_all(self) -> None:
        self.by_deployment = {}
        self._held.clear()
        self._unanswered.clear()

    def hold(self, eviction: Eviction) -> None:
        """A pod of a StatefulSet is about to be evicted."""
        uid = eviction.pod.metadata.uid
        self._held[uid] = eviction
        self._unanswered.add(uid)

    def is_held(self, pod: str) -> bool:
        """Whether its eviction was asked for before."""
        return pod in self._held

    def answered(self, pod: str) -> None:
        """It goes."""
        self._unanswered.discard(pod)

    def release(self, pod: str) -> None:
        """It stays, or the store has seen it going."""
        self._held.pop(pod, None)
        self._unanswered.discard(pod)

    def seen(self, old: Pod | None, new: Pod | None) -> None:
        """The store has seen a change of a pod."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.release(old.metadata.uid)
        elif new is not None and is_terminating(new):
            self.release(new.metadata.uid)

    def unanswered(self, pods: Iterable[Pod]) -> list[Eviction]:
        """Of these pods, the evictions whose answer was lost: they are to be sent again."""
        return [
            self._held[pod.metadata.uid] for pod in pods if pod.metadata.uid in self._unanswered
        ]

    def as_evicted(self, pods: Iterable[P], now: datetime) -> list[P]:
        """The pods as they are after the evictions that the store has not seen yet."""
        return [_going(pod, now) if pod.metadata.uid in self._held else pod for pod in pods]


def _going(pod: P, now: datetime) -> P:
    meta = msgspec.structs.replace(
        pod.metadata,
        deletion_timestamp=timestamp(now),
        finalizers=[*(one for one in pod.metadata.finalizers if one != HELD), HELD],
    )
    found: P = msgspec.structs.replace(pod, metadata=meta)
    return found
