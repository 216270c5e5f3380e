"""Takes a snapshot: reads a cluster in pages, and changes nothing.

What may not be read is named in the snapshot; it does not end it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import Forbidden, Gone, KubeError, NotFound
from intact.kube.resources import Resource, untyped
from intact.operator.webhook.registration import is_registered
from intact.sandbox.controllers.owned import controller_uid
from intact.sandbox.snapshot.document import Json, KindInfo, Snapshot, Unreadable
from intact.sandbox.snapshot.reduction import Reduction
from intact.sandbox.snapshot.rehashing import give_role_digests, rehashed

_SCHEDULING = ("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")
"""The versions of the API of PodGroups and Workloads, newest first."""
_READ: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("", ("v1",), "namespaces", "Namespace"),
    ("", ("v1",), "nodes", "Node"),
    ("scheduling.k8s.io", ("v1",), "priorityclasses", "PriorityClass"),
    ("apps", ("v1",), "deployments", "Deployment"),
    ("apps", ("v1",), "replicasets", "ReplicaSet"),
    ("apps", ("v1",), "statefulsets", "StatefulSet"),
    ("apps", ("v1",), "daemonsets", "DaemonSet"),
    ("apps", ("v1",), "controllerrevisions", "ControllerRevision"),
    ("batch", ("v1",), "jobs", "Job"),
    ("", ("v1",), "replicationcontrollers", "ReplicationController"),
    ("leaderworkerset.x-k8s.io", ("v1",), "leaderworkersets", "LeaderWorkerSet"),
    ("workloads.x-k8s.io", ("v1alpha1",), "rolebasedgroups", "RoleBasedGroup"),
    (
        "workloads.x-k8s.io",
        ("v1alpha1",),
        "rolebasedgroupscalingadapters",
        "RoleBasedGroupScalingAdapter",
    ),
    ("scheduling.k8s.io", _SCHEDULING, "podgroups", "PodGroup"),
    ("scheduling.k8s.io", _SCHEDULING, "workloads", "Workload"),
    ("policy", ("v1",), "poddisruptionbudgets", "PodDisruptionBudget"),
    ("policy.kruise.io", ("v1alpha1",), "podunavailablebudgets", "PodUnavailableBudget"),
    ("", ("v1",), "pods", "Pod"),
)
"""Group, versions, plural, kind. Pods last: what owns them is there already."""
_OWNER_LEVELS = 4
_ATTEMPTS = 3
"""At a list whose pages outlived the server's memory."""


async def take(client: Client, now: Callable[[], datetime]) -> Snapshot:
    """Raises `KubeError` only if the server cannot be reached at all."""
    return await _Reading(client, now()).take()


