"""A PodDisruptionBudget on the same pods, as kube-controller-manager would keep it: for a while it
allows evictions, for a while it refuses them all."""

import asyncio
import random
from contextlib import suppress

from intact.kube.client import Client
from intact.kube.errors import KubeError
from tests.simulation.truth import NAMESPACE
from tests.simulation.world import World
from tests.support.objects import PDBS, PODS, Json

_NAME = "native"


class NativeBudget:
    def __init__(self, world: World) -> None:
        self._world = world
        self._client = Client(world.api.as_user("kube-controller-manager"), rng=world.rng("native"))

    async def create(self) -> None:
        body = {
            "apiVersion": PDBS.api_version,
            "kind": PDBS.kind,
            "metadata": {"name": _NAME},
            "spec": {"selector": {}, "minAvailable": 1},
        }
        await self._client.create(PDBS, body, NAMESPACE)
        await self.allow(1)

    async def run(self) -> None:
        rng = self._world.rng("native budget")
        while True:
            await self.allow(rng.choice((0, 0, 1, 3)))
            await asyncio.sleep(rng.expovariate(1 / 8))

    async def allow(self, number: int) -> None:
        """Say so until it is stored."""
        pods = len(self._world.pods())
        status = {
            "observedGeneration": 1,
            "disruptionsAllowed": number,
            "currentHealthy": pods,
            "desiredHealthy": pods - number,
            "expectedPods": pods,
            "disruptedPods": None,
        }
        stored = False
        while not stored:
            with suppress(KubeError):
                await self._client.patch(
                    PDBS, {"status": status}, _NAME, NAMESPACE, subresource="status"
                )
                stored = True
        self._world.trace.note(f"the PodDisruptionBudget allows {number}")

    async def keep_evicting(self, meta: Json, rng: random.Random) -> None:
        """As drain does, whatever the answer."""
        while True:
            with suppress(KubeError):
                await self._world.user.evict(PODS, meta["name"], NAMESPACE)
            await asyncio.sleep(rng.uniform(1, 5))
