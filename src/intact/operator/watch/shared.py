"""What several controllers need, watched once for all of them: pods and their owners, namespaces,
PodDisruptionBudgets."""

import asyncio
import random
from typing import Any

from intact.budget.pdb.group_sources import LEADER, LWS_NAME, LWS_WORKER_INDEX
from intact.kube.client import Client
from intact.kube.reflector import Reflector
from intact.kube.resources import NAMESPACES, PDBS, PODS
from intact.kube.store import IndexFunction, Store
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Namespace
from intact.model.pod import Pod
from intact.model.pod_state import controller_uid
from intact.operator.watch.kinds import BUILT_IN
from intact.operator.watch.owners import Workloads


def _pod_group(pod: Pod) -> list[str]:
    group = pod.spec.scheduling_group
    if group is None or not group.pod_group_name:
        return []
    return [f"{pod.metadata.namespace}/{group.pod_group_name}"]


def _leader_of(pod: Pod) -> list[str]:
    labels = pod.metadata.labels
    if labels.get(LWS_WORKER_INDEX) != LEADER or LWS_NAME not in labels:
        return []
    return [f"{pod.metadata.namespace}/{labels[LWS_NAME]}"]


POD_INDEXES: dict[str, IndexFunction[Pod]] = {
    "namespace": lambda pod: [pod.metadata.namespace],
    "owner": lambda pod: [controller_uid(pod)],
    "uid": lambda pod: [pod.metadata.uid],
    "pod group": _pod_group,
    "leader of": _leader_of,
}


class Watches:
    def __init__(self, client: Client, *, rng: random.Random | None = None) -> None:
        self.pods: Reflector[Pod] = Reflector(client, PODS, Store(POD_INDEXES), rng=rng)
        self.namespaces: Reflector[Namespace] = Reflector(client, NAMESPACES, Store(), rng=rng)
        pdbs: Store[PodDisruptionBudget] = Store(
            {"namespace": lambda budget: [budget.metadata.namespace]}
        )
        self.pdbs: Reflector[PodDisruptionBudget] = Reflector(client, PDBS, pdbs, rng=rng)
        self.workloads = Workloads(client, self.pods.store, rng=rng)

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [self.pods, self.namespaces, self.pdbs, *self.workloads.reflectors.values()]

    def is_doubtful(self) -> bool:
        """Whether any of these stores may show what never was: its watch has ended, and the server,
        which has not been heard since, may have been restored from a backup."""
        return any(reflector.is_doubtful for reflector in self.reflectors)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.run())
            group.create_task(self.namespaces.run())
            group.create_task(self.pdbs.run())
            group.create_task(self.workloads.run())

    async def wait_synced(self) -> None:
        needed: list[Reflector[Any]] = [self.pods, self.namespaces, self.pdbs]
        needed += [self.workloads.reflectors[one.group, one.kind] for one in BUILT_IN]
        for reflector in needed:
            await reflector.wait_synced()
        # RBAC may not allow a discovered kind to be followed: it must not hold up the rest.
        for reflector in self.reflectors:
            while not reflector.store.synced and reflector.error is None:
                await asyncio.sleep(0.05)
