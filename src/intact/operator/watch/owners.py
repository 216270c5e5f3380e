"""The owners above pods: who they are, and how many pods they want.

Owners are found in the stores of their kinds. The built-in kinds say in their spec how many pods
they want; any other kind says it in its scale subresource.
"""

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from intact.kube.client import Client
from intact.kube.errors import Forbidden, NotFound
from intact.kube.resources import PODS
from intact.kube.store import Store
from intact.model.meta import OwnerReference, api_group
from intact.model.pod import Pod
from intact.model.pod_state import controller_among, controller_of, is_ending
from intact.model.workload import Workload, ordinal_of, stated_pods, wanted_ordinals
from intact.operator.watch.kinds import (
    BUILT_IN,
    POD,
    REPLICA_SET,
    UNSCALED,
    FollowedKinds,
    GroupKind,
)
from intact.operator.watch.scales import Scales

_STATEFUL_SET: GroupKind = ("apps", "StatefulSet")
MOST_LEVELS = 10
"""Of owners above a pod."""
_MOST_GONE = 1000
"""ReplicaSets that are gone, as far as they are remembered."""


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


class Unwanted(NamedTuple):
    """A pod that its StatefulSet no longer wants, after a scale-in."""

    owner: str
    """UID of the StatefulSet."""
    ordinal: int


class Workloads(FollowedKinds):
    """The workloads of all followed kinds."""

    def __init__(
        self, client: Client, pods: Store[Pod], *, rng: random.Random | None = None
    ) -> None:
        super().__init__(client, rng=rng)
        self._pods = pods
        self._scales = Scales(client)
        self._above_gone: dict[str, list[OwnerReference]] = {}
        """The owner references of ReplicaSets that went before their pods, by UID. The Deployment
        above still wants as many pods."""
        self.subscribe(self._forget_scale)
        self.subscribe(self._remember_above)

    def _forget_scale(self, _kind: GroupKind, old: Workload | None, new: Workload | None) -> None:
        if new is None and old is not None:
            self._scales.forget(old.metadata.uid)

    def _remember_above(self, kind: GroupKind, old: Workload | None, new: Workload | None) -> None:
        if kind != REPLICA_SET or old is None or new is not None:
            return
        uid, above = old.metadata.uid, old.metadata.owner_references
        if above and self._pods.count("owner", uid):
            self._above_gone = dict([*self._above_gone.items(), (uid, above)][-_MOST_GONE:])

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
            found = self._references_of(namespace, owner)
            if found is None:
                return Chain(tuple(owners), complete=self._is_end(owner))
            above = controller_among(found)
        return Chain(tuple(owners))

    def unwanted(self, pod: Pod, chain: Chain) -> Unwanted | None:
        """Whether the scale of a StatefulSet above a pod no longer wants it. With a leader pod, all
        that hangs on it is not wanted any more."""
        below = pod.metadata.name
        for owner in chain.owners:
            if owner.group_kind == _STATEFUL_SET and below:
                found = self.find(_STATEFUL_SET, pod.metadata.namespace, owner.name)
                ordinal = ordinal_of(below, owner.name)
                wanted = wanted_ordinals(found)
                is_it = found is not None and found.metadata.uid == owner.uid
                if is_it and wanted and ordinal is not None and ordinal not in wanted:
                    return Unwanted(owner.uid, ordinal)
            below = owner.name if owner.group_kind == POD else ""
        return None

    async def wanting(self, pod: Pod, chain: Chain, asked: Container[str]) -> tuple[str, ...]:
        """The UIDs of those owners above a pod that want pods, as far as their stores know. The
        scale of a kind that is not built in is read only for those that are asked about. Raises
        `KubeError`."""
        found = []
        for owner in chain.owners:
            kind = owner.group_kind
            workload = self.find(kind, pod.metadata.namespace, owner.name)
            if workload is None or workload.metadata.uid != owner.uid or is_ending(workload):
                continue
            wanted = stated_pods(workload)
            if self.has_scale(kind) and (self.is_built_in(kind) or owner.uid in asked):
                wanted = await self.scale(kind, workload)
            if wanted:
                found.append(owner.uid)
        return tuple(found)

    async def complete(self, pod: Pod) -> Chain:
        """The owners above a pod. Those that are not in a store (yet) are read from the API
        server. Raises `KubeError`."""
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
            if owner.group_kind == POD:
                pod = await self._client.get(PODS, owner.name, namespace)
                return pod.metadata.owner_references if pod.metadata.uid == owner.uid else []
            if reflector is not None:
                resource = reflector.resource
                found = await self._client.get(resource, owner.name, resource.place(namespace))
                return found.metadata.owner_references if found.metadata.uid == owner.uid else []
        except NotFound:
            pass
        except Forbidden:
            # No budget ever counts what is above a kind that Intact may not read: the chain ends.
            if reflector is None or reflector.resource in BUILT_IN or reflector.store.synced:
                raise
        return []

    def _references_of(self, namespace: str, owner: Owner) -> list[OwnerReference] | None:
        """The owner references of an owner, if it is in its store."""
        found: Pod | Workload | None
        if owner.group_kind == POD:
            found = self._pods.get(namespace, owner.name)
        else:
            found = self.find(owner.group_kind, namespace, owner.name)
        if found is None or found.metadata.uid != owner.uid:
            return self._above_gone.get(owner.uid)
        return found.metadata.owner_references

    def _is_end(self, owner: Owner) -> bool:
        """Whether the chain ends at an owner that is in no store: its kind is not followed."""
        kind = owner.group_kind
        return kind != POD and (kind in UNSCALED or self.is_unknown(kind))

    def above_replica_set(self, uid: str) -> Workload | None:
        """The workload that makes this ReplicaSet, also if that is gone; None if none does."""
        known = self.by_uid(uid)
        references = known[1].metadata.owner_references if known else self._above_gone.get(uid, [])
        above = controller_among(references)
        found = self.by_uid(above.uid) if above is not None else None
        return found[1] if found is not None else None

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
        """By the name that an object of this namespace gives it; its kind may have no namespace."""
        reflector = self.reflectors.get(kind)
        if reflector is None:
            return None
        return reflector.store.get(reflector.resource.place(namespace), name)

    def in_namespace(self, namespace: str) -> Iterator[tuple[GroupKind, Workload]]:
        for kind, reflector in self.reflectors.items():
            for workload in reflector.store.by_index("namespace", namespace):
                yield kind, workload

    async def replicas(self, kind: GroupKind, workload: Workload) -> int:
        """How many pods (of a LeaderWorkerSet: groups) it wants. Raises `KubeError`."""
        if is_ending(workload):
            return 0
        return await self.scale(kind, workload)

    async def scale(self, kind: GroupKind, workload: Workload) -> int:
        """What its scale says, also while it is being deleted. Raises `KubeError`."""
        resource = self.reflectors[kind].resource
        if resource in BUILT_IN:
            return 1 if workload.spec.replicas is None else workload.spec.replicas
        return await self._scales.replicas(resource, workload)

    async def ask_scale(self, kind: GroupKind, namespace: str, name: str) -> tuple[str, int] | None:
        """UID and scale as the API server has them now, for a workload that is not in a store;
        None if there is no such workload. Raises `KubeError`."""
        resource = self.reflectors[kind].resource
        return await self._scales.ask(resource, resource.place(namespace), name)


def _owner(reference: OwnerReference) -> Owner:
    return Owner(api_group(reference.api_version), reference.kind, reference.name, reference.uid)
