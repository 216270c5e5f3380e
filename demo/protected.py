"""The shards under one budget: created, watched, and left to Kubernetes alone."""

import asyncio
from collections.abc import Callable, Sequence

from demo.budgets import BudgetKind
from demo.errors import DemoError
from demo.picture import section_of
from demo.stage import Stage
from demo.view import BudgetView, Section
from demo.waiting import TICK
from demo.watch import GroupsDown, Watch
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.resources import NAMESPACES, PODS, STATEFUL_SETS
from intact.sandbox.scene import shards
from intact.sandbox.scene.budgets import NAME


class Protected:
    def __init__(self, stage: Stage, client: Client, kind: BudgetKind) -> None:
        self.kind = kind
        self.enforced = False
        """Whether Intact enforces the budget."""
        down = GroupsDown(shards.SHARDS, shards.GROUP_KEY, shards.PODS_EACH)
        self.watch = Watch(client, kind.namespace, down, kind.resource)
        self._stage = stage
        self._client = client

    async def create(self) -> None:
        space = self.kind.namespace
        await self._client.create(NAMESPACES, shards.namespace(space))
        for shard in shards.SHARDS:
            body = shards.stateful_set(shard, self._stage.slowed)
            await self._client.create(STATEFUL_SETS, body, space)
        await self._client.create(self.kind.resource, self.kind.body, space)

    def works(self) -> bool:
        """Whether the budget counts all shards as up."""
        budget = self._figures()
        return budget is not None and (budget.allowed, budget.total) == (1, len(shards.SHARDS))

    def is_up(self) -> bool:
        """Whether all shards are up, and the budget counts them so."""
        if self.watch.down.now:
            return False
        if self.enforced:
            return self.works()
        budget = self.watch.budgets.get(self.kind.namespace, NAME)
        needed = shards.PODS_EACH if self.kind.alone is not None else 0
        return budget is not None and self.kind.allows_alone(budget) >= needed

    async def leave_alone(self) -> None:
        """Let the budget say in pods what it says in groups."""
        await self._client.patch(self.kind.resource, self.kind.alone, NAME, self.kind.namespace)

    async def renew_pods(self, within: float) -> Callable[[], bool]:
        """Delete all pods. Returns what tells whether all of them have been replaced."""
        before = {pod.metadata.uid for pod in self.watch.pods}
        clock = asyncio.get_running_loop().time
        deadline = clock() + within
        while True:
            try:
                await self._client.delete_collection(PODS, self.kind.namespace)
                break
            except KubeError as error:
                # The API server takes a moment to notice that the webhooks are gone.
                if clock() > deadline:
                    raise DemoError(f"the pods cannot be deleted: {error}") from error
            await asyncio.sleep(TICK)
        return lambda: not any(pod.metadata.uid in before for pod in self.watch.pods)

    def pods_on(self, node: str) -> int:
        return sum(pod.spec.node_name == node for pod in self.watch.pods)

    def check_spread(self, node: str) -> None:
        """Fail if the node does not hold pods of all shards."""
        found = {
            pod.metadata.labels.get(shards.GROUP_KEY)
            for pod in self.watch.pods
            if pod.spec.node_name == node
        }
        if found != set(shards.SHARDS):
            raise DemoError(f"{node} holds pods of {sorted(map(str, found))} only")

    def refusals(self, lines: Sequence[str]) -> int:
        """How many of kubectl's lines tell of a refused eviction here."""
        return sum(f'-n "{self.kind.namespace}" (will retry after' in line for line in lines)

    def section(self) -> Section:
        return section_of(
            self.watch, self.kind.resource.kind, self._figures() if self.enforced else None
        )

    def _figures(self) -> BudgetView | None:
        found = self.watch.budgets.get(self.kind.namespace, NAME)
        return self.kind.figures(found) if found is not None else None
