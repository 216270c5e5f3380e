"""Gives a pod its batch when it is created: labels, affinity to its own batch, and anti-affinity to
all other batches of its coordination.

A template cannot do this, because it is the same for all pods. The anti-affinity keeps a node for
one batch: otherwise pods of another batch could take the room in which a batch's own pods must come
back. For a domain of many nodes, such as a zone, it is only a preference.

A pod with an ordinal gets its batch from the ordinal. A Deployment's pod gets the first batch that
is short of one. Two servers may choose the same batch at once; then the controller evicts the
surplus pod.
"""

import asyncio
from typing import Any

from intact.model.base import View
from intact.model.pod import Pod
from intact.model.rbg import DEPLOYMENT, Coordination, Role, RoleBasedGroup
from intact.operator.rbg.stores import RbgStores
from intact.operator.webhook.responses import Operations
from intact.rollout.batch_progress import batch_label, finds_no_node, pods_in_batches
from intact.rollout.batches import batch_of
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    batching,
    coordination_of,
    is_of_nodes,
    place_label,
)
from intact.rollout.names import (
    AWAITED,
    BATCH,
    BATCH_SIZE,
    COORDINATION,
    FOLLOWS,
    GROUP,
    GROUP_KEY,
    MEMBER,
    PLACED,
    ROLE,
    group_key,
)
from intact.rollout.replicas import replica_index

Json = dict[str, Any]

