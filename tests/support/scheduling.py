"""Pods and nodes as the scheduler sees them."""

from typing import Any

from intact.sandbox.kubelet.nodes import new_node
from intact.sandbox.scheduler.accounts import Accounts
from intact.sandbox.scheduler.placement import Placement, Placer
from intact.sandbox.scheduler.pods import PodInfo, pod_info

Json = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def a_pod(
    name: str, *, labels: Json | None = None, requests: Json | None = None, **spec: Any
) -> Json:
    container: Json = {"name": "main", "image": "registry.example/main:1"}
    if requests:
        container["resources"] = {"requests": requests}
    meta: Json = {"name": name, "namespace": spec.pop("namespace", "ns"), "uid": f"uid-{name}"}
    if labels:
        meta["labels"] = labels
    if spec.pop("terminating", False):
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def info(name: str, **pod: Any) -> PodInfo:
    return pod_info(a_pod(name, **pod))


def near(*terms: Json, weight: int = 0) -> Json:
    """The required terms of an affinity; with a weight, preferred ones."""
    if not weight:
        return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    weighted = [{"weight": weight, "podAffinityTerm": term} for term in terms]
    return {"preferredDuringSchedulingIgnoredDuringExecution": weighted}


def term(labels: Json, key: str = HOSTNAME, **more: Any) -> Json:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}


def spread(labels: Json, key: str = HOSTNAME, **more: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
        **more,
    }


class Books:
    """Accounts with some nodes, and what would be decided on them."""

    def __init__(self, *nodes: str, **node: Any) -> None:
        self.accounts = Accounts()
        self.placer = Placer(self.accounts, lambda _pod: None)
        self.accounts.put_namespace("ns", {})
        for name in nodes:
            self.node(name, **node)

    def node(self, name: str, **node: Any) -> None:
        unschedulable = node.pop("unschedulable", False)
        made = new_node(name, **node)
        made["spec"]["unschedulable"] = unschedulable
        self.accounts.put_node(made)

    def put(self, node: str, name: str, **pod: Any) -> None:
        self.accounts.put_pod(info(name, **pod), node)

    def place(self, name: str = "new", **pod: Any) -> Placement:
        return self.placer.place(info(name, **pod))

    def chosen(self, name: str = "new", **pod: Any) -> str:
        return self.place(name, **pod).node

    def why(self, name: str = "new", **pod: Any) -> str:
        found = self.place(name, **pod)
        assert not found.node
        return found.refusals.message().partition(" no new claims")[0]
