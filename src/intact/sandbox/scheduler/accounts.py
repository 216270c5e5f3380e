"""The books of the scheduler: what each node has, what its pods take, which pods are where.

Each change costs what changed, never a look at all pods.
"""

from collections.abc import Mapping

from intact.sandbox.api.objects import Json
from intact.sandbox.scheduler.pods import PodInfo, Port
from intact.sandbox.scheduler.requests import Resources, amounts
from intact.sandbox.scheduler.selected import SelectedPods
from intact.sandbox.scheduler.terms import Terms

HARD_AFFINITY_WEIGHT = 1
"""What a required affinity of a pod that is there counts in the score of one that it is about."""


class NodeAccount:
    """One node. A node that is not there any more has none, but its pods are still known."""

    __slots__ = (
        "allocatable",
        "allowed_pods",
        "counted_cpu",
        "counted_memory",
        "free",
        "is_unschedulable",
        "labels",
        "name",
        "pods",
        "ports",
        "taints",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: Mapping[str, str] = {}
        self.taints: list[Json] = []
        self.is_unschedulable = False
        self.allocatable: Resources = {}
        self.allowed_pods = 0
        self.free: Resources = {}
        """What is allocatable and not requested; negative where too much is."""
        self.counted_cpu = self.counted_memory = 0
        self.pods: dict[str, PodInfo] = {}
        self.ports: dict[Port, int] = {}

    def describe(self, node: Json) -> None:
        spec, status = node.get("spec") or {}, node.get("status") or {}
        self.labels = node["metadata"].get("labels") or {}
        self.taints = spec.get("taints") or []
        self.is_unschedulable = bool(spec.get("unschedulable"))
        old, new = self.allocatable, amounts(status.get("allocatable"))
        for name in {**old, **new}:
            difference = new.get(name, 0) - old.get(name, 0)
            self.free[name] = self.free.get(name, 0) + difference
        self.allocatable = new
        self.allowed_pods = new.get("pods", 0)

    def add(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        self._take(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        self._take(pod, -1)

    def _take(self, pod: PodInfo, times: int) -> None:
        free = self.free
        for name, number in pod.requests.items():
            free[name] = free.get(name, 0) - times * number
        self.counted_cpu += times * pod.counted[0]
        self.counted_memory += times * pod.counted[1]
        for port in pod.ports:
            self.ports[port] = self.ports.get(port, 0) + times
            if not self.ports[port]:
                del self.ports[port]


class Accounts:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeAccount] = {}
        """Those that are there, by name, in the order of names."""
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """With their labels."""
        self.selected = SelectedPods()
        self.repelling = Terms()
        """Required anti-affinity of the pods that have a node."""
        self.attracting = Terms()
        """What pods that have a node prefer near them, or require."""
        self.version = 0
        """Grows with every change."""
        self.node_version = 0
        """Grows with every change of the nodes themselves."""
        self.priorities: dict[int, int] = {}
        """How many pods have which priority."""
        self._where: dict[str, NodeAccount] = {}
        """By UID of the pod."""
        self._gone: dict[str, NodeAccount] = {}
        """Nodes that pods name, and that are not there."""

    def put_node(self, node: Json) -> None:
        name = node["metadata"]["name"]
        account = self.nodes.get(name)
        if account is None:
            account = self._gone.pop(name, None) or NodeAccount(name)
            self.nodes[name] = account
            self.nodes = dict(sorted(self.nodes.items()))
        account.describe(node)
        self.node_version += 1
        self.version += 1

    def remove_node(self, name: str) -> None:
        account = self.nodes.pop(name, None)
        if account is None:
            return
        if account.pods:
            self._gone[name] = account
        self.node_version += 1
        self.version += 1

    def put_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        self.version += 1

    def node_of(self, uid: str) -> str:
        """The node that a pod takes part of, or empty."""
        account = self._where.get(uid)
        return account.name if account is not None else ""

    def put_pod(self, pod: PodInfo, node: str) -> None:
        self.remove_pod(pod.uid)
        account = self.nodes.get(node) or self._gone.setdefault(node, NodeAccount(node))
        account.add(pod)
        self._where[pod.uid] = account
        self.priorities[pod.priority] = self.priorities.get(pod.priority, 0) + 1
        self.selected.add(pod, node)
        self._count_terms(pod, node, 1)
        self.version += 1

    def remove_pod(self, uid: str) -> None:
        account = self._where.pop(uid, None)
        if account is None:
            return
        pod = account.pods[uid]
        account.remove(pod)
        self.priorities[pod.priority] -= 1
        if not self.priorities[pod.priority]:
            del self.priorities[pod.priority]
        if not account.pods:
            self._gone.pop(account.name, None)
        self.selected.remove(pod, account.name)
        self._count_terms(pod, account.name, -1)
        self.version += 1

    def _count_terms(self, pod: PodInfo, node: str, times: int) -> None:
        for term in pod.affinity.repelled:
            self.repelling.add(term, node, times)
        for term, weight in pod.affinity.preferred:
            self.attracting.add(term, node, times * weight)
        for term in pod.affinity.attracted:
            self.attracting.add(term, node, times * HARD_AFFINITY_WEIGHT)
