"""The controller of RoleBasedGroups in one process: all its parts, put together.

Every process watches and answers admission reviews. The leader reconciles.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.queue import Queue, work
from intact.kube.reflector import Reflector
from intact.kube.resources import RBGS
from intact.kube.store import Key, key_of
from intact.model.pod_state import controller_of
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.pods.new_pods import NewPods
from intact.operator.rbg.pods.placement import Placement
from intact.operator.rbg.reconcile import RbgReconciler
from intact.operator.rbg.resources import LEADER_WORKER_SETS
from intact.operator.rbg.rollout_metrics import RolloutTimes
from intact.operator.rbg.stores import RbgStores
from intact.operator.rbg.validation import RbgValidation
from intact.rollout.names import GROUP
from intact.rollout.spec.exclusive import EXCLUSIVE
from intact.rollout.statefulset import is_held

_WORKERS = 4


class RbgController:
    def __init__(
        self,
        client: Client,
        identity: str,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        rng: random.Random | None = None,
    ) -> None:
        rng = rng or random.Random()
        self._leading = False
        self._sets_wanted = asyncio.Event()
        self.stores = RbgStores(client, rng)
        self.rollouts = RolloutTimes(self.stores.groups.store, now)
        self.new_pods = NewPods(client, self.stores, Placement(self.stores))
        self.validation = RbgValidation(client)
        self.events = EventRecorder(client, "intact", identity, now=now, rng=rng)
        self.queue: Queue[Key] = Queue("rbg", rng=rng)
        self.reconciler = RbgReconciler(
            client, self.stores, self.events, now=now, leads=leads, queue=self.queue, rng=rng
        )
        self.stores.groups.store.subscribe(self._group_changed)
        for reflector in (*self.stores.always[1:], self.stores.leader_worker_sets):
            reflector.store.subscribe(self._part_changed)

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        if self._sets_wanted.is_set():
            return [*self.stores.always, self.stores.leader_worker_sets]
        return self.stores.always

    async def run(self) -> None:
        """What every process does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.stores.always:
                group.create_task(reflector.run())
            group.create_task(self.events.run())
            # Without a role that needs LeaderWorkerSets, the API server is not asked for them.
            await self._sets_wanted.wait()
            group.create_task(self.stores.leader_worker_sets.run())

    async def wait_synced(self) -> None:
        for reflector in self.stores.always:
            await reflector.wait_synced()

    async def lead(self) -> None:
        """What the leader does, until cancelled."""
        # An earlier leader may have seen and written more than this process has seen.
        for reflector in self.reflectors:
            reflector.list_again()
        await self.wait_synced()
        if self._sets_wanted.is_set():  # a workload that is in no store would be in no plan
            await self.stores.leader_worker_sets.wait_tried()
        self.reconciler.take_over()
        self._leading = True
        try:
            for group in self.stores.groups.store:
                self.queue.add(key_of(group))
            for pod in self.stores.pods.store:
                if is_held(pod):  # its RoleBasedGroup may be gone meanwhile
                    self.queue.add((pod.metadata.namespace, pod.metadata.labels[GROUP]))
            async with asyncio.TaskGroup() as tasks:
                for _ in range(_WORKERS):
                    tasks.create_task(work(self.queue, self.reconciler.reconcile))
        finally:
            self._leading = False

    def _mark(self, key: Key) -> None:
        if self._leading:
            self.reconciler.mark(key)

    def _group_changed(self, old: RoleBasedGroup | None, new: RoleBasedGroup | None) -> None:
        if new is None:
            return
        if any(role.workload.kind == LEADER_WORKER_SETS.kind for role in new.spec.roles):
            self._sets_wanted.set()
        # Also a generation whose difference Intact does not read, such as `paused: false` instead
        # of nothing: its status should say that it was observed.
        if old is None or _generation(old) != _generation(new) or _settings(old) != _settings(new):
            self._mark(key_of(new))

    def _part_changed(self, old: Any, new: Any) -> None:
        for obj in (old, new):
            for name in _groups_of(obj) if obj is not None else ():
                self._mark((obj.metadata.namespace, name))


def _groups_of(obj: Any) -> set[str]:
    """The RoleBasedGroups that an object may belong to: by its label, and by its owner."""
    found = {obj.metadata.labels[GROUP]} if GROUP in obj.metadata.labels else set()
    owner = controller_of(obj)
    return found | {owner.name} if owner is not None and owner.kind == RBGS.kind else found


def _settings(group: RoleBasedGroup) -> tuple[dict[str, str], str | None]:
    """What its metadata says about what it owns."""
    return group.metadata.labels, group.metadata.annotations.get(EXCLUSIVE)


def _generation(group: RoleBasedGroup) -> int:
    return group.metadata.generation
