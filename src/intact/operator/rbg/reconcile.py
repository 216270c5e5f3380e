"""The leader's work on RoleBasedGroups: make what a RoleBasedGroup owns match its spec, and report
how far it is.

Level-triggered: a reconcile reads what is there and continues from it, whatever happened before. It
passes frozen values from step to step, in this order:

| step | in | out |
|---|---|---|
| `server_side_apply` | writes without an answer | what became of them |
| `strays` | its pods | workloads that have lost their labels get them back |
| `scaling` | the RoleBasedGroup | replicas that each role should have |
| `revisions` | its templates | why they could not be stored |
| `facts` | stores, own writes, evicted pods | `RoleFacts`, `BatchProgress` |
| `rollout.rolling_update` | facts, history | a `RolloutStep` for each coordination |
| `apply` | facts, orders | `Applied`: facts with answers, waiting roles, problems |
| `evictions`, `rollback` | steps | refusals by role |
| `cleanup`, `revisions`, `pod_labels`, `batch_repair` | what was applied | refusals |
| `reporting`, `scaling` | all of these | the status |
"""

import logging
import random
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError, BadRequest, Conflict, Forbidden, Invalid
from intact.kube.events import EventRecorder
from intact.kube.queue import Queue
from intact.kube.resources import Resource
from intact.kube.store import Key, key_of
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.rbg import Coordination, RoleBasedGroup, RoleProgress
from intact.operator.rbg.apply import CONFIG_MAP, REFUSALS, Applied, RbgApply
from intact.operator.rbg.cleanup import RbgCleanup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.facts import read_facts
from intact.operator.rbg.pods.batch_repair import BatchRepair
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.pods.evictions import RbgEvictions
from intact.operator.rbg.pods.pod_labels import PodLabels
from intact.operator.rbg.problems import RbgProblems
from intact.operator.rbg.reporting import RbgReporting
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, WORKLOADS
from intact.operator.rbg.revisions import RbgRevisions, name_of
from intact.operator.rbg.rollback import ROLLBACK, roll_back_stalled
from intact.operator.rbg.scaling import RbgScaling, Scaled
from intact.operator.rbg.server_side_apply import Applier, Owned, TooSoon
from intact.operator.rbg.stores import RbgStores
from intact.operator.rbg.strays import RbgStrays
from intact.operator.rbg.templates import patch_errors, resolved
from intact.rollout.coordinations import ROLLING_UPDATE, of_type
from intact.rollout.facts import RoleFacts
from intact.rollout.orders import RolloutStep, WorkloadOrder, own_order
from intact.rollout.progress import refused
from intact.rollout.rolling_update import next_step, next_step_of_change
from intact.rollout.spec.validation import in_words, unworkable
from intact.rollout.status import invalid, next_status, role_status

log = logging.getLogger(__name__)

GATHER = 0.05
"""Seconds for which events are gathered."""
_ASK_AGAIN = 2.0
"""Seconds until the next try, after a refusal by a budget. `problems` has the other refusals."""

