"""A cluster in one process: the API server, and all that runs beside it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Protocol, Self

from intact.kube.client import Client
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.disruption import DisruptionController
from intact.sandbox.controllers.leader_worker_set.parts import leader_worker_sets
from intact.sandbox.controllers.manager import controllers
from intact.sandbox.controllers.node_lifecycle.monitor import NodeMonitor
from intact.sandbox.controllers.pod_groups import pod_groups
from intact.sandbox.controllers.resources import NODES
from intact.sandbox.kubelet.kubelets import Kubelets
from intact.sandbox.kubelet.nodes import new_node
from intact.sandbox.kubelet.times import Times
from intact.sandbox.kubelet.troubles import Troubles
from intact.sandbox.loop import wall_clock
from intact.sandbox.scheduler.scheduler import Scheduler
from intact.sandbox.webhooks import Webhooks


class Part(Protocol):
    """A controller, the scheduler, the kubelets: something that runs beside the API server."""

    async def run(self) -> None:
        """Until cancelled."""


class Sandbox:
    """`clock` is the time that objects are stamped with: by default the simulated loop's own.
    Without `gangs`, PodGroups do not matter to the scheduler, as before Kubernetes 1.36.
    `budget_scope` makes the API server that of KEP-5682. `history` is how many changes of each kind
    the API server keeps for watches."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] | None = None,
        seed: int = 0,
        times: Times | None = None,
        gangs: bool = True,
        budget_scope: bool = False,
        history: int = 20_000,
    ) -> None:
        self.clock = clock or wall_clock()
        self.api = MemoryApi(
            clock=self.clock, seed=seed, history=history, budget_scope=budget_scope
        )
        self.shared = Shared(self.api, self.clock)
        self.webhooks = Webhooks(self.api)
        self.scheduler = Scheduler(self.api, self.clock, gangs=gangs)
        self.kubelets = Kubelets(self.shared, self.scheduler.accounts, times)
        self.troubles = Troubles(self.api, self.kubelets)
        self.parts: list[Part] = [
            *controllers(self.shared),
            *leader_worker_sets(self.shared),
            *pod_groups(self.shared),
            DisruptionController(self.api, self.clock, seed=seed),
            self.scheduler,
            self.kubelets,
            NodeMonitor(self.shared, self.kubelets),
        ]

    def client(self, user: str = "admin") -> Client:
        return Client(self.api.as_user(user), on_warning=lambda _text: None)

    async def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        allocatable: Mapping[str, str] | None = None,
        taints: Sequence[Json] = (),
    ) -> None:
        """A node with a kubelet, which makes it ready. It has plenty of what `allocatable` does not
        say."""
        node = new_node(name, labels=labels, allocatable=allocatable, taints=taints)
        await self.client().create(NODES, node)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self, None]:
        """All parts run beside the block. If one of them fails, so does the block."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part.run(), name=type(part).__name__) for part in self.parts]
            yield self
            for task in tasks:
                task.cancel()
