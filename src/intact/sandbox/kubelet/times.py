"""How long pods take to start, to be ready and to end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.owned import controller_of

Peek = Callable[[str, str, str], Json | None]
"""Reads one object: by full name of its kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class StartTimes:
    """Observed times, in seconds, from a pod's node to its readiness: by workload, as `workload_of`
    names it. The pods of a workload take them in turn."""

    by_workload: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodTimes:
    """Of one pod, in seconds."""

    ready: float
    """From its node to its readiness."""
    termination: float
    is_held: bool = False
    """It is never ready."""


@dataclass(frozen=True, slots=True)
class Times:
    """In seconds. Start times that were observed are before fixed ones and readiness probes; a
    pod's annotations are before all."""

    start: float = 0.0
    """From the pod's node to its running containers."""
    ready: float = 0.0
    """From there to ready containers, if no readiness probe has an initialDelaySeconds."""
    termination: float = 0.0
    """From a deletion to its end, at most the grace period."""
    completion: float | None = None
    """From the readiness of a Job's pod to its success. None: it runs on."""
    observed: StartTimes = StartTimes()
    by_pod: Callable[[Json], PodTimes] | None = None
    """Asked when a kubelet first sees a pod: before all other times."""


def workload_of(pod: Json, peek: Peek) -> str:
    """`Kind/namespace/name` of what controls the pod, and of what controls that, up to the last
    that is there; empty for a bare pod."""
    namespace, found, current = pod["metadata"]["namespace"], "", pod
    while True:
        owner = controller_of(current)
        if owner is None:
            return found
        found = f"{owner['kind']}/{namespace}/{owner['name']}"
        group = owner["apiVersion"].rpartition("/")[0]
        plural = f"{owner['kind'].lower()}s"
        try:
            above = peek(f"{plural}.{group}" if group else plural, namespace, owner["name"])
        except KeyError:
            return found  # a kind that is not served
        if above is None:
            return found
        current = above
