"""Puts pods into their batches: labels those that are where their batch is, and evicts the others,
so that they come back in the right place.

Which of them, and when, is `rollout.batch_moves`. Evictions go through every budget.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from intact.kube.client import Client
from intact.kube.errors import ApiError, Conflict, NotFound
from intact.kube.resources import PODS
from intact.kube.store import Key, key_of
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.rbg import DEPLOYMENT, BatchProgress, Coordination, RoleBasedGroup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.pods.domains import Domains, read_domains
from intact.operator.rbg.pods.placement import batch_metadata
from intact.rollout.batch_moves import NO_MOVES, Moves, Unit, limits_of, moves, units_of
from intact.rollout.batch_progress import misplaced
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, is_of_nodes, of_type
from intact.rollout.facts import RoleFacts
from intact.rollout.names import AWAITED


@dataclass(frozen=True, slots=True)
class Repaired:
    batches: Mapping[str, BatchProgress]
    """By coordination. Pending are batches that no move can help."""
    waiting: Mapping[str, str]
    """By coordination, what it waits for while pods move."""
    again: bool = False
    """Something was refused, and has to be tried again."""


class BatchRepair:
    def __init__(self, client: Client, events: RbgEvents) -> None:
        self.writes = 0
        self._client = client
        self._events = events
        self._evicted: dict[Key, set[str]] = {}
        """By RoleBasedGroup, UIDs of pods that the store may not have seen going yet."""

    async def put_right(
        self,
        group: RoleBasedGroup,
        roles: Mapping[str, RoleFacts],
        batches: Mapping[str, BatchProgress],
        leaving: Collection[str] = (),
    ) -> Repaired:
        """`leaving` are UIDs of pods that a rollout evicts at the same time."""
        found: dict[str, BatchProgress] = {}
        waiting: dict[str, str] = {}
        again = False
        self._forget_seen(group, roles)
        for each in of_type(group.spec, AFFINITY_SCHEDULING):
            progress = batches[each.name]
            planned, refusals = await self._move(group, each, roles, progress, leaving)
            for name in batching(each).ratios:
                for pod in misplaced(each, roles[name].role, roles[name].pods, progress.started):
                    if text := await self._evict(group, pod):
                        refusals[name] = text
            again |= bool(refusals)
            found[each.name] = msgspec.structs.replace(progress, pending=list(planned.stuck))
            self._say(group, each, found[each.name])
            if text := "; ".join(filter(None, [planned.waiting, *refusals.values()])):
                waiting[each.name] = text
        return Repaired(found, waiting, again)

    async def _move(
        self,
        group: RoleBasedGroup,
        coordination: Coordination,
        roles: Mapping[str, RoleFacts],
        progress: BatchProgress,
        leaving: Collection[str],
    ) -> tuple[Moves, dict[str, str]]:
        """Returns what was planned at last, and what refused it, by role."""
        key, of_nodes = batching(coordination).topology_key, is_of_nodes(coordination)
        limits = limits_of(group, coordination, progress.total)
        domains = Domains(key, ())

        def units() -> list[Unit]:
            gone = {*leaving, *self._evicted.get(key_of(group), ())}
            return [
                unit
                for name in limits
                for unit in units_of(
                    coordination, roles[name], progress.started, domains.of_node, gone
                )
            ]

        there = units()
        at_rest = all(one.gone or (one.placed and not one.unschedulable) for one in there)
        if at_rest and not of_nodes:
            return NO_MOVES, {}  # their own affinity holds them together
        if not at_rest:
            nodes = {pod.spec.node_name for one in there for pod in one.pods}
            domains = await read_domains(self._client, key, nodes - {""})
        refusals: dict[str, str] = {}
        planned = moves(coordination, units(), progress.started, limits, domains.usable)
        await self._adopt(group, coordination, roles, planned.adopt)
        while refused := await self._follow(group, planned):
            refusals |= refused
            # Perhaps a pod of another role may go first.
            planned = moves(
                coordination, units(), progress.started, limits, domains.usable, refusals
            )
        return planned, refusals

    async def _follow(self, group: RoleBasedGroup, planned: Moves) -> dict[str, str]:
        """Carry out the evictions. Returns what refused them, by role."""
        for pod in planned.awaited:
            if pod.metadata.labels.get(AWAITED) != pod.metadata.uid:
                await self._patch(pod, {"labels": {AWAITED: pod.metadata.uid}})
        refused: dict[str, str] = {}
        for role, pod in planned.evict:
            if role not in refused and (text := await self._evict(group, pod)):
                refused[role] = text
        return refused

    def _say(
        self, group: RoleBasedGroup, coordination: Coordination, progress: BatchProgress
    ) -> None:
        before = group.status.coordination_named(coordination.name)
        known = before.batches.pending if before and before.batches else []
        for number in progress.pending:
            if number not in known:
                message = (
                    f"coordination {coordination.name}: the scheduler finds no node for a pod of "
                    f"batch {number}"
                )
                self._events.say(group, "Warning", "BatchPending", message)

    async def _adopt(
        self,
        group: RoleBasedGroup,
        coordination: Coordination,
        roles: Mapping[str, RoleFacts],
        adopt: Mapping[str, int],
    ) -> None:
        """Label running pods with the batch that they are in."""
        for name in batching(coordination).ratios:
            costs = roles[name].role.kind == DEPLOYMENT
            for pod in roles[name].pods:
                if (number := adopt.get(pod.metadata.name)) is None or is_gone(pod):
                    continue
                await self._patch(pod, batch_metadata(group, coordination, number, costs=costs))

    async def _patch(self, pod: Pod, metadata: Mapping[str, object]) -> None:
        body = {"metadata": metadata}
        with suppress(NotFound):
            await self._client.patch(PODS, body, pod.metadata.name, pod.metadata.namespace)
            self.writes += 1

    def _forget_seen(self, group: RoleBasedGroup, roles: Mapping[str, RoleFacts]) -> None:
        stay = {pod.metadata.uid for one in roles.values() for pod in one.pods if not is_gone(pod)}
        if left := self._evicted.pop(key_of(group), set()) & stay:
            self._evicted[key_of(group)] = left

    async def _evict(self, group: RoleBasedGroup, pod: Pod) -> str:
        """What refuses it; empty if the pod goes."""
        meta = pod.metadata
        try:
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid)
        except (NotFound, Conflict):
            return ""  # it is gone already
        except ApiError as error:
            return f"the eviction of pod {meta.name}: {error}"
        self._evicted.setdefault(key_of(group), set()).add(meta.uid)
        self.writes += 1
        return ""
