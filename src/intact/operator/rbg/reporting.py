"""Writes the status of a RoleBasedGroup, and an event when its readiness changes."""

from collections.abc import Callable

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.events import EventType
from intact.kube.resources import RBGS
from intact.model.meta import Condition
from intact.model.rbg import RbgStatus, RoleBasedGroup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.stores import RbgStores
from intact.rollout.status import READY


class RbgReporting:
    def __init__(
        self,
        client: Client,
        stores: RbgStores,
        events: RbgEvents,
        *,
        leads: Callable[[], bool],
    ) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores
        self._events = events
        self._leads = leads

    async def write(self, group: RoleBasedGroup, status: RbgStatus) -> None:
        """Only if it differs from what is stored."""
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
        self._stores.remember(stored)
        ready = status.condition(READY)
        if ready is not None:  # a rollout has events of its own
            self._say_transition(group, ready)

    def _say_transition(self, group: RoleBasedGroup, condition: Condition) -> None:
        before = group.status.condition(condition.type)
        if condition.reason == "InvalidSpec":
            if before is None or before.message != condition.message:
                self._events.say(group, "Warning", "InvalidSpec", condition.message, series="")
            return
        first = before is None and condition.status == "False"
        if first or (before is not None and before.status == condition.status):
            return
        if condition.reason == "RoleNotApplied":
            return  # each of its problems is an event
        kind: EventType = "Normal" if condition.status == "True" else "Warning"
        self._events.say(group, kind, condition.reason, condition.message)
