"""Reads what a command needs to know of a cluster, for a picture of it.

Kinds that no pod and no budget names are not asked for. What may not be read is named, and does not
end the command: with budgets missing, the command itself decides.
"""

import asyncio
from dataclasses import replace
from typing import Any, TypeVar

from intact.budget.pdb.group_sources import LWS_NAME, Source
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.resources import PDBS, PUBS, RBGS, Resource
from intact.model.meta import api_group
from intact.model.places import Node
from intact.model.pod import DetailedPod
from intact.model.workload import Workload
from intact.operator.pdb.group_sources import VERSIONS
from intact.operator.webhook.registration import is_registered
from intact.picture.objects import Objects, OwnerObject

DETAILED_PODS = Resource(DetailedPod, "", "v1", "pods", "Pod")
NODES = Resource(Node, "", "v1", "nodes", "Node", namespaced=False)
_LEVELS = 4
"""Of owners above pods."""
_NOT_READ = frozenset({("", "Pod"), ("", "Node")})
T = TypeVar("T")


async def read_objects(
    client: Client, namespace: str = "", *, nodes: bool = False, rbgs: bool = False
) -> Objects:
    """Of one namespace, or of all. Raises `KubeError` if pods cannot be read."""
    reading = _Reading(client, namespace)
    pods, pdbs, pubs, found_nodes, found_rbgs, intact = await asyncio.gather(
        client.list(DETAILED_PODS, namespace),
        reading.all(PDBS),
        reading.all(PUBS),
        reading.all(NODES) if nodes else _nothing(),
        reading.all(RBGS) if rbgs else _nothing(),
        reading.intact(),
    )
    found = Objects(
        pods=pods.items, pdbs=pdbs, pubs=pubs, nodes=found_nodes, rbgs=found_rbgs, intact=intact
    )
    return await _defined(reading, found)


async def read_definitions(client: Client, found: Objects) -> Objects:
    """The same objects, with what defines their groups and with the owners above their pods."""
    return await _defined(_Reading(client, ""), found)


async def _defined(reading: "_Reading", found: Objects) -> Objects:
    pod_groups, workloads, sets, owners = await asyncio.gather(
        reading.newest(Source.POD_GROUP) if _names_pod_groups(found) else _nothing(),
        reading.newest(Source.WORKLOAD) if _names_workloads(found) else _nothing(),
        reading.newest(Source.LEADER_WORKER_SET) if _has_leaders(found) else _nothing(),
        reading.owners(found) if _names_targets(found) else _nothing(),
    )
    return replace(
        found,
        pod_groups=pod_groups,
        workloads=workloads,
        leader_worker_sets=sets,
        owners=owners,
        unreadable=reading.unreadable,
    )


class _Reading:
    def __init__(self, client: Client, namespace: str) -> None:
        self.unreadable: dict[str, str] = {}
        self._client = client
        self._namespace = namespace

    async def all(self, resource: Resource[T]) -> list[T]:
        """Of the namespace; none if the server does not serve the kind."""
        namespace = self._namespace if resource.namespaced else ""
        try:
            return (await self._client.list(resource, namespace)).items
        except NotFound:
            return []
        except KubeError as error:
            self._not_read(resource.full_name, error)
            return []

    async def newest(self, source: Source) -> list[Any]:
        """By the newest version that the server serves."""
        for resource in VERSIONS[source]:
            try:
                if resource.plural in await served_resources(self._client, resource.api_version):
                    return await self.all(resource)
            except KubeError as error:
                self._not_read(resource.full_name, error)
                return []
        return []

    async def intact(self) -> bool | None:
        try:
            return await is_registered(self._client)
        except KubeError as error:
            self._not_read("validatingwebhookconfigurations.admissionregistration.k8s.io", error)
            return None

    async def owners(self, found: Objects) -> list[OwnerObject]:
        """What stands above the pods, kind by kind and level by level."""
        read: list[OwnerObject] = []
        kinds = set(_NOT_READ)
        references = [one for pod in found.pods for one in pod.metadata.owner_references]
        for _ in range(_LEVELS):
            named = {
                (api_group(one.api_version), one.kind): one.api_version
                for one in references
                if one.controller
            }
            fresh = {key: version for key, version in named.items() if key not in kinds}
            kinds |= fresh.keys()
            lists = await asyncio.gather(
                *(self._kind(version, kind) for (_group, kind), version in sorted(fresh.items()))
            )
            above = [one for each in lists for one in each]
            read += above
            references = [each for one in above for each in one.owner_references]
            if not references:
                break
        return read

    async def _kind(self, api_version: str, kind: str) -> list[OwnerObject]:
        try:
            served = await served_resources(self._client, api_version)
        except KubeError as error:
            self._not_read(f"{kind} of {api_version}", error)
            return []
        group, _, version = api_version.rpartition("/")
        for plural, one in served.items():
            if one.kind == kind and "/" not in plural:
                resource = Resource(Workload, group, version, plural, kind, one.namespaced)
                return [_owner(resource, each) for each in await self.all(resource)]
        return []

    def _not_read(self, what: str, error: KubeError) -> None:
        self.unreadable[what] = "forbidden" if isinstance(error, Forbidden) else str(error)


async def _nothing() -> list[Any]:
    return []


def _owner(resource: Resource[Workload], found: Workload) -> OwnerObject:
    meta = found.metadata
    return OwnerObject(
        group=resource.group,
        kind=resource.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        owner_references=meta.owner_references,
        replicas=found.spec.replicas,
        labels=found.spec.template.metadata.labels,
    )


def _names_pod_groups(found: Objects) -> bool:
    return any(pod.spec.scheduling_group is not None for pod in found.pods)


def _names_workloads(found: Objects) -> bool:
    return any(pod.spec.named_workload is not None for pod in found.pods)


def _has_leaders(found: Objects) -> bool:
    return any(LWS_NAME in pod.metadata.labels for pod in found.pods)


def _names_targets(found: Objects) -> bool:
    return any(pub.spec.target_ref is not None for pub in found.pubs)
