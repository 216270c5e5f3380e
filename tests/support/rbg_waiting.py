"""What tests of RoleBasedGroups do in a namespace."""

from collections.abc import Callable
from typing import Any

from intact.kube.client import PatchType
from intact.kube.resources import RBGS, untyped
from intact.model.rbg import RoleBasedGroup
from tests.support.namespace_under_test import WITHIN, NamespaceUnderTest, eventually
from tests.support.objects import PODS, Json

GROUPS = untyped("workloads.x-k8s.io", "v1alpha1", "rolebasedgroups", "RoleBasedGroup")
STATEFUL_SETS = untyped("apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
SERVICES = untyped("", "v1", "services", "Service")
CONFIG_MAPS = untyped("", "v1", "configmaps", "ConfigMap")
REVISIONS = untyped("apps", "v1", "controllerrevisions", "ControllerRevision")
ADAPTERS = untyped(
    "workloads.x-k8s.io",
    "v1alpha1",
    "rolebasedgroupscalingadapters",
    "RoleBasedGroupScalingAdapter",
)
SETS = untyped("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
ROLE = "rolebasedgroup.workloads.x-k8s.io/role"
GROUP = "rolebasedgroup.workloads.x-k8s.io/name"
REVISION = "rolebasedgroup.workloads.x-k8s.io/controller-revision-hash"


async def group_until(
    ns: NamespaceUnderTest, name: str, condition: Callable[[RoleBasedGroup], bool], what: str
) -> RoleBasedGroup:
    async def look() -> RoleBasedGroup:
        return await ns.client.get(RBGS, name, ns.name)

    # A rollout takes many rounds, and longer if the leader dies.
    return await eventually(look, condition, what, within=3 * WITHIN)


def condition_of(group: RoleBasedGroup, kind: str) -> tuple[str, str]:
    """Status and reason; both empty if there is no condition of this type."""
    found = [one for one in group.status.conditions if one.type == kind]
    return (found[0].status, found[0].reason) if found else ("", "")


def settled(group: RoleBasedGroup) -> bool:
    """Whether all replicas are ready and updated, by a status of the present generation."""
    return (
        group.status.observed_generation == group.metadata.generation
        and condition_of(group, "Ready")[0] == "True"
        and all(one.updated_ready_replicas == one.desired for one in group.status.role_statuses)
    )


def completed(group: RoleBasedGroup) -> bool:
    """Whether it is settled and all its coordinations are completed: old replicas are removed."""
    states = [
        one.state for each in group.status.coordination_state for one in each.progress.values()
    ]
    return settled(group) and set(states) == {"Completed"}


async def group_settled(ns: NamespaceUnderTest, name: str = "llm") -> RoleBasedGroup:
    return await group_until(ns, name, settled, f"group {name} to be settled")


async def change(ns: NamespaceUnderTest, patch: list[Json], name: str = "llm") -> None:
    await ns.client.patch(GROUPS, patch, name, ns.name, type=PatchType.JSON)


async def names_of(ns: NamespaceUnderTest, resource: Any, labels: str = "") -> list[str]:
    page = await ns.client.list(resource, ns.name, labels=labels)
    return sorted(one["metadata"]["name"] for one in page.items)


async def role_pods(ns: NamespaceUnderTest, role: str) -> list[Json]:
    return (await ns.client.list(PODS, ns.name, labels=f"{ROLE}={role}")).items
