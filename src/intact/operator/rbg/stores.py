"""What the controller watches: RoleBasedGroups, their pods, and all that they own."""

import random
from typing import Any, TypeVar

from intact.kube.client import Client
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS, RBGS, SCALING_ADAPTERS, Resource
from intact.kube.retry import Backoff
from intact.kube.store import Key, Store, key_of
from intact.model.meta import ObjectMeta
from intact.model.pod import Pod, PodMeta
from intact.model.pod_state import controller_uid
from intact.model.rbg import RoleBasedGroup, ScalingAdapter
from intact.model.role_workload import ConfigMap, ControllerRevision, RoleWorkload, Service
from intact.operator.rbg.resources import (
    CONFIG_MAPS,
    LEADER_WORKER_SETS,
    REVISIONS,
    SERVICES,
    WORKLOADS,
)
from intact.rollout.names import GROUP, REVISION, ROLE

T = TypeVar("T", Pod, RoleWorkload, Service, ConfigMap, ControllerRevision, ScalingAdapter)


def _group_of(obj: Any) -> list[str]:
    meta: ObjectMeta | PodMeta = obj.metadata
    name = meta.labels.get(GROUP)
    return [] if name is None else [f"{meta.namespace}/{name}"]


def _owner_of(obj: Any) -> list[str]:
    uid = controller_uid(obj)
    return [uid] if uid else []


class RbgStores:
    def __init__(self, client: Client, rng: random.Random) -> None:
        def follow(
            resource: Resource[T], backoff: Backoff | None = None, label: str = GROUP
        ) -> Reflector[T]:
            """Only objects with the label of a RoleBasedGroup: no others are read."""
            indexes = {"group": _group_of}
            if resource is not PODS:
                indexes["owner"] = _owner_of
            store: Store[T] = Store(indexes)
            return Reflector(client, resource, store, labels=label, backoff=backoff, rng=rng)

        self.groups: Reflector[RoleBasedGroup] = Reflector(client, RBGS, Store(), rng=rng)
        self._written: dict[Key, RoleBasedGroup] = {}
        self.groups.store.subscribe(self._group_changed)
        self.pods: Reflector[Pod] = follow(PODS)
        # The kind may be installed after a RoleBasedGroup needs it, which should not wait for long.
        soon = Backoff(first=0.5, most=5.0)
        self.workloads: dict[str, Reflector[RoleWorkload]] = {
            kind: follow(resource, soon if resource is LEADER_WORKER_SETS else None)
            for kind, resource in WORKLOADS.items()
        }
        self.services: Reflector[Service] = follow(SERVICES)
        self.config_maps: Reflector[ConfigMap] = follow(CONFIG_MAPS)
        # Not GROUP: a StatefulSet's own revisions have the labels of its pods.
        self.revisions: Reflector[ControllerRevision] = follow(REVISIONS, label=REVISION)
        self.adapters: Reflector[ScalingAdapter] = follow(SCALING_ADAPTERS)

    @property
    def leader_worker_sets(self) -> Reflector[RoleWorkload]:
        return self.workloads[LEADER_WORKER_SETS.kind]

    @property
    def always(self) -> list[Reflector[Any]]:
        """All but LeaderWorkerSets, which a cluster may not serve."""
        return [
            self.groups,
            self.pods,
            *(one for one in self.workloads.values() if one is not self.leader_worker_sets),
            self.services,
            self.config_maps,
            self.revisions,
            self.adapters,
        ]

    def group(self, key: Key) -> RoleBasedGroup | None:
        return self.groups.store.get(*key)

    def newest_group(self, key: Key) -> RoleBasedGroup | None:
        """From the store, or as this process wrote it, if that is newer."""
        seen, written = self.group(key), self._written.get(key)
        if seen is None or written is None:
            self._written.pop(key, None)
            return seen
        versions = int(seen.metadata.resource_version), int(written.metadata.resource_version)
        if versions[0] >= versions[1] or seen.metadata.uid != written.metadata.uid:
            del self._written[key]
            return seen
        return written

    def _group_changed(self, old: RoleBasedGroup | None, new: RoleBasedGroup | None) -> None:
        if new is None and old is not None:
            self.forget_written(key_of(old))

    def forget_written(self, key: Key) -> None:
        """What this process wrote counts no more: it is gone, or was written over."""
        self._written.pop(key, None)

    def remember(self, group: RoleBasedGroup) -> None:
        """The API server's answer to a write, which the watch may not have brought yet."""
        self._written[key_of(group)] = group

    def pods_in(self, key: Key) -> list[Pod]:
        """All pods of a RoleBasedGroup, which itself may be gone."""
        return self.pods.store.by_index("group", f"{key[0]}/{key[1]}")

    def pods_of(self, group: RoleBasedGroup, role: str) -> list[Pod]:
        found = self._of(self.pods, group)
        return [pod for pod in found if pod.metadata.labels.get(ROLE) == role]

    def owned(self, reflector: Reflector[T], group: RoleBasedGroup) -> list[T]:
        """The objects of one kind that the RoleBasedGroup controls, whatever their labels say."""
        return reflector.store.by_index("owner", group.metadata.uid)

    def _of(self, reflector: Reflector[T], group: RoleBasedGroup) -> list[T]:
        meta = group.metadata
        return reflector.store.by_index("group", f"{meta.namespace}/{meta.name}")
