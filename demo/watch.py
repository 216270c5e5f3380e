"""Pods, nodes and budgets as watches report them, and how many groups were down at worst: counted
event by event, so that nothing between two pictures is missed."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from typing import Any

from demo.errors import DemoError
from intact.kube.client import Client
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS, Resource
from intact.kube.store import Store
from intact.model.base import View
from intact.model.meta import ObjectMeta
from intact.model.pod import Pod


class NodeSpec(View):
    unschedulable: bool = False


class Node(View):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()


NODES = Resource(Node, "", "v1", "nodes", "Node", namespaced=False)


class PodState(Enum):
    READY = "ready"
    NOT_READY = "not ready"
    TERMINATING = "terminating"
    PENDING = "pending"


def state_of(pod: Pod) -> PodState:
    if pod.metadata.deletion_timestamp is not None:
        return PodState.TERMINATING
    if not pod.spec.node_name:
        return PodState.PENDING
    conditions = pod.status.conditions
    if any(each.type == "Ready" and each.status == "True" for each in conditions):
        return PodState.READY
    return PodState.NOT_READY


class GroupsDown:
    """The groups with fewer than `need` ready pods, updated with each change of a pod."""

    def __init__(self, groups: Sequence[str], key: str, need: int) -> None:
        self.worst = 0
        """The most groups that were down at once since `begin`."""
        self.events = 0
        self._groups = groups
        self._key = key
        self._need = need
        self._ready: dict[str, set[str]] = {group: set() for group in groups}

    @property
    def now(self) -> list[str]:
        return [group for group in self._groups if len(self._ready[group]) < self._need]

    def begin(self) -> None:
        self.worst = len(self.now)
        self.events = 0

    def observe(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            ready = self._ready.get(pod.metadata.labels.get(self._key, "")) if pod else None
            if pod is None or ready is None:
                continue
            if pod is new and state_of(pod) is PodState.READY:
                ready.add(pod.metadata.uid)
            else:
                ready.discard(pod.metadata.uid)
        self.events += 1
        self.worst = max(self.worst, len(self.now))


@asynccontextmanager
async def following(*reflectors: Reflector[Any]) -> AsyncGenerator[None, None]:
    """The reflectors run beside the block, which begins once all of them are synced."""
    tasks = [asyncio.create_task(reflector.run()) for reflector in reflectors]
    try:
        for reflector in reflectors:
            await reflector.wait_synced()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Watch:
    def __init__(
        self, client: Client, namespace: str, down: GroupsDown, budgets: Resource[Any]
    ) -> None:
        self.nodes: Store[Node] = Store()
        self.pods: Store[Pod] = Store()
        self.budgets: Store[Any] = Store()
        self.down = down
        self.pods.subscribe(down.observe)
        self._pods = Reflector(client, PODS, self.pods, namespace=namespace)
        self._others = (
            Reflector(client, NODES, self.nodes),
            Reflector(client, budgets, self.budgets, namespace=namespace),
        )

    def on_change(self, call: Callable[[], None]) -> None:
        """After each event of any kind."""
        self.nodes.subscribe(lambda _old, _new: call())
        self.pods.subscribe(lambda _old, _new: call())
        self.budgets.subscribe(lambda _old, _new: call())

    def check(self) -> None:
        """Fail if the watch on pods was lost: some events were missed, and `worst` is wrong."""
        if self._pods.stats.lists != 1:
            raise DemoError(f"the watch on pods was lost: {self._pods.error}")

    def running(self) -> AbstractAsyncContextManager[None]:
        return following(self._pods, *self._others)