_REVISION = "/revision"
_OTHERS = "/others"
"""Parts of a RoleBasedGroup's problems. No role has such a name."""


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
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._stores = stores
        self._events = RbgEvents(events)
        self._now = now
        self._leads = leads
        self._queue = queue
        # What this process remembers beside the stores: its own answers, and evicted pods.
        self._applier = Applier(client)
        self._evicted = EvictedPods()
        self._strays = RbgStrays(client, stores, self._applier)
        self._revisions = RbgRevisions(client, stores)
        self._scaling = RbgScaling(client, stores)
        self._evictions = RbgEvictions(client, self._evicted)
        self._problems = RbgProblems(self._events, rng)
        self._apply = RbgApply(stores, self._applier, self._problems)
        self._cleanup = RbgCleanup(client, stores, self._events)
        self._batch_repair = BatchRepair(client, self._events)
        self._pod_labels = PodLabels(client)
        self._reporting = RbgReporting(client, stores, self._events, leads=leads)
        for resource in WORKLOADS.values():
            stores.workloads[resource.kind].store.subscribe(self._forget(resource))
        stores.services.store.subscribe(self._forget(SERVICES))
        stores.config_maps.store.subscribe(self._forget(CONFIG_MAPS))
        stores.pods.store.subscribe(self._evicted.seen)

    @property
    def writes(self) -> int:
        """Requests that write, of all kinds."""
        parts = (
            self._applier,
            self._strays,
            self._revisions,
            self._scaling,
            self._evictions,
            self._cleanup,
            self._batch_repair,
            self._pod_labels,
            self._reporting,
        )
        return sum(part.writes for part in parts)

    def _forget(self, resource: Resource[Any]) -> Callable[..., None]:
        def changed(old: Owned | None, new: Owned | None) -> None:
            if new is None and old is not None:
                self._applier.gone(resource, old.metadata.namespace, old.metadata.name)
                self._evicted.forget(old.metadata.uid)

        return changed

    def take_over(self) -> None:
        """Another process may have led meanwhile: what was evicted before is in the stores."""
        self._evicted.forget_all()

    def mark(self, key: Key) -> None:
        """Something of the RoleBasedGroup has changed: reconcile it soon."""
        self._queue.add_after(key, GATHER)

    async def reconcile(self, key: Key) -> None:
        if not self._leads():
            return
        group = self._stores.newest_group(key)
        if group is None or is_terminating(group):
            self._problems.forget(key)
            # The garbage collector deletes what it owns.
            _raise_first(await self._evictions.let_go(self._stores.pods_in(key)))
            return
        try:
            if errors := [*unworkable(group), *patch_errors(group)]:
                refusals = await self._evictions.let_go(self._stores.pods_in(key))
                await self._reporting.write(group, invalid(group, in_words(errors), self._now()))
                _raise_first(refusals)
            else:
                await self._reconcile(resolved(group))
        except Conflict:
            self._stores.forget_written(key)
            self.mark(key)
        except TooSoon as error:
            log.warning("RoleBasedGroup %s/%s: %s", *key, error)
            self._queue.add_after(key, _ASK_AGAIN)

    async def _reconcile(self, group: RoleBasedGroup) -> None:
        self._problems.keep(group, _parts(group))
        await self._applier.catch_up(group.metadata.uid)
        if await self._strays.bring_back(group):
            return  # the watch brings them, and the RoleBasedGroup with them
        scaled = await self._scaling.agree(group)
        if self._was_scaled(group, scaled):
            return  # its own change brings it back
        unstored = await self._keep_revision(group)
        facts = read_facts(
            self._stores,
            self._applier,
            group,
            {name: one.replicas for name, one in scaled.items()},
            self._evicted,
            self._now(),
        )
        steps, blocked = self._next_steps(group, facts.roles, unstored)
        changes = self._changes(group, facts.roles, unstored, steps.values(), blocked)
        every = [*steps.values(), *changes]
        orders = _orders(group, facts.roles, every, blocked)
        for uid in (uid for step in every for uid in step.settled):
            self._evicted.forget(uid)
        applied = await self._apply.apply(group, facts.roles, orders, blocked)
        # A refusal holds up nothing else; the queue retries it with backoff.
        refusals = [one.error for one in scaled.values() if one.error is not None]
        refusals += await self._evictions.let_go(self._free(group, applied, every))
        self._ask_again(group, applied.kind_missing or applied.disputed)
        self._try_again(group)
        rollouts: dict[str, dict[str, RoleProgress]] = {}
        for name, step in steps.items():
            refused_roles, try_again = await self._follow(group, step, applied)
            refusals += await self._evictions.relabel(group.metadata.namespace, step.relabel)
            rollouts[name] = refused(step.progress, {**applied.waiting, **refused_roles})
            self._ask_again(group, try_again)
        for step in changes:
            refused_roles, try_again = await self._follow(group, step, applied)
            for name in step.orders:
                if why := refused_roles.get(name):
                    message = f"role {name} cannot change its kind further: {why}"
                    self._problems.tell(group, _evicted(name), "ChangeOfKindRefused", message)
                else:
                    self._problems.solved(group, _evicted(name))
            self._ask_again(group, try_again)
        coordinated = {role for step in every for role in step.orders}
        refusals += await self._cleanup.clean_up(group, applied, orders, coordinated)
        refusals += await self._revisions.trim(group)
        refusals += await self._pod_labels.put_right(facts.roles, self._revisions.history(group))
        leaving = {one.pod.metadata.uid for step in steps.values() for one in step.evict}
        repaired = await self._batch_repair.put_right(group, facts.roles, facts.batches, leaving)
        self._ask_again(group, repaired.again)
        roles = [
            role_status(one, applied.waiting.get(name, "")) for name, one in facts.roles.items()
        ]
        problems = [*([unstored] if unstored else []), *applied.problems]
        status = next_status(
            group,
            roles,
            rollouts,
            repaired.batches,
            name_of(group),
            problems,
            self._now(),
            repaired.waiting,
            stored=not unstored,
        )
        await self._reporting.write(group, status)
        for role, one in zip(group.spec.roles, roles, strict=True):
            await self._scaling.report(group, role, scaled[role.name], one.replicas)
        self._tell_refusals(group, refusals)
        _raise_first(refusals)

    def _ask_again(self, group: RoleBasedGroup, needed: bool) -> None:
        """At once, so that no later step can lose it."""
        if needed:
            self._queue.add_after(key_of(group), _ASK_AGAIN)

    def _try_again(self, group: RoleBasedGroup) -> None:
        """What was refused, when it is due."""
        if (left := self._problems.again_in(group)) is not None:
            self._queue.add_after(key_of(group), max(GATHER, left))

    def _tell_refusals(self, group: RoleBasedGroup, refusals: Sequence[ApiError]) -> None:
        """Of writes that no role waits for."""
        lasting = [one for one in refusals if isinstance(one, (BadRequest, Forbidden, Invalid))]
        if lasting:
            self._problems.tell(group, _OTHERS, "WriteRefused", str(lasting[0]))
        else:
            self._problems.solved(group, _OTHERS)

    def _was_scaled(self, group: RoleBasedGroup, scaled: Mapping[str, Scaled]) -> bool:
        """Whether the RoleBasedGroup itself was just written, for one of its adapters."""
        for role, one in scaled.items():
            if one.changed is not None:
                message = f"the scaling adapter sets role {role} to {one.replicas} replicas"
                self._events.say(group, "Normal", "RoleScaled", message)
                self._stores.remember(one.changed)
                return True
        return False

    async def _keep_revision(self, group: RoleBasedGroup) -> str:
        """Returns why the present templates could not be stored; empty if they are."""
        if refused := self._problems.waiting(group, _REVISION):
            return refused
        name = name_of(group)
        try:
            is_new = await self._revisions.keep(group)
        except REFUSALS as error:  # a quota or a policy
            message = f"ControllerRevision {name} cannot be stored: {error}"
            self._problems.refused(group, _REVISION, "RoleNotApplied", message)
            return message
        self._problems.solved(group, _REVISION)
        if is_new:
            message = f"the templates are now revision {name}"
            self._events.say(group, "Normal", "RevisionCreated", message)
        return ""

    def _next_steps(
        self, group: RoleBasedGroup, roles: Mapping[str, RoleFacts], unstored: str
    ) -> tuple[dict[str, RolloutStep], dict[str, str]]:
        """By coordination, its next step. By role, why its coordination has none: the role stays as
        it is."""
        steps: dict[str, RolloutStep] = {}
        blocked: dict[str, str] = {}
        history, now = self._revisions.history(group), self._now()
        for each in of_type(group.spec, ROLLING_UPDATE):
            try:
                steps[each.name] = next_step(group, each, roles, history, now, unstored=unstored)
                self._problems.solved(group, _part(each))
            except LookupError as error:
                message = str(error.args[0])
                self._problems.refused(group, _part(each), "TemplateMissing", message)
                blocked |= dict.fromkeys(each.roles, message)
        return steps, blocked

    def _changes(
        self,
        group: RoleBasedGroup,
        roles: Mapping[str, RoleFacts],
        unstored: str,
        steps: Iterable[RolloutStep],
        blocked: dict[str, str],
    ) -> list[RolloutStep]:
        """The next steps of roles that change their kind by themselves. Adds those that cannot to
        `blocked`."""
        coordinated = {name for step in steps for name in step.orders} | blocked.keys()
        history = self._revisions.history(group)
        found = []
        for name, facts in roles.items():
            if not facts.others or name in coordinated:
                continue
            try:
                found.append(next_step_of_change(group, facts, history, unstored=unstored))
                self._problems.solved(group, _change(name))
            except LookupError as error:
                blocked[name] = str(error.args[0])
                self._problems.refused(group, _change(name), "TemplateMissing", blocked[name])
        return found

    def _free(
        self, group: RoleBasedGroup, applied: Applied, steps: Iterable[RolloutStep]
    ) -> Iterator[Pod]:
        """Pods that need not be held any longer: their workloads recreate them as they should be,
        or not at all. A pod stays held while it is about to be evicted, or while its workload could
        not be applied."""
        evicted = {one.pod.metadata.uid for step in steps for one in step.evict}
        unapplied = {one.uid for name in applied.waiting for one in applied.roles[name].workloads}
        for pod in self._stores.pods_in(key_of(group)):
            owners = {owner.uid for owner in pod.metadata.owner_references}
            if pod.metadata.uid not in evicted and not owners & unapplied:
                yield pod

    async def _follow(
        self, group: RoleBasedGroup, step: RolloutStep, applied: Applied
    ) -> tuple[dict[str, str], bool]:
        """Returns, by role, what refused an eviction; and whether something has to be tried
        again."""
        roles = step.orders.keys() - applied.waiting.keys()
        pods = [pod for name in step.orders for pod in applied.roles[name].pods]
        again = self._evicted.unanswered(pods)
        refused_roles = await self._evictions.evict([*again, *step.evict], roles)
        for kind, reason, message in step.events:
            self._events.say(group, "Warning" if kind == "Warning" else "Normal", reason, message)
        if step.again_in is not None:
            self._queue.add_after(key_of(group), step.again_in)
        if step.rollback_to:
            await roll_back_stalled(
                self._client, self._events, self._problems, group, step.rollback_to
            )
            self._try_again(group)
        return refused_roles, bool(refused_roles)


