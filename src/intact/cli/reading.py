"""Reads what a command needs to know of a cluster, for a picture of it.

Kinds that no pod and no budget names are not asked for. What may not be read is named, and does not
end the command: with budgets missing, the command itself decides.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from intact.budget.pdb.group_sources import LWS_NAME, Source
from intact.budget.pdb.scope import counts_pods
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.resources import LEASES, NODES, PDBS, PUBS, RBGS, Resource
from intact.model.meta import api_group
from intact.model.pod import DetailedPod
from intact.model.times import parse_time
from intact.model.workload import Workload
from intact.operator.names import LEASE
from intact.operator.pdb.group_sources import VERSIONS
from intact.operator.webhook.registration import is_registered
from intact.picture.objects import Objects, OwnerObject, owner_object

DETAILED_PODS = Resource(DetailedPod, "", "v1", "pods", "Pod")
REGISTRATION = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_LEVELS = 4
"""Of owners above pods."""
_PATIENCE = timedelta(seconds=60)
"""After which a Lease that is not renewed counts as left."""
_NOT_READ = frozenset({("", "Pod"), ("", "Node")})
T = TypeVar("T")


async def read_objects(
    client: Client, namespace: str = "", *, nodes: bool = False, rbgs: bool = False
) -> Objects:
    """Of one namespace, or of all. Raises `KubeError` if pods cannot be read."""
    reading = Reading(client, namespace)
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
    return await reading.completed(found)


async def read_definitions(client: Client, found: Objects) -> Objects:
    """The same objects, with what defines their groups and with the owners above their pods."""
    return await Reading(client, "").completed(found)


async def complete(client: Client, namespace: str, found: Objects) -> Objects:
    """The same pods and budgets, with what defines their groups, stands above them and enforces
    them as it is now. Raises `KubeError` if the server does not answer: what may not be read does
    not come back by itself, but this does."""
    reading = Reading(client, namespace)
    intact = await reading.intact()
    if reading.error is not None:
        raise reading.error
    return await reading.completed(replace(found, intact=intact, unreadable={}))


class Reading:
    def __init__(self, client: Client, namespace: str) -> None:
        self.unreadable: dict[str, str] = {}
        self.error: KubeError | None = None
        """Why the server did not even say whether Intact is registered."""
        self._client = client
        self._namespace = namespace

    async def completed(self, found: Objects) -> Objects:
        """With what pods and budgets name."""
        pod_groups, workloads, sets, owners, leading = await asyncio.gather(
            self.newest(Source.POD_GROUP) if _names_pod_groups(found) else _nothing(),
            self.newest(Source.WORKLOAD) if _names_workloads(found) else _nothing(),
            self.newest(Source.LEADER_WORKER_SET) if _has_leaders(found) else _nothing(),
            self.owners(found) if _needs_owners(found) else _nothing(),
            self.leading() if found.intact and _needs_intact(found) else _unknown(),
        )
        return replace(
            found,
            pod_groups=pod_groups,
            workloads=workloads,
            leader_worker_sets=sets,
            owners=owners,
            leading=leading,
            unreadable=self.unreadable,
        )

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
            self._not_read(REGISTRATION, error)
            self.error = None if isinstance(error, Forbidden) else error
            return None

    async def leading(self) -> bool | None:
        """Whether a process renews the Lease of Intact, in whatever namespace that is. Its times
        are of another clock: hence the patience."""
        try:
            leases = (await self._client.list(LEASES, fields=f"metadata.name={LEASE}")).items
        except KubeError:
            return None  # few may list Leases
        held = [one.spec.renew_time or "" for one in leases if one.spec.holder_identity]
        return any(_is_recent(time) for time in held)

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
                return [owner_object(group, kind, each) for each in await self.all(resource)]
        return []

    def _not_read(self, what: str, error: KubeError) -> None:
        self.unreadable[what] = "forbidden" if isinstance(error, Forbidden) else str(error)


async def _nothing() -> list[Any]:
    return []


async def _unknown() -> None:
    return None


def _names_pod_groups(found: Objects) -> bool:
    return any(pod.spec.scheduling_group is not None for pod in found.pods)


def _names_workloads(found: Objects) -> bool:
    return any(pod.spec.named_workload is not None for pod in found.pods)


def _has_leaders(found: Objects) -> bool:
    return any(LWS_NAME in pod.metadata.labels for pod in found.pods)


def _needs_owners(found: Objects) -> bool:
    """Whether a budget names workloads, or knows one that wants no pods any more."""
    return any(pub.spec.target_ref is not None or pub.status.ledger.released for pub in found.pubs)


def _needs_intact(found: Objects) -> bool:
    return bool(found.pubs) or not all(map(counts_pods, found.pdbs))


def _is_recent(time: str) -> bool:
    try:
        return datetime.now(UTC) - parse_time(time) < _PATIENCE
    except ValueError:
        return False
