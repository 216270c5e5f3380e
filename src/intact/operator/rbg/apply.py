"""Applies what a RoleBasedGroup should have: its ConfigMap, and each role's Service and workloads.

A role that is refused, or that must wait, holds up no other.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intact.kube.errors import (
    BadRequest,
    Forbidden,
    Invalid,
    PatchError,
    ServerError,
    TooManyRequests,
)
from intact.kube.store import key_of
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg import objects
from intact.operator.rbg.problems import RbgProblems
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.server_side_apply import Applier, NotOurs, TooSoon
from intact.operator.rbg.stores import RbgStores
from intact.rollout.facts import RoleFacts
from intact.rollout.names import service_name
from intact.rollout.orders import WorkloadOrder

log = logging.getLogger(__name__)

REFUSALS = (
    BadRequest,
    Forbidden,
    Invalid,
    TooManyRequests,
    ServerError,
    NotOurs,
    PatchError,
)
"""Errors of one object, not of all: the API server does not know a field (500), or an admission
policy forbids it, with a code of its choice."""


CONFIG_MAP = "/config-map"
"""The part of a RoleBasedGroup's problems. No role has such a name."""


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
    disputed: bool = False
    """Another client keeps changing an object, which Intact will repair a little later."""


class RbgApply:
    def __init__(self, stores: RbgStores, applier: Applier, problems: RbgProblems) -> None:
        self._stores = stores
        self._applier = applier
        self._problems = problems

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
        kind_missing = disputed = False
        problems: list[str] = []
        try:
            problems += await self._apply_config_map(group, roles)
        except TooSoon as error:
            log.warning("RoleBasedGroup %s/%s: %s", *key_of(group), error)
            disputed = True
        for name in roles:
            if name in blocked:
                continue
            if missing := self._missing_kind(after[name]):
                waiting[name], kind_missing = missing, True
            elif dependencies := _not_serving(after, name):
                waiting[name] = f"waits for {', '.join(dependencies)} to be ready"
            elif refused := self._problems.waiting(group, name):
                waiting[name] = refused.removeprefix(f"role {name}: ")
                problems.append(f"{name}: {waiting[name]}")
            else:
                try:
                    after[name], refused = await self._apply_role(group, after[name], orders[name])
                except TooSoon as error:
                    waiting[name], disputed = str(error), True
                    continue
                if refused:
                    waiting[name] = refused
                    problems.append(f"{name}: {refused}")
                    message = f"role {name}: {refused}"
                    self._problems.refused(group, name, "RoleNotApplied", message)
                else:
                    self._problems.solved(group, name)
        return Applied(after, waiting, problems, kind_missing, disputed)

    async def _apply_config_map(
        self, group: RoleBasedGroup, roles: Mapping[str, RoleFacts]
    ) -> list[str]:
        if refused := self._problems.waiting(group, CONFIG_MAP):
            return [refused]
        meta = group.metadata
        body = objects.config_map(group, roles)
        live = self._stores.config_maps.store.get(meta.namespace, meta.name)
        try:
            await self._applier.apply(CONFIG_MAPS, body, meta.uid, live)
        except REFUSALS as error:
            self._problems.refused(group, CONFIG_MAP, "RoleNotApplied", str(error))
            return [str(error)]
        self._problems.solved(group, CONFIG_MAP)
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
        except REFUSALS as error:
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
