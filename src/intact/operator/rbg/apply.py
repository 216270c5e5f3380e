"""Make what a group should have: its ConfigMap, and each role's Service and workloads.

What cannot be done of one role, or must wait, holds up no other.
"""

from collections.abc import Callable, Mapping

from intact.kube.errors import BadRequest, Forbidden, Invalid, PatchError, ServerError
from intact.kube.store import Key
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg import objects
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.facts import RbgFacts
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.server_side_apply import Applier, NotOurs
from intact.operator.rbg.stores import RbgStores
from intact.rollout.names import service_name
from intact.rollout.orders import WorkloadOrder
from intact.rollout.status import Work

_REFUSALS = (BadRequest, Forbidden, Invalid, ServerError, NotOurs, PatchError)
"""What stands against one object and not against all: a server does not know a field (500), an
admission policy forbids it."""


class RbgApply:
    def __init__(
        self,
        stores: RbgStores,
        applier: Applier,
        facts: RbgFacts,
        events: RbgEvents,
        *,
        ask_again: Callable[[Key], None],
    ) -> None:
        self._stores = stores
        self._applier = applier
        self._facts = facts
        self._events = events
        self._ask_again = ask_again

    async def apply(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        coordinated: Mapping[str, list[WorkloadOrder]],
    ) -> list[str]:
        """Returns what could not be done, for people."""
        problems: list[str] = []
        sizes = {name: work.desired for name, work in works.items()}
        try:
            live = self._stores.config_maps.store.get(group.metadata.namespace, group.metadata.name)
            await self._applier.apply(
                CONFIG_MAPS, objects.config_map(group, sizes), group.metadata.uid, live
            )
        except _REFUSALS as error:
            problems.append(str(error))
        for name, work in works.items():
            work.message = work.message or self._waits_for(group, work, works)
            if work.message:
                continue
            orders = coordinated.get(name) or [self._facts.order(group, work)]
            try:
                await self._apply_role(group, work, orders)
            except _REFUSALS as error:
                work.message = str(error)
                problems.append(f"{name}: {error}")
                self._events.say(group, "Warning", "RoleNotApplied", f"role {name}: {error}")
        if problems:
            self._ask_again((group.metadata.namespace, group.metadata.name))
        return problems

    async def _apply_role(
        self, group: RoleBasedGroup, work: Work, orders: list[WorkloadOrder]
    ) -> None:
        meta, role = group.metadata, work.role
        if objects.has_service(role):
            live_service = self._stores.services.store.get(
                meta.namespace, service_name(meta.name, role.name)
            )
            await self._applier.apply(
                SERVICES, objects.service(group, role), meta.uid, live_service
            )
        resource = WORKLOADS[role.workload.kind]
        for order in orders:
            live = self._applier.newest(
                resource,
                self._stores.workloads[resource.kind].store.get(meta.namespace, order.name),
                meta.namespace,
                order.name,
            )
            body = objects.workload(group, order, live, work.desired)
            await self._applier.apply(resource, body, meta.uid, live)

    def _waits_for(self, group: RoleBasedGroup, work: Work, works: Mapping[str, Work]) -> str:
        """Why the role cannot be started, or not be looked after, at this moment."""
        kind = work.role.workload.kind
        reflector = self._stores.workloads[kind]
        if not reflector.store.synced or not reflector.served:
            # An empty list of a kind that has come is no event.
            self._ask_again((group.metadata.namespace, group.metadata.name))
            return f"waits for the kind {kind} ({reflector.resource.full_name}), which is not here"
        if self._facts.workloads(group, work.role.name):
            return ""  # dependencies are an order of starting, not of updating
        missing = [
            name for name in work.role.dependencies if not self._facts.is_ready(group, works[name])
        ]
        return f"waits for {', '.join(missing)} to be ready" if missing else ""
