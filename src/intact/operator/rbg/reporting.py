"""Write how far a group is, and tell when that changes."""

from collections.abc import Callable, Mapping
from datetime import datetime

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.events import EventType
from intact.kube.resources import RBGS
from intact.kube.store import Key
from intact.model.meta import Condition
from intact.model.rbg import BatchProgress, RbgStatus, RoleBasedGroup, RoleProgress
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.scaling import RbgScaling, Scaled
from intact.operator.rbg.stores import RbgStores
from intact.rollout.coordinations import batching
from intact.rollout.progress import conditions as conditions_of
from intact.rollout.status import (
    READY,
    Work,
    batch_states,
    coordination_state,
    state_before,
    status_of,
)


class RbgReporting:
    def __init__(
        self,
        client: Client,
        stores: RbgStores,
        scaling: RbgScaling,
        events: RbgEvents,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
    ) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores
        self._scaling = scaling
        self._events = events
        self._now = now
        self._leads = leads
        self._stored: dict[Key, RoleBasedGroup] = {}

    def group(self, key: Key) -> RoleBasedGroup | None:
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

    def remember(self, group: RoleBasedGroup) -> None:
        """As we have just written it."""
        self._stored[group.metadata.namespace, group.metadata.name] = group

    async def report(
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
            before = state_before(group, each)
            found = batches.get(each.name)
            if found is not None:
                progress = batch_states(batching(each).ratios, statuses, found, before, now)
            else:
                progress = rollouts.get(each.name, before.progress if before else {})
            states.append(coordination_state(each, progress, found, before, now))
        status = status_of(group, works, states, conditions_of(rollouts), revision, problems, now)
        await self.write(group, status)
        for role in group.spec.roles:
            replicas = statuses[role.name].replicas
            await self._scaling.report(group, role, scaled[role.name], replicas)

    async def write(self, group: RoleBasedGroup, status: RbgStatus) -> None:
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
        self.writes += 1
        self.remember(stored)
        for condition in status.conditions:
            if condition.type == READY:  # a rollout tells its own
                self._say_transition(group, condition)

    def _say_transition(self, group: RoleBasedGroup, condition: Condition) -> None:
        before = next((one for one in group.status.conditions if one.type == condition.type), None)
        first = before is None and condition.status == "False"
        if first or (before is not None and before.status == condition.status):
            return
        kind: EventType = "Normal" if condition.status == "True" else "Warning"
        self._events.say(group, kind, condition.reason, condition.message)