_GIVEN_FOR = 30.0
"""Seconds for which a place counts as taken while the store has not seen its pod."""
_Place = tuple[str, str, str, str]
"""Namespace, RoleBasedGroup, role and batch."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class NewMeta(View):
    labels: dict[str, str]
    name: str = ""
    annotations: dict[str, str] | None = None


class NewSpec(View):
    affinity: Json | None = None


class NewPod(View):
    metadata: NewMeta
    spec: NewSpec = NewSpec()


class Placement:
    def __init__(self, stores: RbgStores) -> None:
        self._stores = stores
        self._given: dict[_Place, list[float]] = {}
        stores.pods.store.subscribe(self._seen)

    def _seen(self, old: Pod | None, new: Pod | None) -> None:
        """The store has the pod now: forget its place."""
        if old is not None or new is None:
            return
        labels = new.metadata.labels
        number = next((value for key, value in labels.items() if key.startswith(PLACED)), "")
        place = (new.metadata.namespace, labels.get(GROUP, ""), labels.get(ROLE, ""), number)
        if given := self._given.get(place):
            given.pop(0)

    def patch(self, group: RoleBasedGroup, role: Role, pod: NewPod, *, keep: bool) -> Operations:
        """What gives a new pod its batch; nothing if it has none. With `keep`, its place counts as
        taken from now on."""
        coordination = coordination_of(group.spec, role.name, AFFINITY_SCHEDULING)
        ratio = batching(coordination).ratios.get(role.name, 0) if coordination else 0
        if coordination is None or ratio < 1:
            return []
        if role.kind == DEPLOYMENT:
            number = self._first_short(group, role, coordination, ratio, keep=keep)
        else:
            ordinal = replica_index(pod.metadata.labels, pod.metadata.name)
            if ordinal is None:
                return []  # a copy: no workload counts it
            number = batch_of(ordinal, ratio)
        follows = self._follows(group, role, coordination, number)
        return _patch(group, coordination, pod, number, follows, costs=role.kind == DEPLOYMENT)

    def _follows(
        self, group: RoleBasedGroup, role: Role, coordination: Coordination, number: int
    ) -> str:
        """The UID of a pod that a pod of its batch has just made room for, and that has not got it
        yet: the new pod must not take the room back. Empty if there is none."""
        label = place_label(coordination)
        for name in batching(coordination).ratios:
            for pod in self._stores.pods_of(group, name):
                uid = pod.metadata.labels.get(AWAITED, "")
                if name == role.name or batch_label(pod, label) != number:
                    continue
                if uid == pod.metadata.uid and finds_no_node(pod):
                    return uid
        return ""

    def _first_short(
        self,
        group: RoleBasedGroup,
        role: Role,
        coordination: Coordination,
        ratio: int,
        *,
        keep: bool,
    ) -> int:
        now = asyncio.get_running_loop().time()
        pods = self._stores.pods_of(group, role.name)
        have = pods_in_batches(pods, place_label(coordination))
        number = 0
        while True:
            place = (group.metadata.namespace, group.metadata.name, role.name, str(number))
            given = [at for at in self._given.get(place, []) if now - at < _GIVEN_FOR]
            if have.get(number, 0) + len(given) < ratio:
                break
            number += 1
        if keep:
            self._given[place] = [*given, now]
        return number


def batch_metadata(
    group: RoleBasedGroup, coordination: Coordination, number: int, *, costs: bool
) -> Json:
    """Labels and annotations of a pod of this batch."""
    labels = {
        COORDINATION + coordination.name: MEMBER,
        BATCH + coordination.name: str(number),
        place_label(coordination): str(number),
    }
    # For budgets that count batches: a batch serves only whole.
    annotations = {BATCH_SIZE: str(batch_size(group, coordination))}
    if costs:
        # So that a Deployment that is scaled down loses its last batch.
        annotations[_DELETION_COST] = str(-number)
    return {"labels": labels, "annotations": annotations}


def _patch(
    group: RoleBasedGroup,
    coordination: Coordination,
    pod: NewPod,
    number: int,
    follows: str,
    *,
    costs: bool,
) -> Operations:
    metadata = batch_metadata(group, coordination, number, costs=costs)
    annotations = metadata["annotations"] | ({FOLLOWS: follows} if follows else {})
    affinity = affinity_of(group, coordination, pod.spec.affinity, number, follows)
    patch = [with_label(key, value) for key, value in metadata["labels"].items()]
    patch.append({"op": "add", "path": "/spec/affinity", "value": affinity})
    if annotations and not pod.metadata.annotations:
        patch.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    for key, value in annotations.items():
        path = f"/metadata/annotations/{_escaped(key)}"
        patch.append({"op": "add", "path": path, "value": value})
    return patch


def with_label(key: str, value: str) -> Json:
    """The operation that sets a label of a pod that has some."""
    return {"op": "add", "path": f"/metadata/labels/{_escaped(key)}", "value": value}


def batch_size(group: RoleBasedGroup, coordination: Coordination) -> int:
    """How many pods a batch has: a replica of a LeaderWorkerSet is several."""
    ratios = batching(coordination).ratios
    roles = [(group.spec.role(name), ratio) for name, ratio in ratios.items()]
    return sum(ratio * role.pods_per_replica for role, ratio in roles if role is not None)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def affinity_of(
    group: RoleBasedGroup,
    coordination: Coordination,
    own_affinity: Json | None,
    number: int,
    follows: str = "",
) -> Json:
    """The pod's own affinity, and that of its batch. `follows` is the UID of a pod that must be
    there before."""
    label, topology = place_label(coordination), batching(coordination).topology_key
    whose = {GROUP_KEY: group_key(group.metadata.namespace, group.metadata.name)}
    own = {**whose, label: str(number)}
    others = {
        "matchLabels": whose,
        "matchExpressions": [
            {"key": label, "operator": "Exists"},
            {"key": label, "operator": "NotIn", "values": [str(number)]},
        ],
    }
    affinity = own_affinity or {}
    for with_own in [own, *([{**own, AWAITED: follows}] if follows else [])]:
        term = {"topologyKey": topology, "labelSelector": {"matchLabels": with_own}}
        affinity = _added(affinity, "podAffinity", _REQUIRED, term)
    with_others = {"topologyKey": topology, "labelSelector": others}
    if is_of_nodes(coordination):
        return _added(affinity, "podAntiAffinity", _REQUIRED, with_others)
    preference = {"weight": 100, "podAffinityTerm": with_others}
    return _added(affinity, "podAntiAffinity", _PREFERRED, preference)


def _added(affinity: Json, kind: str, strength: str, term: Json) -> Json:
    rules = affinity.get(kind) or {}
    return {**affinity, kind: {**rules, strength: [*(rules.get(strength) or []), term]}}
