"""`--sandbox`: what `make run` shows, on a cluster in this process, over and over.

A drain under both kinds of budget, then a rollout of two roles.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from intact.cli.dashboard.sources import LiveCluster
from intact.cli.rbg.standing import Standing, standing
from intact.kube.client import PatchType
from intact.kube.errors import NotFound
from intact.kube.resources import (
    EVENTS,
    NAMESPACES,
    PDBS,
    PODS,
    PUBS,
    RBGS,
    STATEFUL_SETS,
    Resource,
)
from intact.model.pod_state import is_ready, is_terminating
from intact.model.times import timestamp
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from intact.sandbox.kubectl_drain import cordon, drain
from intact.sandbox.kubelet.times import Times
from intact.sandbox.scene import budgets, roles, shards

NODES = 3
TIMES = Times(start=0.5, ready=2.0, termination=1.5)
PAUSE = 5.0
"""Seconds between two acts."""
LOOK_EVERY = 0.25
HISTORY = 500
"""Changes of each kind: the show goes on for days, and each keeps two versions of an object."""
EVENTS_KEPT = timedelta(minutes=10)
SPACES: dict[str, tuple[Resource[Any], shards.Json]] = {
    "llm-pub": (PUBS, budgets.PUB),
    "llm-pdb": (PDBS, budgets.PDB),
}


class Show(LiveCluster):
    _leads = True

    def __init__(
        self, pause: float = PAUSE, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._sandbox = Sandbox(clock=clock, times=TIMES, history=HISTORY)
        super().__init__(self._sandbox.client(), "sandbox")
        self.caption = "the first pods start"
        self._intact = Intact(self._sandbox)
        self._pause = pause

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        async with self._sandbox.running():
            for number in range(NODES):
                await self._sandbox.add_node(f"node-{number}")
            async with self._intact.running(), asyncio.TaskGroup() as group:
                await self._build()
                async with super().running():
                    playing = group.create_task(self._play(), name="show")
                    yield
                    playing.cancel()

    async def _build(self) -> None:
        create = self._client.create
        for space, (resource, budget) in SPACES.items():
            await create(NAMESPACES, shards.namespace(space))
            for shard in shards.SHARDS:
                await create(STATEFUL_SETS, shards.stateful_set(shard, _as_it_is), space)
            await create(resource, budget, space)
        await create(NAMESPACES, shards.namespace(roles.NAMESPACE))
        await create(RBGS, roles.group(_as_it_is), roles.NAMESPACE)

    def _say(self, caption: str) -> None:
        self.caption = caption
        self._live.wake()

    async def _play(self) -> None:
        await self._all_ready()
        for turn in count():
            await self._drain(f"node-{turn % NODES}")
            await self._roll_out(turn + 2)
            await self._forget_events()

    async def _drain(self, node: str) -> None:
        self._say(f"kubectl drain {node}: of each budget, one shard may be down")
        await drain(self._sandbox.api, self._client, node, lambda _step: None)
        self._say(f"{node} is drained, and comes back soon")
        await self._all_ready()
        await asyncio.sleep(self._pause)
        await cordon(self._client, node, unschedulable=False)

    async def _roll_out(self, version: int) -> None:
        self._say(f"version {version} for both roles, in step")
        template = roles.template(f"example.org/llm:{version}", _as_it_is)
        patch = [
            {"op": "replace", "path": f"/spec/roles/{index}/template", "value": template}
            for index in range(len(roles.ROLES))
        ]
        name, space = roles.GROUP, roles.NAMESPACE
        before = await self._client.get(RBGS, name, space)
        await self._client.patch(RBGS, patch, name, space, type=PatchType.JSON)
        while True:
            found = await self._client.get(RBGS, name, space)
            begun = found.status.update_revision != before.status.update_revision
            if begun and standing(found) is Standing.DONE:
                break
            await asyncio.sleep(LOOK_EVERY)
        self._say(f"version {version} runs")
        await self._all_ready()
        await asyncio.sleep(self._pause)

    async def _forget_events(self) -> None:
        """As API servers do, after an hour."""
        until = timestamp(self._sandbox.clock() - EVENTS_KEPT)
        for event in (await self._client.list(EVENTS)).items:
            if (event.last_timestamp or event.metadata.creation_timestamp) < until:
                with suppress(NotFound):
                    await self._client.delete(EVENTS, event.metadata.name, event.metadata.namespace)

    async def _all_ready(self) -> None:
        whole = len(SPACES) * len(shards.SHARDS) * shards.PODS_EACH + sum(roles.ROLES.values())
        while True:
            pods = (await self._client.list(PODS)).items
            ready = sum(is_ready(pod) and not is_terminating(pod) for pod in pods)
            if ready == len(pods) == whole:
                return
            await asyncio.sleep(LOOK_EVERY)


def _as_it_is(template: shards.Json) -> shards.Json:
    """The kubelets are slow by themselves."""
    return template
