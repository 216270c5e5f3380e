"""The units of a budget, and groups that no budget counts: pods, and whether they are up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from intact.budget.pub.availability import is_available
from intact.model.pod import DetailedPod
from intact.model.pod_state import condition_of, is_finished, is_ready, is_terminating
from intact.model.times import parse_time, timestamp


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
    let_go: Mapping[str, str] = field(default_factory=dict)
    """The UIDs of its pods that the budget has let go, and when: these do not count."""

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
        """The pods that do not count, first those that have been so for longest."""
        found = (pod for pod in self.pods if not self.serves(pod))
        return sorted(found, key=lambda pod: (self.missing_since(pod), pod.metadata.name))

    def serves(self, pod: DetailedPod) -> bool:
        """Whether a pod of it counts as available."""
        return is_available(pod) and pod.metadata.uid not in self.let_go

    def missing_since(self, pod: DetailedPod) -> str:
        """Of a pod that does not count."""
        return unready_since(pod) if not is_available(pod) else self.let_go[pod.metadata.uid]


def unit_picture(
    namespace: str,
    name: str,
    need: int | None,
    pods: Iterable[DetailedPod],
    *,
    is_group: bool,
    let_go: Mapping[str, str] | None = None,
) -> UnitPicture:
    """`let_go` are the UIDs of pods that the budget has let go, and when: they do not count."""
    present = sorted(
        (pod for pod in pods if not is_finished(pod)), key=lambda pod: pod.metadata.name
    )
    mine = {pod.metadata.uid for pod in present}
    gone = {uid: at for uid, at in (let_go or {}).items() if uid in mine}
    found = UnitPicture(namespace, name, is_group, need, tuple(present), 0, "", gone)
    available = sum(map(found.serves, present))
    since = _down_since(found, need) if need is not None and available < need else ""
    return replace(found, available=available, since=since)


def _down_since(unit: UnitPicture, need: int) -> str:
    """It went down with the first pod that it could not spare. A pod that is replaced counts once:
    as the one that goes, or as the one that comes."""
    here = sum(not is_terminating(pod) for pod in unit.pods)
    began = sum(pod.status.phase != "Pending" for pod in unit.pods)
    spare = max(0, max(here, began) - need)
    times = sorted(filter(None, map(unit.missing_since, unit.missing)))
    return times[spare] if spare < len(times) else ""


def unready_since(pod: DetailedPod) -> str:
    """Since when a pod that is not available is so, as far as it tells."""
    if is_terminating(pod):
        return terminating_since(pod)
    if not is_ready(pod):
        found = condition_of(pod, "Ready") or condition_of(pod, "PodScheduled")
        if found is not None and found.last_transition_time:
            return found.last_transition_time
    return pod.metadata.creation_timestamp


def terminating_since(pod: DetailedPod) -> str:
    """When its deletion was asked for. The API server writes down when the grace period ends."""
    end = pod.metadata.deletion_timestamp or ""
    try:
        grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
        return timestamp(parse_time(end) - grace)
    except (ValueError, OverflowError):
        return end
