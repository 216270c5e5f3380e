"""Objects of a snapshot or of a film, as a picture is drawn from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from intact.kube.resources import NODE_CLAIMS, NODES, PDBS, PODS, PUBS, RBGS
from intact.model.base import View
from intact.model.pod import DetailedPod
from intact.model.pub import salvage
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.model.workload import Workload
from intact.picture.objects import Objects, OwnerObject, owner_object
from intact.sandbox.snapshot.document import Json, Snapshot

SHOWN: dict[str, tuple[str, type[View]]] = {
    PODS.full_name: ("pods", DetailedPod),
    NODES.full_name: ("nodes", NODES.type),
    NODE_CLAIMS.full_name: ("node_claims", NODE_CLAIMS.type),
    PDBS.full_name: ("pdbs", PDBS.type),
    PUBS.full_name: ("pubs", PUBS.type),
    RBGS.full_name: ("rbgs", RBGS.type),
    "podgroups.scheduling.k8s.io": ("pod_groups", PodGroup),
    "workloads.scheduling.k8s.io": ("workloads", GangWorkload),
    "leaderworkersets.leaderworkerset.x-k8s.io": ("leader_worker_sets", LeaderWorkerSet),
}
"""By the full name of a kind: the field of `Objects`, and what its objects are read as."""
NEVER_SHOWN = frozenset(
    {
        "namespaces",
        "priorityclasses.scheduling.k8s.io",
        "controllerrevisions.apps",
        "rolebasedgroupscalingadapters.workloads.x-k8s.io",
    }
)
"""The other kinds of a snapshot own pods, or what owns them."""
_OWN_NOTHING = frozenset(
    each.full_name for each in (PODS, NODES, NODE_CLAIMS, PDBS, PUBS)
)  # Pods that own others are found among the pods.


@dataclass(frozen=True, slots=True)
class Part:
    """One object, read once, for any number of pictures."""

    field: str = ""
    view: View | None = None
    owner: OwnerObject | None = None


def part_of(full_name: str, obj: Json) -> Part:
    """As from a live cluster: what does not have the shape of its kind is ignored, except a budget
    that then holds everything."""
    field, view = SHOWN.get(full_name, ("", None))
    owns = full_name not in NEVER_SHOWN and full_name not in _OWN_NOTHING
    return Part(
        field,
        _read(view, obj) if view is not None else None,
        _owner(full_name, obj) if owns else None,
    )


def _read(view: type[View], obj: Json) -> View | None:
    try:
        return msgspec.convert(obj, view)
    except msgspec.ValidationError:
        return salvage(msgspec.json.encode(obj)) if view is PUBS.type else None


def _owner(full_name: str, obj: Json) -> OwnerObject | None:
    try:
        found = msgspec.convert(obj, Workload)
    except msgspec.ValidationError:
        return None
    return owner_object(full_name.partition(".")[2], obj.get("kind", ""), found)


def assembled(
    parts: Iterable[Part], *, intact: bool | None, unreadable: Mapping[str, str]
) -> Objects:
    """Where Intact is, it is taken to be up."""
    found: dict[str, list[Any]] = defaultdict(list)
    for part in parts:
        if part.view is not None:
            found[part.field].append(part.view)
        if part.owner is not None:
            found["owners"].append(part.owner)
    return Objects(**found, intact=intact, leading=intact or None, unreadable=unreadable)


def objects_of(snapshot: Snapshot) -> Objects:
    """Everything that the snapshot has, of all namespaces."""
    return assembled(
        (part_of(kind.full_name, obj) for kind, obj in snapshot.all()),
        intact=snapshot.intact,
        unreadable={each.resource: each.why for each in snapshot.unreadable},
    )
