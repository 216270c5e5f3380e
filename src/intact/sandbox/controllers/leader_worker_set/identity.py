"""What the webhook of LeaderWorkerSets writes into each of their pods: its index and its group."""

import hashlib
from base64 import b64encode
from collections.abc import Callable

from intact.sandbox.api.admission import Rule
from intact.sandbox.api.objects import Json, encode
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.leader_worker_set.kind import (
    EXCLUSIVE,
    GROUP_INDEX,
    GROUP_KEY,
    NAME,
    WORKER_INDEX,
)

_RULE = Rule(("pods",), ("CREATE",), ("",), ("v1",))
_SETS = {"matchExpressions": [{"key": NAME, "operator": "Exists"}]}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def give_identities(api: MemoryApi) -> Callable[[], None]:
    """To each new pod of a LeaderWorkerSet. Returns what ends it."""
    hook = api.admit("mpod.kb.io", _review, [_RULE], mutating=True, object_selector=_SETS)
    return lambda: api.withdraw(hook)


def group_key(namespace: str, leader: str) -> str:
    return hashlib.sha1(f"{namespace}/{leader}".encode(), usedforsecurity=False).hexdigest()


async def _review(request: Json) -> Json:
    pod = request["object"]
    meta = pod["metadata"]
    labels = identity(meta["namespace"], meta["name"], meta["labels"])
    operations = [{"op": "add", "path": "/metadata/labels", "value": labels}]
    topology = (meta.get("annotations") or {}).get(EXCLUSIVE)
    if topology and labels[WORKER_INDEX] == "0":
        affinity = _alone(pod["spec"].get("affinity") or {}, topology, labels[GROUP_KEY])
        operations.append({"op": "add", "path": "/spec/affinity", "value": affinity})
    return {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": b64encode(encode(operations)).decode(),
    }


def identity(namespace: str, name: str, labels: Json) -> Json:
    """The labels of a pod with this name. Those of a leader say so already."""
    number = name.rpartition("-")[2]
    if labels.get(WORKER_INDEX) != "0":
        return {**labels, WORKER_INDEX: number}
    return {GROUP_INDEX: number, GROUP_KEY: group_key(namespace, name), **labels}


def _alone(affinity: Json, topology: str, key: str) -> Json:
    """The group is together in one domain of the topology, and there is no other group in it."""
    own = {"key": GROUP_KEY, "operator": "In", "values": [key]}
    others = [
        {"key": GROUP_KEY, "operator": "Exists"},
        {"key": GROUP_KEY, "operator": "NotIn", "values": [key]},
    ]
    found = {**affinity}
    for name, expressions in (("podAffinity", [own]), ("podAntiAffinity", others)):
        terms = list((affinity.get(name) or {}).get(_REQUIRED) or ())
        if not any(term.get("topologyKey") == topology for term in terms):
            selector = {"matchExpressions": expressions}
            terms.append({"labelSelector": selector, "topologyKey": topology})
        found[name] = {**(affinity.get(name) or {}), _REQUIRED: terms}
    return found
