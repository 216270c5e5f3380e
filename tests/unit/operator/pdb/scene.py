"""A cluster in memory with PodDisruptionBudgets, and a controller that counts them."""

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.resources import PDBS, untyped
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.operator.pdb.controller import PdbController
from tests.support.objects import NAMESPACES, PODS, Json
from tests.unit.operator.pub.scene import NS, Scene, Wire, in_background

BUDGETS = untyped(PDBS.group, PDBS.version, PDBS.plural, PDBS.kind)


class PdbScene(Scene):
    """The workloads, pods and people of `Scene`, and PodDisruptionBudgets instead of its own."""

    def __init__(self, *, groups: bool = True, disruption: bool = True) -> None:
        super().__init__(controllers=0)
        self.wire = Wire(self.api)
        self.pdb_controller = PdbController(
            Client(self.wire, rng=random.Random(1)),
            "intact-0",
            now=self.clock,
            leads=lambda: True,
            groups=groups,
            disruption=disruption,
            rng=random.Random(2),
        )

    async def pdb(
        self,
        name: str = "b",
        *,
        selector: Json | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> Json:
        spec["selector"] = {"matchLabels": {"app": "a"}} if selector is None else selector
        meta = {"labels": labels or {}, "annotations": annotations or {}}
        return await self.make(BUDGETS, name, spec=spec, **meta)

    def pdb_stored(self, name: str = "b") -> PodDisruptionBudget:
        found = self.api.peek(PDBS.full_name, NS, name)
        return msgspec.convert(found, PodDisruptionBudget)

    def pdb_status(self, name: str = "b") -> PdbStatus:
        return self.pdb_stored(name).status

    def counters(self, name: str = "b") -> tuple[int, int, int, int]:
        """Allowed, current, desired, expected: as the stock controller's own tests write it."""
        status = self.pdb_status(name)
        return (
            status.disruptions_allowed,
            status.current_healthy,
            status.desired_healthy,
            status.expected_pods,
        )

    def reason(self, name: str = "b") -> str:
        [condition] = [
            one for one in self.pdb_status(name).conditions if one.type == "DisruptionAllowed"
        ]
        return condition.reason

    async def label(self, name: str, **labels: str | None) -> None:
        await self.client.patch(PODS, {"metadata": {"labels": labels}}, name, NS)

    async def edit(self, name: str = "b", **spec: Any) -> None:
        await self.client.patch(BUDGETS, {"spec": spec}, name, NS)

    async def set_status(self, name: str = "b", **status: Any) -> None:
        await self.client.patch(BUDGETS, {"status": status}, name, NS, subresource="status")


@asynccontextmanager
async def counting(*, groups: bool = True, disruption: bool = True) -> AsyncGenerator[PdbScene]:
    """A scene whose controller runs and leads."""
    scene = PdbScene(groups=groups, disruption=disruption)
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    async with in_background(scene.pdb_controller.run(), scene.pdb_controller.lead()):
        yield scene
