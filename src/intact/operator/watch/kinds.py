"""The kinds of workloads that are followed, each in a store.

The built-in kinds are followed from the start. Any other kind is discovered when a pod or a budget
first names it, and followed from then on. A kind that the API server does not serve is looked for
again now and then.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress

from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import KubeError
from intact.kube.reflector import Reflector
from intact.kube.resources import (
    DEPLOYMENTS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Resource,
)
from intact.kube.store import Store
from intact.model.pod_state import controller_uid
from intact.model.workload import DaemonSet, Job, LeaderWorkerSet, Workload, salvaging

log = logging.getLogger(__name__)

GroupKind = tuple[str, str]
Handler = Callable[[GroupKind, Workload | None, Workload | None], None]
BUILT_IN = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)
POD: GroupKind = ("", "Pod")
REPLICA_SET: GroupKind = ("apps", "ReplicaSet")
UNSCALED: frozenset[GroupKind] = frozenset({("", "Node"), POD})
"""They own pods and have no scale, so they are not followed: their pods count as they are."""
DAEMON_SET: GroupKind = ("apps", "DaemonSet")
JOB: GroupKind = ("batch", "Job")
_DISCOVER_AGAIN = 10.0
"""Seconds after which kinds that the server did not know are looked for again."""


def scales_in_groups(kind: GroupKind) -> bool:
    """Whether the replicas of a kind are groups of pods. Its API group differs between vendors."""
    return kind[1] == "LeaderWorkerSet"


def view_of(kind: GroupKind) -> type[Workload]:
    """What workloads of a kind are read as."""
    if kind == DAEMON_SET:
        return DaemonSet
    if kind == JOB:
        return Job
    return LeaderWorkerSet if scales_in_groups(kind) else Workload


class FollowedKinds:
    def __init__(self, client: Client, *, rng: random.Random | None = None) -> None:
        self.reflectors: dict[GroupKind, Reflector[Workload]] = {}
        self._client = client
        self._rng = rng or random.Random()
        self._handlers: list[Handler] = []
        self._scaled: dict[GroupKind, bool] = {}
        self._unknown: dict[GroupKind, dict[str, None]] = {}
        """Kinds that are not followed, with the versions in which they are named. One budget may
        name a version that is not served, while pods name another that is."""
        self._looked_for: set[tuple[GroupKind, str]] = set()
        self._discovering = asyncio.Event()
        for resource in BUILT_IN:
            self._follow(resource, scaled=True)

    def subscribe(self, handler: Handler) -> None:
        """Call this with every change of a workload from now on."""
        self._handlers.append(handler)

    def has_scale(self, kind: GroupKind) -> bool:
        return self._scaled.get(kind, False)

    def is_built_in(self, kind: GroupKind) -> bool:
        """Whether Kubernetes itself defines the kind: then its scale is in pods."""
        return self.reflectors[kind].resource in BUILT_IN

    def states_pods(self, kind: GroupKind) -> bool:
        """Whether workloads of a kind say how many pods they want, by their scale or elsewhere."""
        return self.has_scale(kind) or kind in (DAEMON_SET, JOB)

    def is_unknown(self, kind: GroupKind) -> bool:
        """Whether the kind was named, and is not followed (yet)."""
        return kind in self._unknown

    def learn(self, group: str, kind: str, api_version: str) -> None:
        """Make sure that a kind is followed, if it can be."""
        key = (group, kind)
        if key in self.reflectors or key in UNSCALED:
            return
        versions = self._unknown.setdefault(key, {})
        if api_version not in versions:
            versions[api_version] = None
            self._discovering.set()

    async def discover(self, group: str, kind: str, api_version: str) -> Resource[Workload] | None:
        """The resource of a kind, which is followed from then on; None if the server does not know
        it. The server is asked at once when a kind is first named, and now and then after that."""
        key = (group, kind)
        self.learn(group, kind, api_version)
        if key in self._unknown and (key, api_version) not in self._looked_for:
            await self._look_for(key, api_version)
        reflector = self.reflectors.get(key)
        return reflector.resource if reflector else None

    async def run(self) -> None:
        """Follow all kinds, also those that are discovered on the way, until cancelled."""
        async with asyncio.TaskGroup() as group:
            started: set[GroupKind] = set()
            while True:
                for kind, reflector in list(self.reflectors.items()):
                    if kind not in started:
                        started.add(kind)
                        group.create_task(reflector.run())
                self._discovering.clear()
                await self._look_for_all()
                if started == self.reflectors.keys():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_DISCOVER_AGAIN):
                            await self._discovering.wait()

    async def _look_for_all(self) -> None:
        named = [(key, version) for key, versions in self._unknown.items() for version in versions]
        for key, api_version in named:
            if key not in self._unknown:
                continue  # found in another version
            try:
                await self._look_for(key, api_version)
            except KubeError as error:
                log.warning(
                    "cannot find out whether %s of %s is served: %s", key[1], api_version, error
                )

    async def _look_for(self, key: GroupKind, api_version: str) -> None:
        found = await find_workloads(self._client, api_version, key[1])
        self._looked_for.add((key, api_version))
        # Another task may have found it meanwhile.
        if found is not None and self._unknown.pop(key, None) is not None:
            resource, scaled = found
            self._follow(resource, scaled=scaled)
            self._discovering.set()

    def _follow(self, resource: Resource[Workload], *, scaled: bool) -> None:
        kind = (resource.group, resource.kind)
        store: Store[Workload] = Store(
            {
                "uid": lambda workload: [workload.metadata.uid],
                "owner": lambda workload: [controller_uid(workload)],
                "namespace": lambda workload: [workload.metadata.namespace],
            }
        )
        store.subscribe(lambda old, new: self._changed(kind, old, new))
        self._scaled[kind] = scaled
        self.reflectors[kind] = Reflector(self._client, resource, store, rng=self._rng)

    def _changed(self, kind: GroupKind, old: Workload | None, new: Workload | None) -> None:
        for handler in self._handlers:
            handler(kind, old, new)


async def find_workloads(
    client: Client, api_version: str, kind: str
) -> tuple[Resource[Workload], bool] | None:
    """The resource of a kind, and whether it has a scale; None if the server does not serve the
    kind in this version, or not to be listed and watched."""
    served = await served_resources(client, api_version)
    found = next((one for one in served.values() if one.kind == kind and "/" not in one.name), None)
    if found is None or not found.can_be_followed:
        return None
    scale = served.get(f"{found.name}/scale")
    group, _, version = api_version.rpartition("/")
    view = view_of((group, kind))
    salvage = salvaging(view)
    resource = Resource(view, group, version, found.name, kind, found.namespaced, salvage)
    return resource, scale is not None and scale.kind == "Scale"
