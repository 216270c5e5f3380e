"""What `intact uninstall` would remove, what stays, and what keeps it from beginning.

Reads only. The list is as of one moment: what the user has agreed to are its RoleBasedGroups.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods
from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import (
    LEASES,
    NAMESPACES,
    PDBS,
    PODS,
    PUBS,
    RBGS,
    SCALING_ADAPTERS,
    Resource,
    untyped,
)
from intact.model.listing import listed
from intact.operator.install.crds import definitions
from intact.operator.install.foreign import is_ours
from intact.operator.install.groups import Fate, FoundGroup, find_groups
from intact.operator.install.groups import refusal as groups_refusal
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import everything
from intact.operator.install.rbac import RBAC
from intact.operator.install.running import holders, working
from intact.operator.names import LABELS, LEASE, OPERATOR
from intact.operator.webhook import certificates
from intact.operator.webhook.configuration import (
    DOOR_LABEL,
    GATED_LABEL,
    MUTATING,
    NAME,
    VALIDATING,
)
from intact.rollout.names import GROUP, HELD
from intact.rollout.statefulset import is_held

Json = dict[str, Any]
Target = tuple[Resource[Any], str, str]
"""Resource, namespace and name."""

_ROLE = "ClusterRole"
_CLUSTER_WIDE = (_ROLE, "ClusterRoleBinding")
_LEFT = ("Namespace", "CustomResourceDefinition")
_HOOK = f"{OPERATOR}-uninstall"
_OF_HOOK = (
    ("batch/v1", "Job"),
    (f"{RBAC}/v1", "RoleBinding"),
    (f"{RBAC}/v1", "ClusterRoleBinding"),
    (f"{RBAC}/v1", "Role"),
    (f"{RBAC}/v1", _ROLE),
    ("v1", "ServiceAccount"),
)
"""What helm deletes once the hook of the chart has succeeded. One that failed leaves its rights."""
_DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
_BINDINGS = untyped(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


@dataclass(frozen=True, slots=True)
class Survey:
    goes: tuple[str, ...] = ()
    """In the order in which it goes."""
    stays: tuple[str, ...] = ()
    groups: tuple[FoundGroup, ...] = ()
    refusal: str = ""
    """Why nothing can be removed; empty if all can."""
    others: tuple[str, ...] = ()
    """Namespaces in which another installation works: what it shares stays."""
    waiting: tuple[str, ...] = ()
    """Namespaces in which another installation waits for this one to go: the roles that it shares
    stay, and nothing else."""


def targets(
    namespace: str, outside: str, *, leave_to_helm: bool = False, keep_roles: bool = False
) -> list[Target]:
    """Everything of Intact but its webhooks and definitions, in the order in which it goes. What is
    left to helm is all of the chart but the Deployment, whose leader would undo the removal. Kept
    are roles that are not of a namespace."""
    found: list[Target] = [
        (_resource_of(each), each["metadata"].get("namespace", ""), each["metadata"]["name"])
        for each in reversed(everything(namespace))
        if each["kind"] not in _LEFT
        and (not leave_to_helm or each["kind"] == _DEPLOYMENTS.kind)
        and not (keep_roles and each["kind"] == _ROLE)
    ]
    if not leave_to_helm:
        found += [
            (resource, "" if kind in _CLUSTER_WIDE else namespace, _HOOK)
            for version, kind in _OF_HOOK
            for resource in [_resource_of({"apiVersion": version, "kind": kind})]
            if not (keep_roles and kind == _ROLE)
        ]
    for place in dict.fromkeys((namespace, outside or namespace)):
        found.append((certificates.SECRETS, place, certificates.SECRET))
        found.append((LEASES, place, LEASE))
    return found


def is_shared(resource: Resource[Any], namespace: str, name: str) -> bool:
    """Whether all installations use it. The bindings of their accounts have names of their own."""
    return not namespace and (resource.kind != _BINDINGS.kind or name == _HOOK)


def named(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


async def own_definitions(client: Client) -> tuple[list[str], list[str]]:
    """The names of the definitions that are Intact's, and of those that another product has
    installed. Raises `KubeError`."""
    ours: list[str] = []
    others: list[str] = []
    for definition in definitions():
        name = definition["metadata"]["name"]
        try:
            found = await client.get(CRDS, name)
        except NotFound:
            continue
        (ours if is_ours(found) else others).append(name)
    return ours, others


async def survey(
    client: Client,
    namespace: str,
    *,
    outside: str = "",
    crds: bool,
    fate: Fate = Fate.KEEP,
    leave_to_helm: bool = False,
) -> Survey:
    """Raises `KubeError`."""
    outside = await place_outside(client, namespace, outside)
    ours, others = await own_definitions(client)
    elsewhere = [] if crds else await _elsewhere(client, namespace, outside, leave_to_helm)
    waiting = [] if crds or leave_to_helm else await _waiting(client, namespace)
    keep = bool(waiting)
    removed = targets(namespace, outside, leave_to_helm=leave_to_helm, keep_roles=keep)
    goes = [
        named(resource.kind, place, name)
        for resource, place, name in ((VALIDATING, "", NAME), *removed, (MUTATING, "", NAME))
        if not (elsewhere and is_shared(resource, place, name))
        and await _exists(client, resource, place, name)
    ]
    if elsewhere:
        stays = [f"all that it shares with the Intact in {listed(elsewhere)}"]
        return Survey(tuple(goes), tuple(stays), others=tuple(elsewhere))
    goes += await _marks(client)
    stays = [f"namespace {namespace}", *await _budgets_in_groups(client)]
    if waiting:
        stays.append(f"all ClusterRoles, which the Intact in {listed(waiting)} shares")
    stays += [f"{named(CRDS.kind, '', name)}, which is not Intact's" for name in others]
    if not crds:
        stays += [f"{named(CRDS.kind, '', name)} with all its objects" for name in ours]
        return Survey(tuple(goes), tuple(stays), waiting=tuple(waiting))
    groups = await find_groups(client) if RBGS.full_name in ours else []
    refusal = await _refusal(client, namespace, groups, fate)
    for group in groups:
        for one in group.owned:
            line = named(one.resource.kind, group.namespace, one.name)
            if one.is_record or fate is not Fate.ORPHAN:
                goes.append(line)
            else:
                stays.append(f"{line}, without an owner")
        if group.pods:
            pods = f"{group.pods} pods of RoleBasedGroup {group.namespace}/{group.name}"
            (stays if fate is Fate.ORPHAN else goes).append(pods)
    for resource in (RBGS, SCALING_ADAPTERS, PUBS):
        if resource.full_name in ours:
            goes += [line for line in await _all_of(client, resource) if line not in goes]
    goes += [named(CRDS.kind, "", name) for name in ours]
    return Survey(tuple(goes), tuple(stays), tuple(groups), refusal)


async def place_outside(client: Client, namespace: str, outside: str) -> str:
    """The namespace that a process outside the cluster has used, unless another installation is
    there."""
    if outside in ("", namespace):
        return outside
    return "" if await _exists(client, _DEPLOYMENTS, outside, OPERATOR) else outside


async def _elsewhere(
    client: Client, namespace: str, outside: str, leave_to_helm: bool
) -> list[str]:
    """The namespaces of other installations that work. If none is installed in this one, a process
    outside the cluster is no other: it is what is to be removed. Helm removes one that is."""
    if leave_to_helm or await _exists(client, _DEPLOYMENTS, namespace, OPERATOR):
        return await working(client, {namespace, outside})
    installed = await _waiting(client, namespace)
    return [each for each in await working(client, {namespace}) if each in installed]


async def _waiting(client: Client, namespace: str) -> list[str]:
    """The namespaces of other installations, by the bindings of their accounts. With `--crds` they
    do not count: nothing of Intact can work without its definitions."""
    label = ",".join(f"{key}={value}" for key, value in LABELS.items())
    try:
        bindings = (await client.list(_BINDINGS, labels=label)).items
    except NotFound:
        return []  # the server has no RBAC
    found = {
        subject["namespace"]
        for binding in bindings
        if binding["roleRef"]["name"] == OPERATOR
        for subject in binding.get("subjects") or []
        if subject.get("name") == OPERATOR
    }
    others = sorted(found - {namespace})
    return [each for each in others if await _exists(client, _DEPLOYMENTS, each, OPERATOR)]


async def _refusal(client: Client, namespace: str, groups: Iterable[FoundGroup], fate: Fate) -> str:
    if fate is Fate.KEEP and (why := groups_refusal(groups)):
        return why
    ended = [namespace] if await _exists(client, _DEPLOYMENTS, namespace, OPERATOR) else []
    if running := await holders(client, ended):
        return (
            f"Intact still runs: {listed(running)}. End that process first, or name the "
            "namespace of its Deployment with --namespace"
        )
    return ""


async def _exists(client: Client, resource: Resource[Any], namespace: str, name: str) -> bool:
    try:
        await client.get(resource, name, namespace)
    except NotFound:
        return False
    return True


async def _marks(client: Client) -> list[str]:
    """Labels and finalizers of Intact on objects of others."""
    labels = [
        f"label {label} of namespace {namespace.metadata.name}"
        for label in (GATED_LABEL, DOOR_LABEL)
        for namespace in (await client.list(NAMESPACES, labels=label)).items
    ]
    pods = (await client.list(PODS, labels=GROUP)).items
    return labels + [
        f"finalizer {HELD} of pod {pod.metadata.namespace}/{pod.metadata.name}"
        for pod in pods
        if is_held(pod)
    ]


async def _budgets_in_groups(client: Client) -> list[str]:
    found = (await client.list(PDBS, labels=SCOPE_LABEL)).items
    return [
        f"{named(PDBS.kind, each.metadata.namespace, each.metadata.name)}, which then counts pods"
        for each in found
        if not counts_pods(each) and not each.server_decides
    ]


async def _all_of(client: Client, resource: Resource[Any]) -> list[str]:
    kind = untyped(resource.group, resource.version, resource.plural, resource.kind)
    try:
        found = (await client.list(kind)).items
    except NotFound:
        return []
    metas = [each["metadata"] for each in found]
    return [named(resource.kind, meta["namespace"], meta["name"]) for meta in metas]


def _resource_of(manifest: Json) -> Resource[Json]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = manifest["kind"]
    plural = f"{kind.lower()}s".replace("policys", "policies")
    return untyped(group, version, plural, kind, namespaced=kind not in _CLUSTER_WIDE)
