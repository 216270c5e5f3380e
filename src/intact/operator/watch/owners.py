"""The owners above pods: who they are, and how many pods they want.

Owners are found in stores. Kinds that are not built in are discovered when a pod or a budget first
names one, and followed from then on; how many pods such an object wants is asked of its scale
subresource, once for each of its generations.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.reflector import Reflector
from intact.kube.resources import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Resource,
)
from intact.kube.store import Store
from intact.model.base import View
from intact.model.meta import ObjectMeta, OwnerReference, api_group
from intact.model.pod import Pod
from intact.model.pod_state import controller_among, controller_of, controller_uid, is_terminating
from intact.model.workload import Workload

log = logging.getLogger(__name__)

GroupKind = tuple[str, str]
Handler = Callable[[GroupKind, Workload | None, Workload | None], None]
BUILT_IN = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)
_POD: GroupKind = ("", "Pod")
# They own pods and are not followed: their pods count as what is there.
_UNSCALED: frozenset[GroupKind] = frozenset({("", "Node"), _POD})
MOST_LEVELS = 10
"""Of owners above a pod."""
_DISCOVER_AGAIN = 60.0
"""Seconds after which kinds that the server did not know are looked for again."""


def scales_in_groups(kind: GroupKind) -> bool:
    """Whether the replicas of a kind are groups of pods. Its API group differs between vendors."""
    return kind[1] == "LeaderWorkerSet"


class Target(NamedTuple):
    """A workload, by what a budget may name it."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner above a pod."""

    group: str
    kind: str
    name: str
    uid: str

    @property
    def group_kind(self) -> GroupKind:
        return self.group, self.kind

    @property
    def target(self) -> Target:
        return Target(self.group, self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Chain:
    """The owners above a pod, nearest first."""

    owners: tuple[Owner, ...] = ()
    complete: bool = True
    """False if an owner is not in its store (yet), so that more may stand above it."""


class Workloads:
    def __init__(
        self, client: Client, pods: Store[Pod], *, rng: random.Random | None = None
    ) -> None:
        self._rng = rng or random.Random()
        self.reflectors: dict[GroupKind, Reflector[Workload]] = {}
        self._client = client
        self._pods = pods
        self._handlers: list[Handler] = []
        self._scales: dict[str, tuple[int, int]] = {}
        self._scaled: dict[GroupKind, bool] = {}
        self._unknown: dict[GroupKind, dict[str, None]] = {}
        """Kinds that are not followed, with the versions in which they are named. Somebody may name
        one that is not served, others must not suffer from it."""
        self._looked_for: set[tuple[GroupKind, str]] = set()
        self._discovering = asyncio.Event()
        for resource in BUILT_IN:
            self._follow(resource)
            self._scaled[resource.group, resource.kind] = True

    def _follow(self, resource: Resource[Workload]) -> Reflector[Workload]:
        kind = (resource.group, resource.kind)
        store: Store[Workload] = Store(
            {
                "uid": lambda workload: [workload.metadata.uid],
                "owner": lambda workload: [controller_uid(workload)],
                "namespace": lambda workload: [workload.metadata.namespace],
            }
        )
        store.subscribe(lambda old, new: self._changed(kind, old, new))
        self.reflectors[kind] = Reflector(self._client, resource, store, rng=self._rng)
        return self.reflectors[kind]

    def _changed(self, kind: GroupKind, old: Workload | None, new: Workload | None) -> None:
        if new is None and old is not None:
            self._scales.pop(old.metadata.uid, None)
        for handler in self._handlers:
            handler(kind, old, new)

    def subscribe(self, handler: Handler) -> None:
        """Call this with every change of a workload from now on."""
        self._handlers.append(handler)

    async def run(self) -> None:
        """Follow all kinds, also those that are found on the way."""
        async with asyncio.TaskGroup() as group:
            started: set[GroupKind] = set()
            while True:
                for kind, reflector in list(self.reflectors.items()):
                    if kind not in started:
                        started.add(kind)
                        group.create_task(reflector.run())
                self._discovering.clear()
                await self._discover()
                if started == self.reflectors.keys():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_DISCOVER_AGAIN):
                            await self._discovering.wait()

    def chain(self, pod: Pod | Workload) -> Chain:
        """The owners above a pod or workload, as far as the stores know them. Kinds that are met on
        the way are followed from then on."""
        namespace = pod.metadata.namespace
        owners: list[Owner] = []
        above = controller_of(pod)
        while above is not None and len(owners) < MOST_LEVELS:
            owner = _owner(above)
            owners.append(owner)
            self.learn(owner.group, owner.kind, above.api_version)
            found = self._find(namespace, owner)
            if found is None:
                return Chain(tuple(owners), complete=self._is_end(owner))
            above = controller_among(found)
        return Chain(tuple(owners))

    async def complete(self, pod: Pod) -> Chain:
        """The owners above a pod; those that are not in a store (yet) are asked for."""
        chain = self.chain(pod)
        owners = list(chain.owners)
        while not chain.complete and len(owners) < MOST_LEVELS:
            references = await self._ask(pod.metadata.namespace, owners[-1])
            above = controller_among(references)
            if above is None:
                break
            owners.append(_owner(above))
        return Chain(tuple(owners))

    async def _ask(self, namespace: str, owner: Owner) -> list[OwnerReference]:
        """The owner references of an owner, as the API has them; none if it is not there."""
        reflector = self.reflectors.get(owner.group_kind)
        try:
            if owner.group_kind == _POD:
                pod = await self._client.get(PODS, owner.name, namespace)
                return pod.metadata.owner_references if pod.metadata.uid == owner.uid else []
            if reflector is not None:
                found = await self._client.get(reflector.resource, owner.name, namespace)
                return found.metadata.owner_references if found.metadata.uid == owner.uid else []
        except NotFound:
            pass
        return []

    def _find(self, namespace: str, owner: Owner) -> list[OwnerReference] | None:
        """The owner references of an owner, if it is in its store."""
        found: Pod | Workload | None
        if owner.group_kind == _POD:
            found = self._pods.get(namespace, owner.name)
        else:
            reflector = self.reflectors.get(owner.group_kind)
            found = reflector.store.get(namespace, owner.name) if reflector else None
        if found is None or found.metadata.uid != owner.uid:
            return None
        return found.metadata.owner_references

    def _is_end(self, owner: Owner) -> bool:
        """Whether nothing is known to stand above such an owner, although it is not in a store."""
        kind = owner.group_kind
        return kind != _POD and (kind in _UNSCALED or kind in self._unknown)

    def learn(self, group: str, kind: str, api_version: str) -> None:
        """Make sure that a kind is followed, if it can be."""
        key = (group, kind)
        if key in self.reflectors or key in _UNSCALED:
            return
        versions = self._unknown.setdefault(key, {})
        if api_version not in versions:
            versions[api_version] = None
            self._discovering.set()

    async def _discover(self) -> None:
        named = [(key, version) for key, versions in self._unknown.items() for version in versions]
        for key, api_version in named:
            if key not in self._unknown:
                continue  # found in another version
            try:
                await self._look_for(key, api_version)
            except KubeError as error:
                log.warning("cannot find out about %s of %s: %s", key[1], api_version, error)

    async def _look_for(self, key: GroupKind, api_version: str) -> None:
        resource, scaled = await _find_resource(self._client, api_version, key[1])
        self._looked_for.add((key, api_version))
        # Somebody else may have found it meanwhile.
        if resource is not None and self._unknown.pop(key, None) is not None:
            self._scaled[key] = scaled
            self._follow(resource)
            self._discovering.set()

    def has_scale(self, kind: GroupKind) -> bool:
        return self._scaled.get(kind, False)

    def by_uid(self, uid: str) -> tuple[GroupKind, Workload] | None:
        for kind, reflector in self.reflectors.items():
            if found := reflector.store.by_index("uid", uid):
                return kind, found[0]
        return None

    def owned_by(self, uid: str) -> Iterator[Workload]:
        """The workloads that an owner controls."""
        for reflector in list(self.reflectors.values()):
            yield from reflector.store.by_index("owner", uid)

    def find(self, kind: GroupKind, namespace: str, name: str) -> Workload | None:
        reflector = self.reflectors.get(kind)
        return reflector.store.get(namespace, name) if reflector else None

    def in_namespace(self, namespace: str) -> Iterator[tuple[GroupKind, Workload]]:
        for kind, reflector in self.reflectors.items():
            for workload in reflector.store.by_index("namespace", namespace):
                yield kind, workload

    async def replicas(self, kind: GroupKind, workload: Workload) -> int:
        """How many pods (of a LeaderWorkerSet: groups) it wants."""
        if is_terminating(workload):
            return 0
        return await self.scale(kind, workload)

    async def scale(self, kind: GroupKind, workload: Workload) -> int:
        """What its scale says, also while it is being deleted."""
        reflector = self.reflectors[kind]
        if reflector.resource in BUILT_IN:
            return 1 if workload.spec.replicas is None else workload.spec.replicas
        meta = workload.metadata
        known = self._scales.get(meta.uid)
        if known is None or known[0] != meta.generation:
            scale = await self._client.get(
                _as_scale(reflector.resource), meta.name, meta.namespace, subresource="scale"
            )
            known = self._scales[meta.uid] = (meta.generation, scale.spec.replicas or 0)
        return known[1]

    async def ask_scale(self, kind: GroupKind, namespace: str, name: str) -> tuple[str, int] | None:
        """UID and scale as the API has them now, for what is not in a store."""
        try:
            scale = await self._client.get(
                _as_scale(self.reflectors[kind].resource), name, namespace, subresource="scale"
            )
        except NotFound:
            return None
        return scale.metadata.uid, scale.spec.replicas or 0

    async def discover(self, group: str, kind: str, api_version: str) -> Resource[Workload] | None:
        """The resource of a kind, which is followed from then on; None if the server does not know
        it. A kind is asked for at once when it is first named, and now and then after that."""
        key = (group, kind)
        self.learn(group, kind, api_version)
        if key in self._unknown and (key, api_version) not in self._looked_for:
            await self._look_for(key, api_version)
        reflector = self.reflectors.get(key)
        return reflector.resource if reflector else None


