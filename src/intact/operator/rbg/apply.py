"""Applies what a RoleBasedGroup should have: its ConfigMap, and each role's Service and workloads.

A role that is refused, or that must wait, holds up no other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intact.kube.errors import BadRequest, Forbidden, Invalid, PatchError, ServerError
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg import objects
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.server_side_apply import Applier, NotOurs
from intact.operator.rbg.stores import RbgStores
from intact.rollout.facts import RoleFacts
from intact.rollout.names import service_name
from intact.rollout.orders import WorkloadOrder

_REFUSALS = (BadRequest, Forbidden, Invalid, ServerError, NotOurs, PatchError)
"""Errors of one object, not of all: the API server does not know a field (500), or an admission
policy forbids it."""


@dataclass(frozen=True, slots=True)
class Applied:
    roles: Mapping[str, RoleFacts]
    """The facts, with the API server's answers."""
    waiting: Mapping[str, str]
    """The roles that were not applied, and what each of them waits for."""
    problems: Sequence[str] = ()
    """What was refused."""
    kind_missing: bool = False
    """A kind of workload is not served. It may come without an event: an empty list is none."""


class RbgApply:
    def __init__(self, stores: RbgStores, applier: Applier, events: RbgEvents) -> None:
        self._stores = stores
        self._applier = applier
        self._events = events

    async def apply(
        self,
        group: RoleBasedGroup,
        roles: Mapping[str, RoleFacts],
        orders: Mapping[str, list[WorkloadOrder]],
        blocked: Mapping[str, str],
    ) -> Applied:
        """`blocked` are roles that no order could be made for, and why."""
        after = dict(roles)
        waiting = dict(blocked)
        problems = await self._apply_config_map(group, roles)
        kind_missing = False
        for name in roles:
            if name in blocked:
                continue
            if missing := self._missing_kind(after[name]):
                waiting[name], kind_missing = missing, True
            elif dependencies := _not_serving(after, name):
                waiting[name] = f"waits for {', '.join(dependencies)} to be ready"
            else:
                after[name], refused = await self._apply_role(group, after[name], orders[name])
                if refused:
                    waiting[name] = refused
                    problems.append(f"{name}: {refused}")
                    message = f"role {name}: {refused}"
                    self._events.say(group, "Warning", "RoleNotApplied", message)
        return Applied(after, waiting, problems, kind_missing)

    async def _apply_config_map(
        self, group: RoleBasedGroup, roles: Mapping[str, RoleFacts]
    ) -> list[str]:
        meta = group.metadata
        body = objects.config_map(group, roles)
        live = self._stores.config_maps.store.get(meta.namespace, meta.name)
        try:
            await self._applier.apply(CONFIG_MAPS, body, meta.uid, live)
        except _REFUSALS as error:
            return [str(error)]
        return []

    async def _apply_role(
        self, group: RoleBasedGroup, facts: RoleFacts, orders: Sequence[WorkloadOrder]
    ) -> tuple[RoleFacts, str]:
        """Returns the facts with the API server's answers, and why one was refused."""
        meta, role = group.metadata, facts.role
        try:
            if objects.has_service(facts):
                service = self._stores.services.store.get(
                    meta.namespace, service_name(meta.name, role.name)
                )
                body = objects.service(group, facts)
                await self._applier.apply(SERVICES, body, meta.uid, service)
            for order in orders:
                resource = WORKLOADS[order.role.workload.kind]
                seen = self._stores.workloads[resource.kind].store.get(meta.namespace, order.name)
                live = self._applier.newest(resource, seen, meta.namespace, order.name)
                body = objects.workload(group, order, live, facts.size)
                answer = await self._applier.apply(resource, body, meta.uid, live)
                facts = facts.with_answer(answer, resource.kind)
        except _REFUSALS as error:
            return facts, str(error)
        return facts, ""

    def _missing_kind(self, facts: RoleFacts) -> str:
        kind = facts.role.workload.kind
        reflector = self._stores.workloads[kind]
        if reflector.store.synced and reflector.served:
            return ""
        return (
            f"waits for the kind {kind} ({reflector.resource.full_name}), "
            "which the API server does not serve"
        )


def _not_serving(roles: Mapping[str, RoleFacts], name: str) -> list[str]:
    """The dependencies that the role waits for. They order starts of roles, not their updates."""
    if roles[name].is_made:
        return []
    return [one for one in roles[name].role.dependencies if not roles[one].is_serving()]
