"""The objects that define groups, in stores: PodGroups, Workloads and LeaderWorkerSets.

An API that the server does not serve is looked for every 30 seconds, and followed once it is
served. Of several versions of one kind the newest that is served is followed.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from intact.budget.pdb.group_sources import Source, template_of
from intact.kube.client import Client
from intact.kube.discovery import is_api_group, served_resources
from intact.kube.errors import KubeError
from intact.kube.reflector import Reflector
from intact.kube.resources import Resource
from intact.kube.store import Store
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.scheduling import (
    ControllerReference,
    GangWorkload,
    LeaderWorkerSet,
    PodGroup,
)
from intact.operator.watch.kinds import BUILT_IN
from intact.operator.watch.owners import Workloads

log = logging.getLogger(__name__)

_LOOK_AGAIN = 30.0
"""Seconds after which APIs that were not served are looked for again."""
_GROUP = "scheduling.k8s.io"
_LWS = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
# The newest first. Workloads are read only where pods name them themselves.
VERSIONS: dict[Source, tuple[Resource[Any], ...]] = {
    Source.POD_GROUP: tuple(
        Resource(PodGroup, _GROUP, version, "podgroups", "PodGroup")
        for version in ("v1", "v1beta1", "v1alpha3", "v1alpha2")
    ),
    Source.WORKLOAD: (Resource(GangWorkload, _GROUP, "v1alpha1", "workloads", "Workload"),),
    Source.LEADER_WORKER_SET: (
        Resource(LeaderWorkerSet, _LWS[0], "v1", "leaderworkersets", _LWS[1]),
    ),
}

Defining = PodGroup | GangWorkload | LeaderWorkerSet
OnChange = Callable[[Source, Defining | None, Defining | None], None]
"""The source, the object before and after."""


class GroupSources:
    def __init__(
        self,
        client: Client,
        workloads: Workloads,
        pods: Store[Pod],
        *,
        rng: random.Random | None = None,
    ) -> None:
        self.on_change: OnChange = lambda _source, _old, _new: None
        self.reflectors: dict[Source, Reflector[Any]] = {}
        self._client = client
        self._workloads = workloads
        self._pods = pods
        self._rng = rng or random.Random()
        self._tasks: dict[Source, asyncio.Task[None]] = {}
        self._looked = asyncio.Event()
        self._wake = asyncio.Event()
        self._controllers: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                for source, versions in VERSIONS.items():
                    await self._look(source, versions, group)
                await self._learn_controllers()
                self._looked.set()
                self._wake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_AGAIN):
                        await self._wake.wait()

    async def wait_synced(self) -> None:
        """Without waiting for a source that cannot be read: groups that it defines fail closed."""
        await self._looked.wait()
        for reflector in list(self.reflectors.values()):
            while not reflector.store.synced and reflector.error is None:
                await asyncio.sleep(0.05)

    def of(self, namespace: str) -> "NamespaceDefinitions":
        return NamespaceDefinitions(self, self._workloads, self._pods, namespace)

    def store(self, source: Source) -> Store[Any] | None:
        reflector = self.reflectors.get(source)
        return reflector.store if reflector else None

    def learn(self, controller: ControllerReference) -> None:
        """Follow the kind that a Workload names as its controller: its scale counts groups."""
        kind = (controller.api_group, controller.kind)
        if kind not in self._controllers:
            self._controllers.add(kind)
            self._wake.set()

    async def _look(
        self, source: Source, versions: tuple[Resource[Any], ...], group: asyncio.TaskGroup
    ) -> None:
        known = self.reflectors.get(source)
        if known is not None and known.served:
            return
        try:
            served = [each for each in versions if await self._is_served(each)]
        except KubeError as error:
            log.debug("cannot find out whether the API server serves %s: %s", source, error)
            return
        if known is not None and known.resource not in served:
            self._unfollow(source)
        if served and source not in self.reflectors:
            self._follow(source, served[0], group)

    async def _is_served(self, resource: Resource[Any]) -> bool:
        return resource.plural in await served_resources(self._client, resource.api_version)

    def _follow(self, source: Source, resource: Resource[Any], group: asyncio.TaskGroup) -> None:
        store: Store[Any] = Store({"template": _template} if source is Source.POD_GROUP else {})
        store.subscribe(lambda old, new: self.on_change(source, old, new))
        reflector = Reflector(self._client, resource, store, rng=self._rng)
        self.reflectors[source] = reflector
        self._tasks[source] = group.create_task(reflector.run())
        log.info("reading groups from %s of %s", resource.plural, resource.api_version)

    def _unfollow(self, source: Source) -> None:
        """The API server does not serve it any more: what was there is unknown now."""
        self._tasks.pop(source).cancel()
        store = self.reflectors.pop(source).store
        store.replace({})

    async def _learn_controllers(self) -> None:
        for group, kind in list(self._controllers):
            if (group, kind) == _LWS or (group and not is_api_group(group)):
                continue
            try:
                body = await self._client.raw(f"/apis/{group}" if group else "/api/v1")
            except KubeError:
                continue
            found: dict[str, Any] = msgspec.json.decode(body)
            version = found.get("preferredVersion", {}).get("groupVersion", "v1")
            self._workloads.learn(group, kind, version)


class NamespaceDefinitions:
    """The definitions of one namespace, from the stores."""

    def __init__(
        self, sources: GroupSources, workloads: Workloads, pods: Store[Pod], namespace: str
    ) -> None:
        self._sources = sources
        self._workloads = workloads
        self._pods = pods
        self._namespace = namespace

    def pod_group(self, name: str) -> PodGroup | None:
        return self._find(Source.POD_GROUP, name)  # type: ignore[return-value]

    def workload(self, name: str) -> GangWorkload | None:
        return self._find(Source.WORKLOAD, name)  # type: ignore[return-value]

    def leader_worker_set(self, name: str) -> LeaderWorkerSet | None:
        return self._find(Source.LEADER_WORKER_SET, name)  # type: ignore[return-value]

    def _find(self, source: Source, name: str) -> object | None:
        store = self._sources.store(source)
        return store.get(self._namespace, name) if store is not None else None

    def pod_groups_of(self, workload: str, template: str) -> list[str]:
        store = self._sources.store(Source.POD_GROUP)
        if store is None:
            return []
        found = store.by_index("template", f"{self._namespace}/{workload}/{template}")
        return [each.metadata.name for each in found if not is_terminating(each)]

    def has_pods(self, pod_group: str) -> bool:
        return self._pods.count("pod group", f"{self._namespace}/{pod_group}") > 0

    def leaders_of(self, leader_worker_set: str) -> list[Pod]:
        return self._pods.by_index("leader of", f"{self._namespace}/{leader_worker_set}")

    def scale_of(self, controller: ControllerReference) -> int | None:
        kind = (controller.api_group, controller.kind)
        if kind == _LWS:
            owner = self.leader_worker_set(controller.name)
            return owner.spec.replicas if owner is not None else None
        if any((each.group, each.kind) == kind for each in BUILT_IN):
            return None  # their scales count pods
        self._sources.learn(controller)
        found = self._workloads.find(kind, self._namespace, controller.name)
        if found is None or not self._workloads.has_scale(kind):
            return None
        return found.spec.replicas


def _template(group: PodGroup) -> list[str]:
    workload, template = template_of(group)
    if not workload or not template:
        return []
    return [f"{group.metadata.namespace}/{workload}/{template}"]
