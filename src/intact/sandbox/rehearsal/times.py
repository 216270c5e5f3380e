"""How long pods take to become ready and to go, by workload.

1. What the user says wins.
2. Else the pods that are there tell: from the moment a pod was placed until it was ready, the
   median of a workload's pods. A pod whose containers have restarted tells it only where no other
   does: its condition shows when it became ready last.
3. Else a default is assumed.

No object tells how long a pod takes to terminate; the grace period is its bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from intact.model.times import parse_time
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import condition, is_ready
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.kubelet.times import PodTimes
from intact.sandbox.rehearsal.owners import Owners, Workload

READY_AFTER = 30.0
"""Seconds that are assumed where no pod tells."""
GONE_AFTER = 1.0
"""Seconds after its preStop sleep that a pod is assumed to need to terminate."""
DEFAULT_GRACE = 30
_OVERDUE = 3
"""How many times as long as its like a pod may take to become ready."""


@dataclass(frozen=True, slots=True)
class Assumed:
    workload: Workload
    seconds: float
    source: str
    """`given`, `observed` or `default`."""
    pods: int = 0
    """How many of them told."""


class Times:
    def __init__(
        self,
        api: MemoryApi,
        now: datetime,
        ready_after: Mapping[str, float] | None = None,
        gone_after: Mapping[str, float] | None = None,
    ) -> None:
        """The keys are names of workloads, or empty for all others."""
        self._owners = Owners(api)
        self._ready_after = dict(ready_after or {})
        self._gone_after = dict(gone_after or {})
        self._observed = self._observe(api)
        self._loaded = {each["metadata"]["uid"]: each for each in api.objects("pods")}
        self._now = now
        self._used: dict[Workload, Assumed] = {}

    def of_pod(self, pod: Json) -> PodTimes:
        """As the kubelet asks it. A pod that is starting in the snapshot goes on with that; one
        that should have been ready long ago is not expected to be."""
        gone = self.gone_after(pod)
        loaded = self._loaded.get(pod["metadata"]["uid"])
        if loaded is None:
            return PodTimes(self.ready_after(pod), gone)
        placed = _placed(loaded)
        if is_ready(loaded) or not loaded["spec"].get("nodeName") or placed is None:
            return PodTimes(0.0 if is_ready(loaded) else self.ready_after(pod), gone)
        takes, elapsed = self.ready_after(pod), (self._now - placed).total_seconds()
        overdue = elapsed > _OVERDUE * takes + READY_AFTER
        return PodTimes(max(0.0, takes - elapsed), gone, is_held=overdue)

    def ready_after(self, pod: Json) -> float:
        """Seconds from its placement until it is ready."""
        workload = self._owners.workload_of(pod)
        found = self._used.get(workload)
        if found is None:
            found = self._used[workload] = self._assume(workload)
        return found.seconds

    def gone_after(self, pod: Json) -> float:
        """Seconds from its deletion until it is gone."""
        meta, spec = pod["metadata"], pod["spec"]
        grace = meta.get("deletionGracePeriodSeconds")
        if grace is None:
            grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        given = _given(self._gone_after, self._owners.workload_of(pod))
        return min(float(grace), _asleep(spec) + GONE_AFTER if given is None else given)

    def used(self) -> list[Assumed]:
        """What was assumed about the workloads whose pods have started."""
        return [self._used[each] for each in sorted(self._used)]

    def unknown(self) -> list[str]:
        """The names that were given and are those of no workload with pods."""
        workloads = {self._owners.workload_of(each) for each in self._loaded.values()}
        return [
            text
            for text in dict.fromkeys([*self._ready_after, *self._gone_after])
            if text and not any(each.is_named(text) for each in workloads)
        ]

    def _assume(self, workload: Workload) -> Assumed:
        given = _given(self._ready_after, workload)
        if given is not None:
            return Assumed(workload, given, "given")
        seen = self._observed.get(workload)
        if seen:
            return Assumed(workload, float(median(seen)), "observed", len(seen))
        return Assumed(workload, READY_AFTER, "default")

    def _observe(self, api: MemoryApi) -> dict[Workload, list[float]]:
        first: dict[Workload, list[float]] = {}
        restarted: dict[Workload, list[float]] = {}
        for pod in api.objects("pods"):
            took = observed(pod)
            if took is None:
                continue
            into = restarted if _has_restarted(pod) else first
            into.setdefault(self._owners.workload_of(pod), []).append(took)
        return restarted | first


def observed(pod: Json) -> float | None:
    """Seconds from its placement until it was ready; None if it is not ready."""
    ready, begun = condition(pod, "Ready"), _placed(pod)
    if ready is None or ready["status"] != "True":
        return None
    end = _time(ready.get("lastTransitionTime"))
    if end is None or begun is None:
        return None
    return max(0.0, (end - begun).total_seconds())


def _placed(pod: Json) -> datetime | None:
    """When it got its node; of a pod that was created with one, its creation."""
    placed = condition(pod, "PodScheduled") or {}
    since = _time(placed.get("lastTransitionTime")) if placed.get("status") == "True" else None
    return since or _time(pod["metadata"].get("creationTimestamp"))


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None


def _has_restarted(pod: Json) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(each.get("restartCount") for each in statuses)


def _asleep(spec: Json) -> float:
    """The longest sleep before its containers are stopped."""
    seconds = [
        ((each.get("lifecycle") or {}).get("preStop") or {}).get("sleep", {}).get("seconds", 0)
        for each in spec.get("containers") or ()
    ]
    return float(max(seconds, default=0))


def _given(times: Mapping[str, float], workload: Workload) -> float | None:
    for text, seconds in times.items():
        if text and workload.is_named(text):
            return seconds
    return times.get("")
