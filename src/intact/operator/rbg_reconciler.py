"""The leader's work on groups: make what a group owns be as its spec says, and say how far it is.

Level-triggered: a reconcile looks at what is there and goes on from it, whatever happened before.
"""

import logging
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
)
from intact.kube.events import EventRecorder, EventType
from intact.kube.memory.patches import PatchError
from intact.kube.queue import Queue
from intact.kube.resources import PODS, RBGS, SCALING_ADAPTERS, Resource
from intact.kube.store import Key
from intact.model.event import ObjectReference
from intact.model.meta import Condition
from intact.model.pod import Pod
from intact.model.rbg import (
    BatchProgress,
    Coordination,
    CoordinationState,
    RbgStatus,
    RoleBasedGroup,
    RoleProgress,
)
from intact.model.role_workload import RoleWorkload
from intact.operator import rbg_objects as objects
from intact.operator.applying import Applier, NotOurs, Owned, TooSoon
from intact.operator.rbg_batches import batch_progress, misplaced
from intact.operator.rbg_moves import RbgMoves
from intact.operator.rbg_resources import (
    CONFIG_MAPS,
    LEADER_WORKER_SETS,
    SERVICES,
    WORKLOADS,
)
from intact.operator.rbg_revisions import RbgRevisions, role_hashes
from intact.operator.rbg_scaling import RbgScaling, Scaled
from intact.operator.rbg_status import (
    READY,
    Work,
    batch_states,
    coordination_state,
    invalid,
    status_of,
)
from intact.operator.rbg_stores import RbgStores
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    ROLLING_UPDATE,
    batching,
    of_type,
)
from intact.rollout.drive import drive
from intact.rollout.names import ROLE, role_revision_label, service_name, workload_name
from intact.rollout.orders import Driven, RoleFacts, WorkloadFacts, WorkloadOrder
from intact.rollout.progress import conditions as conditions_of
from intact.rollout.progress import refused
from intact.rollout.validation import unworkable

log = logging.getLogger(__name__)

