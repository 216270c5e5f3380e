"""Which nodes a DaemonSet wants, and the pods that it pins to them."""

from dataclasses import dataclass

from intact.sandbox.api.objects import Json, copied
from intact.sandbox.controllers.pods import pod_of
from intact.sandbox.scheduler.node_affinity import matches, named_nodes
from intact.sandbox.scheduler.taints import untolerated

HASH_LABEL = "controller-revision-hash"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    runs: bool
    """The node is to have a pod."""
    stays: bool
    """A pod that is there may stay."""


_NEITHER = Verdict(runs=False, stays=False)


def verdict(daemon_set: Json, node: Json) -> Verdict:
    spec, meta = daemon_set["spec"]["template"]["spec"], node["metadata"]
    if spec.get("nodeName", meta["name"]) != meta["name"]:
        return _NEITHER
    if not matches(spec, meta["name"], meta.get("labels") or {}):
        return _NEITHER
    taints = (node.get("spec") or {}).get("taints") or []
    tolerations = _tolerations(spec)
    return Verdict(
        runs=not untolerated(taints, tolerations, ("NoSchedule", "NoExecute")),
        stays=not untolerated(taints, tolerations, ("NoExecute",)),
    )


def _tolerations(spec: Json) -> list[Json]:
    """With those that all pods of DaemonSets have: they run on cordoned nodes, too."""
    found = list(spec.get("tolerations") or ())
    added = list(_TOLERATED)
    if spec.get("hostNetwork"):
        added.append(("network-unavailable", "NoSchedule"))
    for name, effect in added:
        key = f"node.kubernetes.io/{name}"
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in found:
            found.append(toleration)
    return found


def new_pod(daemon_set: Json, suffix: str, node: str) -> Json:
    pod = pod_of(daemon_set["spec"]["template"], daemon_set)
    labels = pod["metadata"].get("labels") or {}
    pod["metadata"]["labels"] = {**labels, HASH_LABEL: suffix}
    spec = pod["spec"]
    spec["tolerations"] = _tolerations(spec)
    affinity = copied(spec.get("affinity") or {})
    pinned = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = affinity.setdefault("nodeAffinity", {}).setdefault(_REQUIRED, {})
    required["nodeSelectorTerms"] = [{"matchFields": [pinned]}]
    spec["affinity"] = affinity
    return pod


def target(pod: Json) -> str:
    """The node that the pod is on, or is to be on."""
    node = pod["spec"].get("nodeName")
    return str(node) if node else next(iter(named_nodes(pod["spec"]) or ()), "")
