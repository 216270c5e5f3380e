"""Which pods of a ReplicaSet go first when there are too many: kube-controller-manager's order."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import cmp_to_key
from math import log2

from intact.model.times import parse_time
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import phase
from intact.sandbox.controllers.pods import is_active, ready_since

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST = "controller.kubernetes.io/pod-deletion-cost"


def first_to_go(pods: list[Json], related: Iterable[Json], now: datetime) -> list[Json]:
    """`related` are the pods of all ReplicaSets of the same owner: of two pods, the one goes whose
    node has more of them."""
    on_node = Counter(_node(pod) for pod in related if is_active(pod))

    def compare(one: Json, other: Json) -> int:
        ours, theirs = _standing(one, on_node), _standing(other, on_node)
        if ours != theirs:
            return -1 if ours < theirs else 1
        since = ready_since(one), ready_since(other)
        if since[0] != since[1]:
            return _younger_first(one, other, since[0] or "", since[1] or "", now)
        if _restarts(one) != _restarts(other):
            return _restarts(other) - _restarts(one)
        created = _created(one), _created(other)
        return _younger_first(one, other, *created, now) if created[0] != created[1] else 0

    return sorted(pods, key=cmp_to_key(compare))


def _standing(pod: Json, on_node: Counter[str]) -> tuple[bool, int, bool, int, int]:
    """Unassigned before assigned, pending before running, not ready before ready, cheap before
    dear, crowded before alone."""
    return (
        bool(_node(pod)),
        _PHASES.get(phase(pod), 0),
        ready_since(pod) is not None,
        _cost(pod),
        -on_node[_node(pod)],
    )


def _node(pod: Json) -> str:
    return str(pod.get("spec", {}).get("nodeName") or "")


def _cost(pod: Json) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _created(pod: Json) -> str:
    return str(pod["metadata"]["creationTimestamp"])


def _restarts(pod: Json) -> int:
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return max((each.get("restartCount", 0) for each in statuses), default=0)


def _younger_first(one: Json, other: Json, time: str, other_time: str, now: datetime) -> int:
    """Ages count by their order of magnitude; of two pods of about one age, chance picks (UID)."""
    if not time or not other_time:
        return -1 if not time else 1
    difference = _magnitude(time, now) - _magnitude(other_time, now)
    if difference:
        return difference
    return -1 if one["metadata"]["uid"] < other["metadata"]["uid"] else 1


def _magnitude(time: str, now: datetime) -> int:
    age = (now - parse_time(time)).total_seconds()
    return int(log2(age * 1e9)) if age > 0 else -1
