"""Gives a pod its batch when it is created: a label, affinity to its own batch, and anti-affinity
to all other batches of its coordination.

A template cannot do this, because it is the same for all pods. The anti-affinity keeps a node for
one batch: otherwise pods of another batch could take the room in which a batch's own pods must come
back. For a domain of many nodes, such as a zone, it is only a preference. The webhook registration
sends only pods of roles in batches here.

A pod with an ordinal gets its batch from the ordinal. A Deployment's pod gets the first batch that
is short of one. Two servers may choose the same batch at once; then the controller evicts the
surplus pod.
"""

import asyncio
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.admission import AdmissionResponse, read_request
from intact.model.base import View
from intact.model.pod import Pod
from intact.model.rbg import DEPLOYMENT, Coordination, Role, RoleBasedGroup
from intact.operator.rbg.stores import RbgStores
from intact.operator.webhook.responses import ALLOWED, patched
from intact.rollout.batch_progress import pods_in_batches
from intact.rollout.batches import batch_of
from intact.rollout.coordinations import batching
from intact.rollout.names import BATCH, BATCH_SIZE, BATCHED, GROUP, GROUP_KEY, ROLE, group_key
from intact.rollout.replicas import POD_INDEX, replica_index

Json = dict[str, Any]

_GIVEN_FOR = 30.0
"""Seconds for which a place counts as taken while the store has not seen its pod."""
_Place = tuple[str, str, str, str]
"""Namespace, RoleBasedGroup, role and batch."""
_NODE = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class _NewMeta(View):
    labels: dict[str, str]
    name: str = ""
    annotations: dict[str, str] | None = None


class _NewSpec(View):
    affinity: Json | None = None


class _NewPod(View):
    metadata: _NewMeta
    spec: _NewSpec = _NewSpec()


_POD = msgspec.json.Decoder(_NewPod)


class Placement:
    def __init__(self, client: Client, stores: RbgStores) -> None:
        self._client = client
        self._stores = stores
        self._given: dict[_Place, list[float]] = {}
        stores.pods.store.subscribe(self._seen)

    def _seen(self, old: Pod | None, new: Pod | None) -> None:
        """The store has the pod now: forget its place."""
        if old is not None or new is None or BATCHED not in new.metadata.labels:
            return
        labels = new.metadata.labels
        number = labels.get(BATCH + labels[BATCHED], "")
        place = (new.metadata.namespace, labels.get(GROUP, ""), labels.get(ROLE, ""), number)
        if given := self._given.get(place):
            given.pop(0)

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview. Raises if the batch is unknown: the pod's controller
        retries."""
        request = read_request(raw)
        pod = _POD.decode(request.object)
        labels = pod.metadata.labels
        group = await self._group(request.namespace, labels.get(GROUP, ""))
        coordination = group.spec.coordination_named(labels[BATCHED])
        role = group.spec.role(labels.get(ROLE, ""))
        if coordination is None or role is None:
            return ALLOWED  # of a template that is being replaced
        number = self._batch(group, role, coordination, pod, keep=not request.dry_run)
        patch = _patch(group, coordination, pod, number, costs=role.kind == DEPLOYMENT)
        return patched(patch)

    async def _group(self, namespace: str, name: str) -> RoleBasedGroup:
        """The store may lag, or be empty in a process that has just started."""
        found = self._stores.group((namespace, name))
        return await self._client.get(RBGS, name, namespace) if found is None else found

    def _batch(
        self,
        group: RoleBasedGroup,
        role: Role,
        coordination: Coordination,
        pod: _NewPod,
        *,
        keep: bool,
    ) -> int:
        ratio = batching(coordination).ratios[role.name]
        if role.kind != DEPLOYMENT:
            return batch_of(_ordinal(pod), ratio)
        now = asyncio.get_running_loop().time()
        have = pods_in_batches(self._stores.pods_of(group, role.name), BATCH + coordination.name)
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


def _ordinal(pod: _NewPod) -> int:
    name, labels = pod.metadata.name, pod.metadata.labels
    ordinal = replica_index(labels, name)
    if ordinal is None:
        index = labels.get(POD_INDEX)
        raise ValueError(f"pod {name} has no ordinal: its label {POD_INDEX} is {index!r}")
    return ordinal


def _patch(
    group: RoleBasedGroup, coordination: Coordination, pod: _NewPod, number: int, *, costs: bool
) -> list[Json]:
    label = BATCH + coordination.name
    size = f"/metadata/annotations/{_escaped(BATCH_SIZE)}"
    patch: list[Json] = [
        {"op": "add", "path": f"/metadata/labels/{_escaped(label)}", "value": str(number)},
        {
            "op": "add",
            "path": "/spec/affinity",
            "value": affinity_of(group, coordination, pod.spec.affinity, number),
        },
    ]
    if not pod.metadata.annotations:
        patch.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    # For budgets that count batches: a batch serves only whole.
    patch.append({"op": "add", "path": size, "value": str(batch_size(group, coordination))})
    if costs:
        # So that a Deployment that is scaled down loses its last batch.
        path = f"/metadata/annotations/{_escaped(_DELETION_COST)}"
        patch.append({"op": "add", "path": path, "value": str(-number)})
    return patch


def batch_size(group: RoleBasedGroup, coordination: Coordination) -> int:
    """How many pods a batch has: a replica of a LeaderWorkerSet is several."""
    ratios = batching(coordination).ratios
    roles = [(group.spec.role(name), ratio) for name, ratio in ratios.items()]
    return sum(ratio * role.pods_per_replica for role, ratio in roles if role is not None)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def affinity_of(
    group: RoleBasedGroup, coordination: Coordination, own_affinity: Json | None, number: int
) -> Json:
    """The pod's own affinity, and that of its batch."""
    label, topology = BATCH + coordination.name, batching(coordination).topology_key
    whose = {GROUP_KEY: group_key(group.metadata.namespace, group.metadata.name)}
    own = {"matchLabels": {**whose, label: str(number)}}
    others = {
        "matchLabels": whose,
        "matchExpressions": [
            {"key": label, "operator": "Exists"},
            {"key": label, "operator": "NotIn", "values": [str(number)]},
        ],
    }
    with_own = {"topologyKey": topology, "labelSelector": own}
    with_others = {"topologyKey": topology, "labelSelector": others}
    affinity = _added(own_affinity or {}, "podAffinity", _REQUIRED, with_own)
    if topology == _NODE:
        return _added(affinity, "podAntiAffinity", _REQUIRED, with_others)
    preference = {"weight": 100, "podAffinityTerm": with_others}
    return _added(affinity, "podAntiAffinity", _PREFERRED, preference)


def _added(affinity: Json, kind: str, strength: str, term: Json) -> Json:
    rules = affinity.get(kind) or {}
    return {**affinity, kind: {**rules, strength: [*(rules.get(strength) or []), term]}}
