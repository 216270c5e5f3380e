"""The kinds of objects that the API serves: where they are, and as what they are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from intact.model.event import Event
from intact.model.lease import Lease
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import KARPENTER, Namespace, Node, NodeClaim
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget, salvage
from intact.model.rbg import RoleBasedGroup, ScalingAdapter
from intact.model.workload import StatefulSet, Workload

T = TypeVar("T")
_PLAIN = re.compile(r"[a-zA-Z0-9/._-]*")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One resource of the API and the type that its objects are decoded into."""

    type: type[T]
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    salvage: Callable[[bytes], T] | None = None
    """Reads what can be read of an object that does not have the shape of the type. Without it,
    such an object is ignored."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """As people write it: `pods`, `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def place(self, namespace: str) -> str:
        """Where its objects are that belong to this namespace: a resource may have none."""
        return namespace if self.namespaced else ""

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Without a namespace: all of them, or a resource that has none."""
        if namespace and not self.namespaced:
            raise ValueError(f"{self.full_name} are not in a namespace (got {namespace!r})")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.full_name} {name!r}: the namespace is missing")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        path = "/" + "/".join(parts)
        # Names of Kubernetes need no quotes; what does is quoted part by part.
        if _PLAIN.fullmatch(path) and path.count("/") == len(parts):
            return path
        return "/" + "/".join(quote(part, safe="") for part in parts)


def untyped(
    group: str, version: str, plural: str, kind: str, *, namespaced: bool = True
) -> Resource[dict[str, Any]]:
    """A resource whose objects are read as plain dicts, whole."""
    return Resource(dict[str, Any], group, version, plural, kind, namespaced)


PODS = Resource(Pod, "", "v1", "pods", "Pod")
EVENTS = Resource(Event, "", "v1", "events", "Event")
LEASES = Resource(Lease, "coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = Resource(Namespace, "", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource(Node, "", "v1", "nodes", "Node", namespaced=False)
NODE_CLAIMS = Resource(NodeClaim, KARPENTER, "v1", "nodeclaims", "NodeClaim", namespaced=False)
REPLICATION_CONTROLLERS = Resource(
    Workload, "", "v1", "replicationcontrollers", "ReplicationController"
)
REPLICA_SETS = Resource(Workload, "apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENTS = Resource(Workload, "apps", "v1", "deployments", "Deployment")
STATEFUL_SETS: Resource[Workload] = Resource(
    StatefulSet, "apps", "v1", "statefulsets", "StatefulSet"
)
PDBS = Resource(PodDisruptionBudget, "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PUBS = Resource(
    PodUnavailableBudget,
    "policy.kruise.io",
    "v1alpha1",
    "podunavailablebudgets",
    "PodUnavailableBudget",
    salvage=salvage,
)
RBGS = Resource(
    RoleBasedGroup, "workloads.x-k8s.io", "v1alpha1", "rolebasedgroups", "RoleBasedGroup"
)
SCALING_ADAPTERS = Resource(
    ScalingAdapter,
    "workloads.x-k8s.io",
    "v1alpha1",
    "rolebasedgroupscalingadapters",
    "RoleBasedGroupScalingAdapter",
)
