"""Deletes what a RoleBasedGroup owns and does not need any more.

Before anything is deleted, the RoleBasedGroup and the object are read from the API server: a store
may be behind, and what is deleted takes its pods with it.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError, NotFound
from intact.kube.resources import RBGS, SCALING_ADAPTERS, Resource
from intact.model.pod_state import controller_uid, is_terminating
from intact.model.rbg import RoleBasedGroup, ScalingAdapter
from intact.model.role_workload import RoleWorkload, Service
from intact.operator.rbg import objects
from intact.operator.rbg.apply import Applied
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.refusals import gather_refusals
from intact.operator.rbg.resources import SERVICES, WORKLOADS
from intact.operator.rbg.stores import RbgStores
from intact.rollout.belonging import role_of
from intact.rollout.facts import RoleFacts
from intact.rollout.names import service_name, workload_name
from intact.rollout.orders import WorkloadOrder

_Outlived = tuple[Resource[Any], RoleWorkload | Service | ScalingAdapter]


class RbgCleanup:
    def __init__(self, client: Client, stores: RbgStores, events: RbgEvents) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores
        self._events = events

    async def clean_up(
        self,
        group: RoleBasedGroup,
        applied: Applied,
        orders: Mapping[str, list[WorkloadOrder]],
        coordinated: Container[str],
    ) -> list[ApiError]:
        """`coordinated` are the roles whose orders come from a rollout, or from a change of their
        kind: what has no order is not needed. Returns the refusals."""
        outlived = [
            *self._workloads(group, applied, orders, coordinated),
            *self._others(group, applied),
        ]
        if not outlived or not await self._is_present(group):
            return []
        return await gather_refusals(
            self._delete(group, resource, one.metadata.name, one.metadata.uid)
            for resource, one in outlived
        )

    async def _is_present(self, group: RoleBasedGroup) -> bool:
        """Whether the API server has no newer spec. One brings the RoleBasedGroup back here."""
        meta = group.metadata
        try:
            now = (await self._client.get(RBGS, meta.name, meta.namespace)).metadata
        except NotFound:
            return False
        return (now.uid, now.generation) == (meta.uid, meta.generation)

    def _workloads(
        self,
        group: RoleBasedGroup,
        applied: Applied,
        orders: Mapping[str, list[WorkloadOrder]],
        coordinated: Container[str],
    ) -> Iterator[_Outlived]:
        for kind, reflector in self._stores.workloads.items():
            owned = [one for one in self._stores.owned(reflector, group) if not is_terminating(one)]
            present = {one.metadata.uid for one in owned}
            for one in owned:
                role = role_of(group.metadata.name, one, applied.roles)
                facts = applied.roles.get(role)
                if facts is not None:
                    if role not in coordinated and role in applied.waiting:
                        continue  # it is not known what the role should have
                    names = [each.name for each in orders[role] if each.role.workload.kind == kind]
                    if one.metadata.name in names:
                        continue
                    if role in coordinated:
                        known = (*facts.workloads, *facts.others)
                        if one.metadata.uid not in {each.uid for each in known}:
                            continue  # it has come since these orders were made
                    elif not (facts.can_spare_others(names) and _are_among(present, facts, names)):
                        continue
                yield WORKLOADS[kind], one

    def _others(self, group: RoleBasedGroup, applied: Applied) -> Iterator[_Outlived]:
        services = {
            service_name(group.metadata.name, name)
            for name, facts in applied.roles.items()
            if objects.has_service(facts)
        }
        for service in self._stores.owned(self._stores.services, group):
            if service.metadata.name not in services:
                yield SERVICES, service
        adapters = {
            workload_name(group.metadata.name, name)
            for name, facts in applied.roles.items()
            if facts.role.has_adapter
        }
        for adapter in self._stores.owned(self._stores.adapters, group):
            if adapter.metadata.name not in adapters:
                yield SCALING_ADAPTERS, adapter

    async def _delete(
        self, group: RoleBasedGroup, resource: Resource[Any], name: str, uid: str
    ) -> None:
        namespace = group.metadata.namespace
        try:
            found = await self._client.get(resource, name, namespace)
        except NotFound:
            return
        if found.metadata.uid != uid or controller_uid(found) != group.metadata.uid:
            return
        await self._client.delete(
            resource, name, namespace, propagation_policy="Background", uid=uid
        )
        self.writes += 1
        message = f"deleted {resource.kind} {name}: no role needs it any more"
        self._events.say(group, "Normal", "Removed", message)


def _are_among(present: Container[str], facts: RoleFacts, names: Container[str]) -> bool:
    """Whether the workloads that stay are still those of the facts, which are some requests old."""
    return all(one.uid in present for one in facts.workloads if one.name in names)