class _ScaleSpec(View):
    replicas: int | None = None


class _Scale(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ScaleSpec = _ScaleSpec()


def _as_scale(resource: Resource[Workload]) -> Resource[_Scale]:
    return Resource(
        _Scale,
        resource.group,
        resource.version,
        resource.plural,
        resource.kind,
        resource.namespaced,
    )


def _owner(reference: OwnerReference) -> Owner:
    return Owner(api_group(reference.api_version), reference.kind, reference.name, reference.uid)


async def _find_resource(
    client: Client, api_version: str, kind: str
) -> tuple[Resource[Workload] | None, bool]:
    """The resource of a kind, and whether it has a scale; None if the server does not know it."""
    group, slash, version = api_version.partition("/")
    path = f"/apis/{group}/{version}" if slash else f"/api/{api_version}"
    try:
        listed: dict[str, Any] = msgspec.json.decode(await client.raw(path))
    except NotFound:
        return None, False
    resources = listed.get("resources", [])
    names = [entry for entry in resources if entry["kind"] == kind and "/" not in entry["name"]]
    if not names or "list" not in names[0]["verbs"] or "watch" not in names[0]["verbs"]:
        return None, False
    plural = names[0]["name"]
    scaled = any(
        entry["name"] == f"{plural}/scale" and entry["kind"] == "Scale" for entry in resources
    )
    found = Resource(
        Workload,
        group if slash else "",
        version if slash else api_version,
        plural,
        kind,
        names[0]["namespaced"],
    )
    return found, scaled
