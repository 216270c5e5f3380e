"""What a budget waits for: units that are down, and why, down to their pods."""

from dataclasses import dataclass

from intact.budget.pub.availability import is_available, is_marked_unavailable
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_ready, is_terminating
from intact.picture.units import State, UnitPicture, unready_since
from intact.rollout.not_ready import why_not_ready

_GOING = "is being deleted"


@dataclass(frozen=True, slots=True)
class PodCause:
    """Why a pod does not count."""

    name: str
    phase: str
    """As kubectl shows it: Pending, Running, Terminating."""
    text: str
    since: str
    """Empty if nobody knows."""
    passing: bool = False
    """Part of every start and every end; it needs attention only if it lasts."""


@dataclass(frozen=True, slots=True)
class Waited:
    """A unit that a budget waits for."""

    unit: UnitPicture
    causes: tuple[PodCause, ...]

    @property
    def lacking(self) -> int:
        """Pods that it needs and that do not even exist."""
        return max(0, (self.unit.need or 0) - len(self.unit.pods))


def waited(unit: UnitPicture) -> Waited:
    causes = [_of(pod, unit) for pod in unit.missing] if unit.state is not State.UNKNOWN else []
    # What does not pass by itself first.
    return Waited(unit, tuple(sorted(causes, key=lambda one: one.passing)))


def cause_of(pod: DetailedPod) -> PodCause | None:
    """Why a pod is not available; None if it is."""
    if is_available(pod):
        return None
    if is_terminating(pod):
        why = why_not_ready(pod)
        text = why.text.removeprefix(_GOING).removeprefix(" and ")
        return PodCause(
            pod.metadata.name, "Terminating", text or _GOING, unready_since(pod), why.passing
        )
    phase, since = pod.status.phase or "Unknown", unready_since(pod)
    if is_ready(pod) and is_marked_unavailable(pod):
        text = "a label takes it out of service"
        return PodCause(pod.metadata.name, phase, text, "")
    why = why_not_ready(pod)
    return PodCause(pod.metadata.name, phase, why.text, since, why.passing)


def _of(pod: DetailedPod, unit: UnitPicture) -> PodCause:
    if found := cause_of(pod):
        return found
    since = unit.let_go.get(pod.metadata.uid, "")
    text = "was let go and is still here"
    return PodCause(pod.metadata.name, pod.status.phase, text, since, passing=True)