def _raise_first(refusals: Sequence[ApiError]) -> None:
    """So that the queue retries them."""
    if refusals:
        raise refusals[0]


def _part(coordination: Coordination) -> str:
    """Of a RoleBasedGroup's problems. No role has such a name."""
    return f"/coordination/{coordination.name}"


def _parts(group: RoleBasedGroup) -> set[str]:
    """What may have a problem."""
    roles = [role.name for role in group.spec.roles]
    own = {CONFIG_MAP, ROLLBACK, _REVISION, _OTHERS, *roles, *map(_part, group.spec.coordination)}
    return own.union(map(_change, roles), map(_evicted, roles))


def _change(role: str) -> str:
    """Of the orders for a role that changes its kind."""
    return f"/change/{role}"


def _evicted(role: str) -> str:
    """Of the evictions for a role that changes its kind."""
    return f"/change/{role}/evictions"


def _orders(
    group: RoleBasedGroup,
    roles: Mapping[str, RoleFacts],
    steps: Iterable[RolloutStep],
    blocked: Container[str],
) -> dict[str, list[WorkloadOrder]]:
    """By role: from its rollout, or else its own."""
    coordinated = {name: orders for step in steps for name, orders in step.orders.items()}
    return {
        name: coordinated.get(name) or [own_order(group.metadata.name, facts)]
        for name, facts in roles.items()
        if name not in blocked
    }