class _Reading:
    def __init__(self, client: Client, time: datetime) -> None:
        self._client = client
        self._snapshot = Snapshot(time)
        self._reduction = Reduction()
        self._served: dict[str, dict[str, Any]] = {}
        self._originals: list[Json] = []

    async def take(self) -> Snapshot:
        found = self._snapshot
        version = msgspec.json.decode(await self._client.raw("/version"))
        found.server_version = version.get("gitVersion", "")
        for group, versions, plural, kind in _READ:
            await self._read_newest(group, versions, plural, kind)
        await self._read_owners()
        found.intact = await self._intact()
        found.objects["replicasets.apps"] = _in_use(found)
        give_role_digests(self._originals, found)
        rehashed(self._originals, found)
        return found

    async def _read_newest(
        self, group: str, versions: tuple[str, ...], plural: str, kind: str
    ) -> None:
        for version in versions:
            api_version = f"{group}/{version}" if group else version
            try:
                served = await self._resources(api_version)
            except KubeError as error:
                self._unreadable(f"{plural}.{group}" if group else plural, error)
                return
            if plural in served:
                info = self._info(api_version, served, plural, kind)
                await self._read(info)
                return

    async def _resources(self, api_version: str) -> dict[str, Any]:
        if api_version not in self._served:
            self._served[api_version] = dict(await served_resources(self._client, api_version))
        return self._served[api_version]

    def _info(self, api_version: str, served: dict[str, Any], plural: str, kind: str) -> KindInfo:
        group, _, version = api_version.rpartition("/")
        namespaced = served[plural].namespaced
        return KindInfo(group, version, plural, kind, namespaced, f"{plural}/scale" in served)

    async def _read(self, info: KindInfo, reduce: Callable[[Json], Json] | None = None) -> None:
        resource = untyped(
            info.group, info.version, info.plural, info.kind, namespaced=info.namespaced
        )
        reduce = reduce or self._reduce(info)
        try:
            listed = await self._list(resource)
        except KubeError as error:
            if not isinstance(error, NotFound):
                self._unreadable(info.full_name, error)
            return
        typed = [{"apiVersion": info.api_version, "kind": info.kind} | each for each in listed]
        if info.kind in ("RoleBasedGroup", "ControllerRevision"):
            self._originals += typed
        self._snapshot.kinds.append(info)
        self._snapshot.objects[info.full_name] = [reduce(each) for each in typed]

    async def _list(self, resource: Resource[Json]) -> list[Json]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return [each async for page in self._client.pages(resource) for each in page.items]
            except Gone:
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError

    def _reduce(self, info: KindInfo) -> Callable[[Json], Json]:
        special = {
            "pods": self._reduction.of_pod,
            "nodes": self._reduction.of_node,
            "namespaces": self._reduction.of_namespace,
            "priorityclasses.scheduling.k8s.io": self._reduction.of_priority_class,
            "rolebasedgroups.workloads.x-k8s.io": self._reduction.of_roles,
            "controllerrevisions.apps": self._reduction.of_roles,
        }
        return special.get(info.full_name, self._reduction.of_other)

    async def _read_owners(self) -> None:
        """The kinds that own pods, or what owns pods, and mean nothing to the sandbox."""
        known = {(kind.group, kind.kind) for kind in self._snapshot.kinds}
        for _ in range(_OWNER_LEVELS):
            named = {
                (owner["apiVersion"], owner["kind"])
                for _kind, obj in self._snapshot.all()
                for owner in obj["metadata"].get("ownerReferences") or ()
                if owner.get("controller")
            }
            fresh = sorted(
                (version, kind)
                for version, kind in named
                if (version.rpartition("/")[0], kind) not in known
            )
            for api_version, kind in fresh:
                known.add((api_version.rpartition("/")[0], kind))
                await self._read_owner(api_version, kind)
            if not fresh:
                return

    async def _read_owner(self, api_version: str, kind: str) -> None:
        try:
            served = await self._resources(api_version)
        except KubeError as error:
            self._unreadable(f"{kind} of {api_version}", error)
            return
        for plural, resource in served.items():
            if resource.kind == kind and "/" not in plural:
                info = self._info(api_version, served, plural, kind)
                await self._read(info, self._reduction.of_unknown)
                return

    async def _intact(self) -> bool | None:
        """Whether Intact's webhooks are registered. Nothing else is read of any webhook."""
        try:
            return await is_registered(self._client)
        except KubeError as error:
            self._unreadable("validatingwebhookconfigurations.admissionregistration.k8s.io", error)
            return None

    def _unreadable(self, resource: str, error: KubeError) -> None:
        why = "forbidden" if isinstance(error, Forbidden) else str(error)
        self._snapshot.unreadable.append(Unreadable(resource, why))


def _in_use(found: Snapshot) -> list[Json]:
    """Without the ReplicaSets that only keep a Deployment's history."""
    newest: dict[str, int] = {}
    for each in found.of("replicasets.apps"):
        owner = controller_uid(each)
        newest[owner] = max(newest.get(owner, 0), _revision(each))
    return [
        each
        for each in found.of("replicasets.apps")
        if (each.get("spec") or {}).get("replicas", 1)
        or (each.get("status") or {}).get("replicas")
        or _revision(each) == newest[controller_uid(each)]
    ]


def _revision(replica_set: Json) -> int:
    annotations = replica_set["metadata"].get("annotations") or {}
    text: str = annotations.get("deployment.kubernetes.io/revision", "0")
    return int(text) if text.isdigit() else 0
