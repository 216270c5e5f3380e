"""The leader's work on groups: make what a group owns be as its spec says, and say how far it is.

Level-triggered: a reconcile looks at what is there and goes on from it, whatever happened before.
Its steps are modules of their own: scaling, revisions, the rollout plan, apply, moves of pods,
clean-up, batches put right, reporting.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError, Conflict
from intact.kube.events import EventRecorder
from intact.kube.queue import Queue
from intact.kube.resources import Resource
from intact.kube.store import Key
from intact.model.pod_state import is_terminating
from intact.model.rbg import BatchProgress, Coordination, RoleBasedGroup, RoleProgress
from intact.operator.rbg.apply import RbgApply
from intact.operator.rbg.batch_repair import BatchRepair
from intact.operator.rbg.cleanup import RbgCleanup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.evictions import RbgEvictions
from intact.operator.rbg.facts import RbgFacts
from intact.operator.rbg.reporting import RbgReporting
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.revisions import RbgRevisions, role_hashes
from intact.operator.rbg.scaling import RbgScaling, Scaled
from intact.operator.rbg.server_side_apply import Applier, Owned, TooSoon
from intact.operator.rbg.stores import RbgStores
from intact.rollout.batch_progress import batch_progress
from intact.rollout.coordinations import AFFINITY_SCHEDULING, ROLLING_UPDATE, batching, of_type
from intact.rollout.orders import RolloutStep, WorkloadOrder
from intact.rollout.progress import refused
from intact.rollout.rolling_update import drive
from intact.rollout.status import Work, invalid, state_before
from intact.rollout.validation import unworkable

log = logging.getLogger(__name__)

GATHER = 0.05
"""Seconds for which events are gathered."""
_ASK_AGAIN = 2.0
"""Seconds after which it is tried again where a budget or somebody else's object is in the way."""


