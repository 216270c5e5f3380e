"""Delete what a group owns and does not want any more."""

from collections.abc import Iterator, Mapping
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError, NotFound
from intact.kube.resources import SCALING_ADAPTERS, Resource
from intact.model.pod_state import is_terminating
from intact.model.rbg import RoleBasedGroup, ScalingAdapter
from intact.model.role_workload import RoleWorkload, Service
from intact.operator.rbg import objects
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.facts import RbgFacts
from intact.operator.rbg.resources import SERVICES, WORKLOADS
from intact.operator.rbg.stores import RbgStores
from intact.rollout.names import ROLE, service_name, workload_name
from intact.rollout.orders import WorkloadOrder
from intact.rollout.status import Work


class RbgCleanup:
    def __init__(
        self, client: Client, stores: RbgStores, facts: RbgFacts, events: RbgEvents
    ) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores
        self._facts = facts
        self._events = events

    async def clean_up(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        coordinated: Mapping[str, list[WorkloadOrder]],
    ) -> list[ApiError]:
        """Returns why something could not be deleted."""
        refusals: list[ApiError] = []
        for resource, one in self._outlived(group, works, coordinated):
            try:
                await self._delete(group, resource, one.metadata.name, one.metadata.uid)
            except ApiError as error:
                refusals.append(error)
        return refusals

    def _outlived(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        coordinated: Mapping[str, list[WorkloadOrder]],
    ) -> Iterator[tuple[Resource[Any], RoleWorkload | Service | ScalingAdapter]]:
        for kind, reflector in self._stores.workloads.items():
            for one in self._stores.owned(reflector, group):
                if is_terminating(one):
                    continue
                role = one.metadata.labels.get(ROLE, "")
                work = works.get(role)
                orders = coordinated.get(role)
                if work is not None and work.role.workload.kind == kind:
                    if orders is None and work.message:
                        continue  # it is not known what it should have
                    names = [order.name for order in orders or [self._facts.order(group, work)]]
                    if one.metadata.name in names:
                        continue
                    if orders is None and not self._facts.can_spare(group, work, names):
                        continue
                yield WORKLOADS[kind], one
        services = {
            service_name(group.metadata.name, name)
            for name, work in works.items()
            if objects.has_service(work.role)
        }
        for service in self._stores.owned(self._stores.services, group):
            if service.metadata.name not in services:
                yield SERVICES, service
        adapters = {workload_name(group.metadata.name, name) for name in works}
        for adapter in self._stores.owned(self._stores.adapters, group):
            if adapter.metadata.name not in adapters:
                yield SCALING_ADAPTERS, adapter

    async def _delete(
        self, group: RoleBasedGroup, resource: Resource[Any], name: str, uid: str
    ) -> None:
        try:
            await self._client.delete(
                resource,
                name,
                group.metadata.namespace,
                propagation_policy="Background",
                uid=uid,
            )
        except NotFound:
            return
        self.writes += 1
        self._events.say(
            group, "Normal", "Removed", f"{resource.kind} {name} belongs to no role any more"
        )
