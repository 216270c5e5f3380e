"""Brings back workloads that have lost the label by which the stores find them.

The pods still tell of them: their controllers have names. A workload that no store has is in no
plan, so nothing else is done for its RoleBasedGroup before it is back.
"""

from collections.abc import Iterator

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import Resource
from intact.model.pod_state import controller_uid, is_gone, is_terminating
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import RoleWorkload
from intact.operator.rbg import objects
from intact.operator.rbg.resources import WORKLOADS
from intact.operator.rbg.server_side_apply import Applier
from intact.operator.rbg.stores import RbgStores
from intact.rollout.belonging import role_of, workload_of


class RbgStrays:
    def __init__(self, client: Client, stores: RbgStores, applier: Applier) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores
        self._applier = applier

    async def bring_back(self, group: RoleBasedGroup) -> bool:
        """Whether any has its labels back, and the stores will see it soon."""
        meta = group.metadata
        found = False
        for resource, name in dict.fromkeys(self._unknown(group)):
            try:
                live = await self._client.get(resource, name, meta.namespace)
            except NotFound:
                continue
            if controller_uid(live) == meta.uid and not is_terminating(live):
                await self._label(group, resource, live)
                found = True
        return found

    def _unknown(self, group: RoleBasedGroup) -> Iterator[tuple[Resource[RoleWorkload], str]]:
        meta = group.metadata
        known = {
            (kind, one.metadata.name)
            for kind, reflector in self._stores.workloads.items()
            for one in self._stores.owned(reflector, group)
        }
        for pod in self._stores.pods_in((meta.namespace, meta.name)):
            workload = None if is_gone(pod) else workload_of(pod)
            if workload is None or workload in known:
                continue
            kind, name = workload
            # The store may not have seen what this process has just created.
            if self._applier.newest(WORKLOADS[kind], None, meta.namespace, name) is None:
                yield WORKLOADS[kind], name

    async def _label(
        self, group: RoleBasedGroup, resource: Resource[RoleWorkload], live: RoleWorkload
    ) -> None:
        meta = group.metadata
        role = role_of(meta.name, live, (one.name for one in group.spec.roles))
        body = {"metadata": {"uid": live.metadata.uid, "labels": objects.role_labels(group, role)}}
        await self._client.patch(resource, body, live.metadata.name, meta.namespace)
        self.writes += 1
