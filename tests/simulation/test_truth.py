"""What the checker of the simulation excuses, and what it does not."""

import json
from dataclasses import replace

import pytest

from intact.kube.client import Client
from intact.kube.resources import PUBS
from intact.sandbox import run
from tests.simulation.cluster import FIRST_IMAGE
from tests.simulation.scenario import GROUP_KEY, BudgetPlan, WorkloadPlan, scenario
from tests.simulation.truth import NAMESPACE, Violation, image_id
from tests.simulation.world import World
from tests.support.objects import NAMESPACES, PODS, Json, pod

GROUPS = ("a", "b", "c")
PLAN = BudgetPlan("groups", "llm", {"maxUnavailable": 1}, len(GROUPS), need=2)
SETS = tuple(WorkloadPlan(name, "StatefulSet", "llm", (name,) * 3) for name in GROUPS)


class _Scene:
    """Three groups of three pods, of which two are needed. b and c are down, as a recount knows,
    because pods failed. So the budget has nothing left; a has surplus."""

    def __init__(self) -> None:
        made = scenario(0)
        paces = replace(made.paces, failures=1)
        self.world = World(replace(made, workloads=SETS, budgets=(PLAN,), paces=paces))
        self.client = Client(self.world.api.as_user("system"))

    async def set_up(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for group in GROUPS:
            for number in range(3):
                labels = {"app": "llm", GROUP_KEY: group}
                body = pod(f"{group}-{number}", node="n", labels=labels)
                await self.client.create(PODS, body, NAMESPACE)
                await self.set_ready(f"{group}-{number}", ready=True)
        budget = {
            "apiVersion": PUBS.api_version,
            "kind": PUBS.kind,
            "metadata": {"name": PLAN.name},
            "spec": PLAN.spec(),
        }
        await self.client.create(PUBS, budget, NAMESPACE)
        for name in ("b-0", "b-1", "c-0", "c-1"):
            await self.set_ready(name, ready=False)
        await self.recount()

    async def set_ready(self, name: str, *, ready: bool) -> None:
        container = {"name": "main", "image": FIRST_IMAGE, "imageID": image_id(FIRST_IMAGE)}
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [container],
        }
        await self.client.patch(PODS, {"status": status}, name, NAMESPACE, subresource="status")
        self.world.truth.observe()

    async def recount(self) -> None:
        seen = str(self.world.api.revision)
        await self.store({"seen": seen, "surplus": {"a": 1}, "unavailableGroups": ["b", "c"]})

    async def record(self, name: str) -> None:
        found = self.world.pod(name)
        budget = self.world.truth.budgets[PLAN.name]
        assert found is not None
        record = {
            "name": name,
            "operation": "EVICT",
            "resourceVersion": found["metadata"]["resourceVersion"],
            "group": found["metadata"]["labels"][GROUP_KEY],
        }
        await self.store(budget.ledger | {"pods": {found["metadata"]["uid"]: record}})

    async def store(self, ledger: Json) -> None:
        status = {
            "observedGeneration": 1,
            "currentAvailable": 1,
            "totalReplicas": 3,
            "unavailableAllowed": 0,
            "ledger": json.dumps(ledger),
        }
        body = {"status": status}
        await self.client.patch(PUBS, body, PLAN.name, NAMESPACE, subresource="status")
        self.world.truth.observe()

    async def evict(self, name: str) -> None:
        await self.client.evict(PODS, name, NAMESPACE)
        self.world.truth.observe()


def test_a_failure_that_no_recount_has_seen_excuses_an_eviction_from_surplus() -> None:
    """Even of a budget that has nothing left: surplus costs nothing."""

    async def main() -> None:
        scene = _Scene()
        await scene.set_up()
        await scene.set_ready("a-0", ready=False)
        await scene.record("a-1")
        await scene.evict("a-1")

    run(main())


def test_a_failure_that_a_recount_has_seen_excuses_nothing() -> None:
    async def main() -> None:
        scene = _Scene()
        await scene.set_up()
        await scene.set_ready("a-0", ready=False)
        await scene.recount()
        await scene.record("a-1")
        await scene.evict("a-1")

    with pytest.raises(Violation, match="a-1 was taken"):
        run(main())


def test_a_second_pod_from_one_surplus_is_not_excused() -> None:
    async def main() -> None:
        scene = _Scene()
        await scene.set_up()
        for name in ("a-0", "a-1"):
            await scene.record(name)
            await scene.evict(name)

    with pytest.raises(Violation, match="a-1 was taken"):
        run(main())
