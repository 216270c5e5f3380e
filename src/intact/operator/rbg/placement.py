"""Gives a pod its batch as it is created: a label, affinity to its own batch, and anti-affinity to
all others of its coordination.

A template cannot say this, for it is the same for all pods. The anti-affinity makes a node hold one
batch: pods of another one that is being placed, or that found no place, would take the room in
which a batch's own pods must come back. A domain of many nodes, such as a zone, is only preferred
to be a batch's own. The registration sends only pods of such roles here.

Pods with an ordinal have their batch by it. A Deployment's pods take the first batch that is short
of one; two servers may choose the same at once, and the controller then evicts the one too many.
"""

import asyncio
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.admission import AdmissionResponse, read_request
from intact.model.base import View
from intact.model.pod import Pod
from intact.model.rbg import Coordination, Role, RoleBasedGroup
from intact.operator.rbg.stores import RbgStores
from intact.operator.webhook.responses import ALLOWED, patched
from intact.rollout.batch_progress import pods_in_batches
from intact.rollout.coordinations import batching
from intact.rollout.names import BATCH, BATCHED, GROUP, GROUP_KEY, ROLE, group_key
from intact.rollout.replicas import GROUP_INDEX, POD_INDEX
from intact.rollout.validation import DEPLOYMENT, kind_of

Json = dict[str, Any]

_GIVEN_FOR = 30.0
"""Seconds for which a place counts as taken whose pod has not been seen yet."""
_Place = tuple[str, str, str, str]
"""Namespace, group, role and batch."""
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
        """A pod that is in the store need not be remembered any more."""
        if old is not None or new is None or BATCHED not in new.metadata.labels:
            return
        labels = new.metadata.labels
        number = labels.get(BATCH + labels[BATCHED], "")
        place = (new.metadata.namespace, labels.get(GROUP, ""), labels.get(ROLE, ""), number)
        if given := self._given.get(place):
            given.pop(0)

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview. Raises where it cannot tell: the pod's controller tries
        again."""
        request = read_request(raw)
        pod = _POD.decode(request.object)
        labels = pod.metadata.labels
        group = await self._group(request.namespace, labels.get(GROUP, ""))
        coordination = next(
            (one for one in group.spec.coordination if one.name == labels[BATCHED]), None
        )
        role = next((one for one in group.spec.roles if one.name == labels.get(ROLE)), None)
        if coordination is None or role is None:
            return ALLOWED  # of a template that is on its way out
        number = self._batch(group, role, coordination, pod, keep=not request.dry_run)
        patch = _patch(group, coordination, pod, number, costs=kind_of(role) == DEPLOYMENT)
        return patched(patch)

    async def _group(self, namespace: str, name: str) -> RoleBasedGroup:
        """The store may be behind, or not be there at all on a replica that has just started."""
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
        if kind_of(role) != DEPLOYMENT:
            return ordinal_of(pod.metadata.labels, pod.metadata.name) // ratio
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


def ordinal_of(labels: dict[str, str], name: str) -> int:
    """Of a StatefulSet's pod, or the replica of a LeaderWorkerSet, whose leaders have it only in
    their name when they come here."""
    index = labels.get(GROUP_INDEX) or labels.get(POD_INDEX) or name.rpartition("-")[2]
    if not index.isdigit():
        raise ValueError(f"pod {name} has no ordinal: {POD_INDEX} is {index!r}")
    return int(index)


def _patch(
    group: RoleBasedGroup, coordination: Coordination, pod: _NewPod, number: int, *, costs: bool
) -> list[Json]:
    label = BATCH + coordination.name
    patch: list[Json] = [
        {"op": "add", "path": f"/metadata/labels/{_escaped(label)}", "value": str(number)},
        {
            "op": "add",
            "path": "/spec/affinity",
            "value": affinity_of(group, coordination, pod.spec.affinity, number),
        },
    ]
    if costs:
        # So that a smaller Deployment loses its last batch.
        if not pod.metadata.annotations:
            patch.append({"op": "add", "path": "/metadata/annotations", "value": {}})
        path = f"/metadata/annotations/{_escaped(_DELETION_COST)}"
        patch.append({"op": "add", "path": path, "value": str(-number)})
    return patch


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def affinity_of(
    group: RoleBasedGroup, coordination: Coordination, own_affinity: Json | None, number: int
) -> Json:
    """The pod's own affinity, and ours."""
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
