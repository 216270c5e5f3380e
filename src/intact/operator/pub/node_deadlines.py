"""When the node of a pod must be empty: read when a budget denies that the pod goes.

Intact does not watch nodes, which change every few seconds. It keeps what it has read of a node for
a few seconds: a client that is denied asks again, and for the other pods on the node, too. Before a
pod goes for a deadline, the node is read anew: the deadline may have been taken back. A node that
cannot be read has no deadline: the budget's denial stands.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from intact.budget.pub.node_deadline import NodeDeadline, deadline_of
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.events import EventRecorder, node_reference
from intact.kube.resources import NODE_CLAIMS, NODES
from intact.model.event import ObjectReference
from intact.model.places import Node, NodeClaim, claim_of

log = logging.getLogger(__name__)

LOOK_AGAIN = 5.0
"""Seconds after which a node whose deadline has not come is read again."""
EVERY = 60.0
"""Seconds between two times that it is told of a pod: one that stays, because something else
refuses, is asked about again and again."""
_MOST = 4096
"""Nodes, and pods, that are remembered."""


class NodeDeadlines:
    def __init__(
        self, client: Client, events: EventRecorder, *, now: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._events = events
        self._now = now
        self._read: OrderedDict[str, tuple[float, asyncio.Task[NodeDeadline | None]]] = (
            OrderedDict()
        )
        self._told: OrderedDict[tuple[str, str], float] = OrderedDict()
        """When, by the UIDs of pod and budget."""

    async def of(self, node: str) -> NodeDeadline | None:
        """None if it has none, or none is known."""
        now = asyncio.get_running_loop().time()
        known = self._read.get(node)
        if known is None or now >= known[0] + LOOK_AGAIN or self._has_come(known[1]):
            known = self._read[node] = now, asyncio.create_task(self._ask(node))
            self._read.move_to_end(node)
            if len(self._read) > _MOST:
                self._read.popitem(last=False)
        return await asyncio.shield(known[1])

    def _has_come(self, read: asyncio.Task[NodeDeadline | None]) -> bool:
        """Of a read that has ended. One under way is as good as another."""
        found = read.result() if read.done() else None
        return found is not None and found.has_come(self._now())

    def tell(
        self, deadline: NodeDeadline, pod: ObjectReference, budget: ObjectReference, message: str
    ) -> None:
        """That a pod goes over a budget."""
        key, now = (pod.uid, budget.uid), asyncio.get_running_loop().time()
        if now < self._told.get(key, float("-inf")) + EVERY:
            return
        self._told[key] = now
        self._told.move_to_end(key)
        if len(self._told) > _MOST:
            self._told.popitem(last=False)
        log.warning("%s/%s: %s", budget.namespace, budget.name, message)
        for one in (pod, budget, node_reference(deadline.node)):
            self._events.record(one, "Warning", "NodeDeadlinePassed", message)

    async def _ask(self, name: str) -> NodeDeadline | None:
        try:
            node = await self._client.get(NODES, name)
        except NotFound:
            return None
        except KubeError as error:
            log.warning("cannot find out when the node %s must be empty: %s", name, error)
            return None
        return deadline_of(node, await self._claim_of(node))

    async def _claim_of(self, node: Node) -> NodeClaim | None:
        """None if it is gone or cannot be read: what the node itself says counts all the same."""
        owner = claim_of(node.metadata)
        if owner is None:
            return None
        try:
            return await self._client.get(NODE_CLAIMS, owner.name)
        except NotFound:
            return None
        except KubeError as error:
            log.warning(
                "cannot read the NodeClaim of %s, which may have a deadline: %s",
                node.metadata.name,
                error,
            )
            return None