GATHER = 0.05
"""Seconds for which events are gathered."""
_ASK_AGAIN = 2.0
"""Seconds after which it is tried again where a budget or somebody else's object is in the way."""
_REFUSALS = (BadRequest, Forbidden, Invalid, ServerError, NotOurs, PatchError)
"""What stands against one object and not against all: a server does not know a field (500), an
admission policy forbids it."""


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
        self.status_writes = 0
        self.other_writes = 0
        self._client = client
        self._stores = stores
        self._events = events
        self._now = now
        self._leads = leads
        self._queue = queue
        self._applier = Applier(client)
        self._revisions = RbgRevisions(client, stores)
        self._scaling = RbgScaling(client, stores)
        self._moves = RbgMoves(client)
        self._stored: dict[Key, RoleBasedGroup] = {}
        for resource in WORKLOADS.values():
            stores.workloads[resource.kind].store.subscribe(self._forget(resource))
        stores.services.store.subscribe(self._forget(SERVICES))
        stores.config_maps.store.subscribe(self._forget(CONFIG_MAPS))

    @property
    def writes(self) -> int:
        """Requests that write, of whatever kind."""
        parts = (self._applier, self._revisions, self._scaling, self._moves)
        return self.status_writes + self.other_writes + sum(part.writes for part in parts)

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

    async def reconcile(self, key: Key) -> None:
        if not self._leads():
            return
        group = self._group(key)
        if group is None or group.metadata.deletion_timestamp is not None or unworkable(group):
            await self._moves.let_go(self._stores.pods_in(key))
        if group is None or group.metadata.deletion_timestamp is not None:
            return  # the garbage collector takes what it owns
        try:
            await self._reconcile(group)
        except Conflict:
            self.mark(key)
        except TooSoon as error:
            log.warning("group %s/%s: %s", *key, error)
            self._queue.add_after(key, _ASK_AGAIN)
        except LookupError as error:
            self._say(group, "Warning", "TemplateMissing", str(error.args[0]))
            self._queue.add_after(key, _ASK_AGAIN)

    def _group(self, key: Key) -> RoleBasedGroup | None:
        """As it is known: our own last write may be ahead of the store."""
        seen, written = self._stores.group(key), self._stored.get(key)
        if seen is None or written is None:
            self._stored.pop(key, None)
            return seen
        versions = int(seen.metadata.resource_version), int(written.metadata.resource_version)
        if versions[0] >= versions[1] or seen.metadata.uid != written.metadata.uid:
            del self._stored[key]
            return seen
        return written

    async def _reconcile(self, group: RoleBasedGroup) -> None:
        if errors := unworkable(group):
            text = "; ".join(str(error) for error in errors)
            return await self._write(group, invalid(group, text, self._now()))
        scaled = await self._scaling.agree(group)
        for role, one in scaled.items():
            if one.changed and one.adapter is not None:
                message = f"role {role} is scaled to {one.adapter.spec.replicas} by its adapter"
                self._say(group, "Normal", "RoleScaled", message)
        if any(one.changed for one in scaled.values()):
            return None  # the group's own change brings us back
        revision, is_new = await self._revisions.keep(group)
        if is_new:
            self._say(group, "Normal", "RevisionCreated", f"its templates are {revision} now")
        works, batches = self._works(group, scaled)
        driven = {
            each.name: self._drive(group, each, works)
            for each in of_type(group.spec, ROLLING_UPDATE)
        }
        self._moves.settle(driven.values())
        problems = await self._apply(group, works, driven)
        progress: dict[str, dict[str, RoleProgress]] = {}
        # What could not be applied must not be taken for granted.
        applied = {role for role, work in works.items() if not work.message}
        await self._let_go(group, works.keys() - applied, driven.values())
        for name, each_driven in driven.items():
            refusals = await self._follow(group, each_driven, applied)
            progress[name] = refused(each_driven.progress, refusals)
        await self._clean_up(group, works, driven)
        await self._put_right(group, works, batches)
        await self._report(group, works, progress, batches, scaled, revision, problems)
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
            before = _state_before(group, each)
            progress = batch_progress(each, roles, wanted, pods, before.batches if before else None)
            batches[each.name] = progress
            for name, ratio in batching(each).ratios.items():
                works[name].desired = progress.total * ratio
                works[name].now = progress.started * ratio
        return works, batches

    def _workloads(self, group: RoleBasedGroup, role: str) -> list[tuple[str, RoleWorkload]]:
        """The role's workloads that are there, with their kinds."""
        found = []
        for kind, reflector in self._stores.workloads.items():
            for one in self._stores.owned(reflector, group):
                if one.metadata.labels.get(ROLE) == role:
                    meta = one.metadata
                    newest = self._applier.newest(WORKLOADS[kind], one, meta.namespace, meta.name)
                    found.append((kind, newest or one))
        return found

    def _drive(
        self, group: RoleBasedGroup, coordination: Coordination, works: Mapping[str, Work]
    ) -> Driven:
        facts = {name: self._facts(group, works[name]) for name in coordination.roles}
        return drive(group, coordination, facts, self._revisions.history(group), self._now())

    def _facts(self, group: RoleBasedGroup, work: Work) -> RoleFacts:
        label = role_revision_label(work.role.name)
        workloads = [
            WorkloadFacts(
                name=one.metadata.name,
                uid=one.metadata.uid,
                replicas=1 if one.spec.replicas is None else one.spec.replicas,
                revision=one.metadata.labels.get(label, ""),
                partition=one.spec.partition,
                observed=(observed := _is_observed(kind, one)),
                settled=observed and one.status.current_revision == one.status.update_revision,
                evicted=self._moves.evicted(one.metadata.uid),
                short=one.status.short,
            )
            for kind, one in self._workloads(group, work.role.name)
            if kind == work.role.workload.kind and one.metadata.deletion_timestamp is None
        ]
        return RoleFacts(work.role, work.now, work.revision, work.pods, workloads, now=self._now())

    def _order(self, group: RoleBasedGroup, work: Work) -> WorkloadOrder:
        """Of a role that updates by itself. A Deployment keeps the name that a coordinated rollout
        has left it with."""
        found = self._facts(group, work).workloads
        names = [one.name for one in sorted(found, key=lambda one: one.revision != work.revision)]
        name = workload_name(group.metadata.name, work.role.name)
        if names and name not in names:
            name = names[0]
        return WorkloadOrder(name, work.role, work.revision, work.now)

    async def _apply(
        self, group: RoleBasedGroup, works: Mapping[str, Work], driven: Mapping[str, Driven]
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
        coordinated = _orders(driven.values())
        for name, work in works.items():
            work.message = self._waits_for(group, work, works)
            if work.message:
                continue
            orders = coordinated.get(name) or [self._order(group, work)]
            try:
                await self._apply_role(group, work, orders)
            except _REFUSALS as error:
                work.message = str(error)
                problems.append(f"{name}: {error}")
                self._say(group, "Warning", "RoleNotApplied", f"role {name}: {error}")
        if problems:
            self._queue.add_after((group.metadata.namespace, group.metadata.name), _ASK_AGAIN)
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
            self._queue.add_after((group.metadata.namespace, group.metadata.name), _ASK_AGAIN)
            return f"waits for the kind {kind} ({reflector.resource.full_name}), which is not here"
        if self._workloads(group, work.role.name):
            return ""  # dependencies are an order of starting, not of updating
        missing = [
            name for name in work.role.dependencies if not self._is_ready(group, works[name])
        ]
        return f"waits for {', '.join(missing)} to be ready" if missing else ""

    def _is_ready(self, group: RoleBasedGroup, work: Work) -> bool:
        """A workload that nobody has looked at yet is not ready, whatever its counters say. Of one
        that comes in batches the present ones count: the next may wait for who is asking."""
        workloads = self._facts(group, work).workloads
        if not workloads or not all(one.observed for one in workloads):
            return False
        return work.status().ready_replicas >= work.now

    async def _let_go(
        self, group: RoleBasedGroup, unapplied: Container[str], driven: Iterable[Driven]
    ) -> None:
        """The pods that were held until now: their workloads will make them again as they should
        be."""
        evicted = {one.pod.metadata.uid for each in driven for one in each.evict}
        await self._moves.let_go(
            pod
            for pod in self._stores.pods_in((group.metadata.namespace, group.metadata.name))
            if pod.metadata.labels.get(ROLE) not in unapplied and pod.metadata.uid not in evicted
        )

    async def _follow(
        self, group: RoleBasedGroup, driven: Driven, applied: set[str]
    ) -> dict[str, str]:
        """Returns, by role, which budget is in the way."""
        key = (group.metadata.namespace, group.metadata.name)
        refusals = await self._moves.evict(driven, applied)
        await self._moves.relabel(group, driven)
        for kind, reason, message in driven.events:
            self._say(group, "Warning" if kind == "Warning" else "Normal", reason, message)
        if refusals:
            self._queue.add_after(key, _ASK_AGAIN)
        if driven.again_in is not None:
            self._queue.add_after(key, driven.again_in)
        if driven.rollback_to and await self._moves.roll_back(group, driven.rollback_to):
            message = f"stalled: going back to {driven.rollback_to}"
            self._say(group, "Warning", "RollbackStarted", message)
        return refusals

    async def _put_right(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        batches: Mapping[str, BatchProgress],
    ) -> None:
        """Have pods that are in the wrong batch come again in the right one."""
        for each in of_type(group.spec, AFFINITY_SCHEDULING):
            progress = batches[each.name]
            before = _state_before(group, each)
            known = before.batches.pending if before and before.batches else []
            for number in progress.pending:
                if number not in known:
                    message = f"{each.name}: batch {number} has a pod that finds no node"
                    self._say(group, "Warning", "BatchPending", message)
            for name in batching(each).ratios:
                work = works[name]
                for pod in misplaced(each, work.role, work.pods, progress.started):
                    await self._evict(group, pod)

    async def _evict(self, group: RoleBasedGroup, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid)
            self.other_writes += 1
        except (NotFound, Conflict):
            pass  # it has gone
        except ApiError as error:
            log.info("pod %s/%s cannot be evicted: %s", meta.namespace, meta.name, error)
            self._queue.add_after((meta.namespace, group.metadata.name), _ASK_AGAIN)

    async def _clean_up(
        self, group: RoleBasedGroup, works: Mapping[str, Work], driven: Mapping[str, Driven]
    ) -> None:
        """Delete what the group owns and does not want any more."""
        coordinated = _orders(driven.values())
        for kind, reflector in self._stores.workloads.items():
            for one in self._stores.owned(reflector, group):
                if one.metadata.deletion_timestamp is not None:
                    continue
                role = one.metadata.labels.get(ROLE, "")
                work = works.get(role)
                orders = coordinated.get(role)
                if work is not None and work.role.workload.kind == kind:
                    names = [order.name for order in orders or [self._order(group, work)]]
                    if one.metadata.name in names:
                        continue
                    if orders is None and not self._can_spare(group, work, names):
                        continue
                await self._delete(group, WORKLOADS[kind], one.metadata.name, one.metadata.uid)
        services = {
            service_name(group.metadata.name, name)
            for name, work in works.items()
            if objects.has_service(work.role)
        }
        for service in self._stores.owned(self._stores.services, group):
            if service.metadata.name not in services:
                await self._delete(group, SERVICES, service.metadata.name, service.metadata.uid)
        adapters = {workload_name(group.metadata.name, name) for name in works}
        for adapter in self._stores.owned(self._stores.adapters, group):
            meta = adapter.metadata
            if meta.name not in adapters:
                await self._delete(group, SCALING_ADAPTERS, meta.name, meta.uid)

    def _can_spare(self, group: RoleBasedGroup, work: Work, names: list[str]) -> bool:
        """Whether the workloads of these names serve without the role's others."""
        kept = [one for one in self._facts(group, work).workloads if one.name in names]
        updated = work.status().updated_ready_replicas
        return bool(kept) and all(one.observed for one in kept) and updated >= work.now

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
        self.other_writes += 1
        self._say(group, "Normal", "Removed", f"{resource.kind} {name} belongs to no role any more")

    async def _report(
        self,
        group: RoleBasedGroup,
        works: Mapping[str, Work],
        rollouts: Mapping[str, dict[str, RoleProgress]],
        batches: Mapping[str, BatchProgress],
        scaled: Mapping[str, Scaled],
        revision: str,
        problems: list[str],
    ) -> None:
        now = self._now()
        statuses = {name: work.status() for name, work in works.items()}
        states = []
        for each in group.spec.coordination:
            before = _state_before(group, each)
            found = batches.get(each.name)
            if found is not None:
                progress = batch_states(batching(each).ratios, statuses, found, before, now)
            else:
                progress = rollouts[each.name]
            states.append(coordination_state(each, progress, found, before, now))
        status = status_of(group, works, states, conditions_of(rollouts), revision, problems, now)
        await self._write(group, status)
        for role in group.spec.roles:
            replicas = statuses[role.name].replicas
            await self._scaling.report(group, role, scaled[role.name], replicas)

    async def _write(self, group: RoleBasedGroup, status: RbgStatus) -> None:
        if status == group.status or not self._leads():
            return
        meta = group.metadata
        body = {
            "apiVersion": RBGS.api_version,
            "kind": RBGS.kind,
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "resourceVersion": meta.resource_version,
            },
            "status": status,
        }
        try:
            stored = await self._client.update(
                RBGS, body, meta.name, meta.namespace, subresource="status"
            )
        except NotFound:
            return
        self.status_writes += 1
        self._stored[meta.namespace, meta.name] = stored
        for condition in status.conditions:
            if condition.type == READY:  # a rollout tells its own
                self._say_transition(group, condition)

    def _say_transition(self, group: RoleBasedGroup, condition: Condition) -> None:
        before = next((one for one in group.status.conditions if one.type == condition.type), None)
        first = before is None and condition.status == "False"
        if first or (before is not None and before.status == condition.status):
            return
        kind: EventType = "Normal" if condition.status == "True" else "Warning"
        self._say(group, kind, condition.reason, condition.message)

    def _say(self, group: RoleBasedGroup, type_: EventType, reason: str, message: str) -> None:
        meta = group.metadata
        reference = ObjectReference(
            api_version=RBGS.api_version,
            kind=RBGS.kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )
        self._events.record(reference, type_, reason, message)


def _orders(driven: Iterable[Driven]) -> dict[str, list[WorkloadOrder]]:
    """By role."""
    return {name: orders for each in driven for name, orders in each.orders.items()}


def _is_observed(kind: str, workload: RoleWorkload) -> bool:
    """Whether its controller has seen its present spec. Older ones of LeaderWorkerSets do not say:
    their pods have to."""
    seen = workload.status.observed_generation
    if kind == LEADER_WORKER_SETS.kind and not seen:
        return True
    return seen >= workload.metadata.generation


def _state_before(group: RoleBasedGroup, coordination: Coordination) -> CoordinationState | None:
    states = group.status.coordination_state
    return next((one for one in states if one.name == coordination.name), None)
