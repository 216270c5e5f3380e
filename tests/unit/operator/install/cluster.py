"""A cluster in memory that takes everything that Intact brings."""

from typing import Any

from intact.kube.client import Client
from intact.kube.resources import Resource, untyped
from intact.sandbox import DEFAULT_KINDS, Kind, MemoryApi

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
RBAC_KINDS = (
    Kind(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    Kind(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Kind(RBAC, "v1", "roles", "Role"),
    Kind(RBAC, "v1", "rolebindings", "RoleBinding"),
    Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Kind("", "v1", "resourcequotas", "ResourceQuota"),
)


def new_api() -> MemoryApi:
    return MemoryApi((*DEFAULT_KINDS, *RBAC_KINDS))


def resource_of(body: Json) -> Resource[Json]:
    group, _, version = body["apiVersion"].rpartition("/")
    kind = body["kind"]
    served = (*DEFAULT_KINDS, *RBAC_KINDS)
    [found] = [one for one in served if (one.group, one.kind) == (group, kind)]
    return untyped(group, version, found.plural, kind, namespaced=found.namespaced)


async def create_all(client: Client, bodies: list[Json]) -> None:
    for body in bodies:
        await client.create(resource_of(body), body, body["metadata"].get("namespace", ""))
