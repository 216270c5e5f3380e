"""The units of a budget, and groups that no budget counts: pods, and whether they are up."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from intact.budget.pub.availability import is_available
from intact.model.pod import DetailedPod
from intact.model.pod_state import condition_of, is_finished, is_ready, is_terminating


class State(StrEnum):
    AVAILABLE = "available"
    SURPLUS = "surplus"
    """Available, with more pods than it needs."""
    DOWN = "down"
    ABSENT = "absent"
    """Expected, and without any pod."""
    UNKNOWN = "unknown"
    """It is not known how many pods it needs."""


@dataclass(frozen=True, slots=True)
class UnitPicture:
    namespace: str
    name: str
    """Of the group; of a single pod that of the pod."""
    is_group: bool
    need: int | None
    pods: tuple[DetailedPod, ...]
    """Without those that have finished, by name."""
    available: int
    """Its pods that are available."""
    since: str = ""
    """Since when it is down, as far as its pods tell; empty if it is not, or nobody knows."""

    @property
    def state(self) -> State:
        if self.need is None:
            return State.UNKNOWN
        if not self.pods:
            return State.ABSENT
        if self.available < self.need:
            return State.DOWN
        return State.SURPLUS if self.is_group and self.available > self.need else State.AVAILABLE

    @property
    def is_up(self) -> bool:
        return self.state in (State.AVAILABLE, State.SURPLUS)

    @property
    def nodes(self) -> list[str]:
        return sorted({pod.spec.node_name for pod in self.pods if pod.spec.node_name})

    @property
    def missing(self) -> list[DetailedPod]:
        """The pods that are not available, first those that have been so for longest."""
        return sorted((pod for pod in self.pods if not is_available(pod)), key=unready_since)


def unit_picture(
    namespace: str,
    name: str,
    need: int | None,
    pods: Iterable[DetailedPod],
    *,
    is_group: bool,
    recorded: frozenset[str] = frozenset(),
) -> UnitPicture:
    """`recorded` are the UIDs of pods that the budget has let go: they do not count."""
    present = sorted(
        (pod for pod in pods if not is_finished(pod)), key=lambda pod: pod.metadata.name
    )
    serving = [pod for pod in present if is_available(pod) and pod.metadata.uid not in recorded]
    since = ""
    if need is not None and len(serving) < need:
        # It went down with the first pod that it could not spare.
        times = sorted(filter(None, map(unready_since, (p for p in present if p not in serving))))
        spare = max(0, len(present) - need)
        since = times[spare] if spare < len(times) else ""
    return UnitPicture(namespace, name, is_group, need, tuple(present), len(serving), since)


def unready_since(pod: DetailedPod) -> str:
    """Since when a pod that is not available is so, as far as it tells."""
    if is_terminating(pod):
        return pod.metadata.deletion_timestamp or ""
    if not is_ready(pod):
        found = condition_of(pod, "Ready") or condition_of(pod, "PodScheduled")
        if found is not None and found.last_transition_time:
            return found.last_transition_time
    return pod.metadata.creation_timestamp
