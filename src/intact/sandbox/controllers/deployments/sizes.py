"""The ReplicaSets of a Deployment, and how large each may be now. Nothing here writes.

`sets` are always oldest first; sizes are by name.
"""

from collections.abc import Sequence

from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.amounts import rounded_down, rounded_up

HASH_LABEL = "pod-template-hash"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"

Sizes = dict[str, int]


def annotation(obj: Json, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def count(obj: Json, name: str) -> int:
    """A counter of the status."""
    return int(obj.get("status", {}).get(name, 0))


def size(replica_set: Json) -> int:
    return int(replica_set["spec"]["replicas"])


def total(sets: Sequence[Json]) -> int:
    return sum(map(size, sets))


def find_new(deployment: Json, sets: Sequence[Json]) -> Json | None:
    """The ReplicaSet with the present template, if there is one."""
    wanted = _without_hash(deployment["spec"]["template"])
    return next((one for one in sets if _without_hash(one["spec"]["template"]) == wanted), None)


def _without_hash(template: Json) -> Json:
    meta = dict(template.get("metadata") or {})
    labels = {name: text for name, text in (meta.get("labels") or {}).items() if name != HASH_LABEL}
    return {**template, "metadata": {**meta, "labels": labels}}


def is_rolling(deployment: Json) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") != "Recreate"


def fence(deployment: Json) -> tuple[int, int]:
    """How many pods there may be too many, and too few."""
    if not is_rolling(deployment):
        return 0, 0
    replicas = size(deployment)
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = rounded_up(rolling.get("maxSurge", 0), replicas)
    short = rounded_down(rolling.get("maxUnavailable", 0), replicas)
    if not surge and not short:
        short = 1
    return surge, min(short, replicas)


def is_scaled(deployment: Json, sets: Sequence[Json]) -> bool:
    """Whether the number of replicas has changed since the ReplicaSets got their sizes."""
    recorded = [annotation(one, DESIRED) for one in sets if size(one)]
    return any(text.isdigit() and int(text) != size(deployment) for text in recorded)


def first_size(deployment: Json, old: Sequence[Json]) -> int:
    """Of a ReplicaSet that is yet to be made."""
    return _grown(deployment, old, 0)


def _grown(deployment: Json, others: Sequence[Json], present: int) -> int:
    replicas = size(deployment)
    if not is_rolling(deployment):
        return replicas
    room = replicas + fence(deployment)[0] - total(others) - present
    return present + min(room, replicas - present) if room > 0 else present


def rolled(deployment: Json, new: Json, old: Sequence[Json]) -> Sizes:
    """The next step of a rolling update: first up, then, if there is nothing to add, down."""
    replicas, present = size(deployment), size(new)
    wanted = replicas if present > replicas else _grown(deployment, old, present)
    if wanted != present:
        return {_name(new): wanted}
    return _shrunk(deployment, new, old)


def _shrunk(deployment: Json, new: Json, old: Sequence[Json]) -> Sizes:
    """Unavailable pods go first, then as many as are available beyond the least."""
    active = [one for one in old if size(one)]
    least = size(deployment) - fence(deployment)[1]
    new_unavailable = size(new) - count(new, "availableReplicas")
    may_go = total([*old, new]) - least - new_unavailable
    sizes = {_name(one): size(one) for one in active}
    if may_go <= 0:
        return sizes
    for one in active:
        gone = min(may_go, size(one) - count(one, "availableReplicas"))
        if may_go and gone < 0:
            # Its status counts pods that are on their way out: the next look knows better.
            return sizes
        sizes[_name(one)] -= gone
        may_go -= gone
    may_go = sum(count(one, "availableReplicas") for one in (*active, new)) - least
    for one in active:
        gone = max(0, min(sizes[_name(one)], may_go))
        sizes[_name(one)] -= gone
        may_go -= gone
    return sizes


def scaled(deployment: Json, new: Json | None, old: Sequence[Json]) -> Sizes:
    """After a change of replicas: one active ReplicaSet takes them all, several share them."""
    sets = [*old, new] if new is not None else [*old]
    if not sets:
        return {}
    active = [one for one in sets if size(one)]
    if len(active) < 2:
        return {_name(active[0] if active else sets[-1]): size(deployment)}
    if new is not None and _is_saturated(deployment, new):
        return {_name(one): 0 for one in active if one is not new}
    return _proportional(deployment, active) if is_rolling(deployment) else {}


def _is_saturated(deployment: Json, new: Json) -> bool:
    return annotation(new, DESIRED) == str(size(deployment)) and size(new) == count(
        new, "availableReplicas"
    ) == size(deployment)


def _proportional(deployment: Json, active: Sequence[Json]) -> Sizes:
    replicas = size(deployment)
    allowed = replicas + fence(deployment)[0] if replicas else 0
    to_add = allowed - total(active)
    # The largest first; of those of one size, the newer grows first and the older shrinks first.
    ordered = list(reversed(active)) if to_add > 0 else list(active)
    ordered.sort(key=size, reverse=True)
    sizes, added = {}, 0
    for one in ordered:
        share = _share(deployment, one) if to_add else 0
        rest = to_add - added
        share = min(share, rest) if to_add > 0 else max(share, rest)
        sizes[_name(one)] = size(one) + share
        added += share
    largest = _name(ordered[0])
    sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _share(deployment: Json, one: Json) -> int:
    if not size(deployment):
        return -size(one)
    recorded = annotation(one, MOST)
    before = int(recorded) if recorded.isdigit() else 0
    before = before or count(deployment, "replicas")
    if not before:
        return 0
    most = size(deployment) + fence(deployment)[0]
    # Rounded half up, as integers.
    return (2 * size(one) * most + before) // (2 * before) - size(one)


def _name(replica_set: Json) -> str:
    return str(replica_set["metadata"]["name"])