class RbgReconciler:
    def __init__(
        self,
        client: Client,
        stores: RbgStores,
        events: EventRecorder,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        queue: Queue[Key],
    ) -> None:
        self._stores = stores
        self._events = RbgEvents(events)
        self._now = now
        self._leads = leads
        self._queue = queue
        self._applier = Applier(client)
        self._revisions = RbgRevisions(client, stores)
        self._scaling = RbgScaling(client, stores)
        self._moves = RbgEvictions(client)
        self._facts = RbgFacts(stores, self._applier, self._moves, now=now)
        self._apply = RbgApply(
            stores, self._applier, self._facts, self._events, ask_again=self._ask_again
        )
        self._cleanup = RbgCleanup(client, stores, self._facts, self._events)
        self._batch_repair = BatchRepair(client, self._events, ask_again=self._ask_again)
        self._reporting = RbgReporting(
            client, stores, self._scaling, self._events, now=now, leads=leads
        )
        for resource in WORKLOADS.values():
            stores.workloads[resource.kind].store.subscribe(self._forget(resource))
        stores.services.store.subscribe(self._forget(SERVICES))
        stores.config_maps.store.subscribe(self._forget(CONFIG_MAPS))

    @property
    def writes(self) -> int:
        """Requests that write, of whatever kind."""
        parts = (
            self._applier,
            self._revisions,
            self._scaling,
            self._moves,
            self._cleanup,
            self._batch_repair,
            self._reporting,
        )
        return sum(part.writes for part in parts)

    def _forget(self, resource: Resource[Any]) -> Callable[..., None]:
        def changed(old: Owned | None, new: Owned | None) -> None:
            if new is None and old is not None:
                self._applier.gone(resource, old.metadata.namespace, old.metadata.name)
                self._moves.forget(old.metadata.uid)

        return changed

    def take_over(self) -> None:
        """Others may have led meanwhile: what was done before is in the stores."""
        self._moves.forget_all()

    def mark(self, key: Key) -> None:
        """Something about the group has changed: look at it soon."""
        self._queue.add_after(key, GATHER)

    def _ask_again(self, key: Key) -> None:
        self._queue.add_after(key, _ASK_AGAIN)

    async def reconcile(self, key: Key) -> None:
        if not self._leads():
            return
        group = self._reporting.group(key)
        if group is None or is_terminating(group) or unworkable(group):
            await self._moves.let_go(self._stores.pods_in(key))
        if group is None or is_terminating(group):
            return  # the garbage collector takes what it owns
        try:
            await self._reconcile(group)
        except Conflict:
            self.mark(key)
        except TooSoon as error:
            log.warning("group %s/%s: %s", *key, error)
            self._ask_again(key)

    async def _reconcile(self, group: RoleBasedGroup) -> None:
        if errors := unworkable(group):
            text = "; ".join(str(error) for error in errors)
            return await self._reporting.write(group, invalid(group, text, self._now()))
        scaled = await self._scaling.agree(group)
        for role, one in scaled.items():
            if one.changed is not None:
                message = f"role {role} is scaled to {one.replicas} by its adapter"
                self._events.say(group, "Normal", "RoleScaled", message)
                self._reporting.remember(one.changed)
                return None  # the group's own change brings us back
        revision, is_new = await self._revisions.keep(group)
        if is_new:
            self._events.say(
                group, "Normal", "RevisionCreated", f"its templates are {revision} now"
            )
        works, batches = self._works(group, scaled)
        driven = self._drive_all(group, works)
        coordinated = _orders(driven.values())
        self._moves.settle(driven.values())
        problems = await self._apply.apply(group, works, coordinated)
        progress: dict[str, dict[str, RoleProgress]] = {}
        # What could not be applied must not be taken for granted.
        applied = {role for role, work in works.items() if not work.message}
        unapplied = [work for work in works.values() if work.message]
        await self._let_go(group, unapplied, driven.values())
        # What is refused of one thing holds up no other; it is tried again later and later.
        failures = [one.error for one in scaled.values() if one.error is not None]
        for name, each_driven in driven.items():
            refusals = await self._follow(group, each_driven, applied)
            failures += await self._moves.relabel(group, each_driven)
            progress[name] = refused(each_driven.progress, refusals)
        failures += await self._cleanup.clean_up(group, works, coordinated)
        failures += await self._revisions.trim(group)
        await self._batch_repair.put_right(group, works, batches)
        await self._reporting.report(group, works, progress, batches, scaled, revision, problems)
        if failures:
            raise failures[0]
        return None

    def _works(
        self, group: RoleBasedGroup, scaled: Mapping[str, Scaled]
    ) -> tuple[dict[str, Work], dict[str, BatchProgress]]:
        """Each role with what it should have, in its batches."""
        roles = {role.name: role for role in group.spec.roles}
        pods = {name: self._stores.pods_of(group, name) for name in roles}
        hashes = role_hashes(group)
        wanted = {name: one.replicas for name, one in scaled.items()}
        works = {
            name: Work(role, wanted[name], wanted[name], hashes[name], pods[name])
            for name, role in roles.items()
        }
        batches = {}
        for each in of_type(group.spec, AFFINITY_SCHEDULING):
            progress = batch_progress(each, roles, wanted, pods, self._released(group, each))
            batches[each.name] = progress
            for name, ratio in batching(each).ratios.items():
                works[name].desired = progress.total * ratio
                works[name].now = progress.started * ratio
        return works, batches

    def _released(self, group: RoleBasedGroup, coordination: Coordination) -> int:
        """Batches that have been started, which the workloads of all its roles can tell as well:
        they are scaled before it is stored."""
        before = state_before(group, coordination)
        stored = before.batches.started if before and before.batches else 0
        scaled = []
        for name, ratio in batching(coordination).ratios.items():
            found = (one.spec.replicas or 0 for _, one in self._facts.workloads(group, name))
            scaled.append(max(found, default=0) // ratio)
        return max(stored, min(scaled, default=0))

    def _drive_all(
        self, group: RoleBasedGroup, works: Mapping[str, Work]
    ) -> dict[str, RolloutStep]:
        """By coordination. The roles of one that cannot be driven stay as they are."""
        driven = {}
        for each in of_type(group.spec, ROLLING_UPDATE):
            try:
                driven[each.name] = self._drive(group, each, works)
            except LookupError as error:
                message = str(error.args[0])
                self._events.say(group, "Warning", "TemplateMissing", message)
                self._ask_again((group.metadata.namespace, group.metadata.name))
                for name in each.roles:
                    works[name].message = message
        return driven

    def _drive(
        self, group: RoleBasedGroup, coordination: Coordination, works: Mapping[str, Work]
    ) -> RolloutStep:
        facts = {name: self._facts.of(group, works[name]) for name in coordination.roles}
        return drive(group, coordination, facts, self._revisions.history(group), self._now())

    async def _let_go(
        self, group: RoleBasedGroup, unapplied: Iterable[Work], driven: Iterable[RolloutStep]
    ) -> None:
        """The pods that were held until now: their workloads will make them again as they should
        be, or not at all."""
        evicted = {one.pod.metadata.uid for each in driven for one in each.evict}
        to_come = {one.uid for work in unapplied for one in self._facts.of(group, work).workloads}
        await self._moves.let_go(
            pod
            for pod in self._stores.pods_in((group.metadata.namespace, group.metadata.name))
            if pod.metadata.uid not in evicted
            and not any(owner.uid in to_come for owner in pod.metadata.owner_references)
        )

    async def _follow(
        self, group: RoleBasedGroup, driven: RolloutStep, applied: set[str]
    ) -> dict[str, str]:
        """Returns, by role, which budget is in the way."""
        key = (group.metadata.namespace, group.metadata.name)
        refusals = await self._moves.evict(driven, applied)
        for kind, reason, message in driven.events:
            self._events.say(group, "Warning" if kind == "Warning" else "Normal", reason, message)
        if refusals:
            self._ask_again(key)
        if driven.again_in is not None:
            self._queue.add_after(key, driven.again_in)
        if driven.rollback_to:
            await self._roll_back(group, driven.rollback_to)
        return refusals

    async def _roll_back(self, group: RoleBasedGroup, revision: str) -> None:
        try:
            if not await self._moves.roll_back(group, revision):
                return
        except Conflict:
            raise
        except ApiError as error:  # the revision is not there any more, a policy forbids it
            message = f"stalled, and cannot go back to {revision}: {error}"
            self._events.say(group, "Warning", "RollbackFailed", message)
            self._ask_again((group.metadata.namespace, group.metadata.name))
            return
        message = f"stalled: going back to {revision}"
        self._events.say(group, "Warning", "RollbackStarted", message)


def _orders(driven: Iterable[RolloutStep]) -> dict[str, list[WorkloadOrder]]:
    """By role."""
    return {name: orders for each in driven for name, orders in each.orders.items()}
