"""Whether the server knows the fields of KEP-5682, and what Intact does then."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound, TooManyRequests
from intact.kube.resources import PDBS as TYPED
from intact.kube.resources import PUBS, untyped
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.kep_fields import KepFields
from intact.sandbox import MemoryApi, wall_clock
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from tests.support.objects import PDBS, PODS, Json, pod
from tests.support.pub_cases import budget as pub
from tests.unit.kube.simulated import simulated

NS = "default"
POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)
SCOPE = "intact.dev/budget-scope"


def budget(scope: str | None = None, **metadata: Any) -> Json:
    field = {"budgetScope": scope} if scope else {}
    return {
        "metadata": {"name": "b", **metadata},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "a"}}, **field},
    }


@pytest.mark.parametrize("known", [True, False])
@simulated
async def test_a_dry_run_tells_and_holds_for_ten_minutes(known: bool) -> None:
    api = MemoryApi(budget_scope=known)
    warnings: list[str] = []
    async with Client(api, on_warning=warnings.append) as client:
        await client.create(PDBS, budget(), NS)
        fields = KepFields(client, now=wall_clock())
        version = api.revision
        assert await fields.known((NS, "b")) is known
        assert (api.revision, warnings) == (version, [])
        await client.delete(PDBS, "b", NS)
        assert await fields.known((NS, "b")) is known
        await asyncio.sleep(601)
        with pytest.raises(NotFound):
            await fields.known((NS, "b"))


class Scene:
    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.client = sandbox.client()

    async def groups(self, *names: str) -> None:
        """Of two pods each."""
        for name in names:
            spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
            await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, NS)
            for number in range(2):
                body = pod(f"{name}-{number}", node="n", labels={"app": "a", "g": name})
                body["spec"]["schedulingGroup"] = {"podGroupName": name}
                await self.pod(body)

    async def pod(self, body: Json) -> None:
        await self.client.create(PODS, body, NS)
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        name = body["metadata"]["name"]
        await self.client.patch(PODS, {"status": ready}, name, NS, subresource="status")

    def stored(self) -> PodDisruptionBudget:
        return msgspec.convert(self.sandbox.api.peek(TYPED.full_name, NS, "b"), PodDisruptionBudget)

    def reason(self, kind: str) -> str:
        [found] = [each for each in self.stored().status.conditions if each.type == kind]
        return found.reason

    async def evict(self, name: str) -> str:
        try:
            await self.client.evict(PODS, name, NS)
        except TooManyRequests as denied:
            return denied.causes[0].message
        return ""


@asynccontextmanager
async def intact(*controllers: str) -> AsyncGenerator[tuple[Scene, Intact], None]:
    sandbox = Sandbox(budget_scope=True)
    async with Intact(sandbox, controllers).running() as found:
        yield Scene(sandbox), found


@simulated
async def test_counters_are_fields_and_no_annotation_is_written() -> None:
    async with intact("pdb") as (scene, _):
        await scene.groups("red", "blue", "green")
        await scene.client.create(PDBS, budget("Workload"), NS)
        await asyncio.sleep(2)
        found = scene.stored()
        status = found.status
        assert found.metadata.annotations == {}
        assert (status.disruptions_allowed, status.disruptions_allowed_replicas) == (1, 1)
        assert (status.current_healthy, status.current_healthy_replicas) == (6, 3)
        assert (status.desired_healthy, status.desired_healthy_replicas) == (4, 2)
        assert (status.expected_pods, status.expected_replicas) == (6, 3)
        assert await scene.evict("red-0") == ""
        needs = "The disruption budget b needs 2 healthy replicas and has 2 currently"
        assert await scene.evict("blue-0") == needs


@simulated
async def test_a_budget_in_pods_shows_its_numbers_in_the_fields_too() -> None:
    async with intact("disruption") as (scene, _):
        await scene.groups("red")
        body = budget() | {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
        await scene.client.create(PDBS, body, NS)
        await asyncio.sleep(2)
        status = scene.stored().status
        assert (status.disruptions_allowed, status.disruptions_allowed_replicas) == (1, 1)
        assert (status.expected_pods, status.expected_replicas) == (2, 2)
        assert scene.stored().metadata.annotations == {}


@simulated
async def test_without_the_field_the_label_works_as_on_any_server() -> None:
    async with intact("pdb") as (scene, _):
        await scene.groups("red", "blue")
        await scene.client.create(PDBS, budget(labels={SCOPE: "Workload"}), NS)
        await asyncio.sleep(2)
        assert "intact.dev/ledger" in scene.stored().metadata.annotations
        assert scene.stored().status.disruptions_allowed == 2
        assert await scene.evict("red-0") == ""
        assert "blue-0 of group 'blue' cannot go now" in await scene.evict("blue-0")
        assert await scene.evict("red-1") == ""
        # The user moves on to the field: what Intact wrote for the label goes.
        change = {"metadata": {"labels": {SCOPE: None}}, "spec": {"budgetScope": "Workload"}}
        await scene.client.patch(PDBS, change, "b", NS)
        await asyncio.sleep(5)
        assert scene.stored().metadata.annotations == {}
        assert scene.stored().status.disruptions_allowed_replicas == 0
        assert "needs 1 healthy replicas and has 1" in await scene.evict("blue-0")
        # And back.
        change = {"metadata": {"labels": {SCOPE: "Workload"}}, "spec": {"budgetScope": None}}
        await scene.client.patch(PDBS, change, "b", NS)
        await asyncio.sleep(5)
        assert "blue-0 of group 'blue' cannot go now" in await scene.evict("blue-0")


@simulated
async def test_while_intact_is_down_the_server_decides_on() -> None:
    async with intact("pdb") as (scene, found):
        await scene.groups("red", "blue")
        both = budget("Workload", labels={SCOPE: "Workload"})
        await scene.client.create(PDBS, both, NS)
        await asyncio.sleep(2)
        assert scene.reason("BudgetConfigured") == "WithoutEffect"
        await found.stop()
        assert await scene.evict("red-0") == ""
        assert "needs 1 healthy replicas and has 1" in await scene.evict("blue-0")
        assert await scene.evict("red-1") == ""


@simulated
async def test_a_budget_that_the_server_decides_on_stays_open_without_intact() -> None:
    async with intact("pdb") as (scene, found):
        await scene.groups("red", "blue")
        await scene.client.create(PDBS, budget("Workload", labels={SCOPE: "Workload"}), NS)
        await asyncio.sleep(2)
        said: list[str] = []
        await found.uninstall(said.append)
        assert not any("counts pods from now on" in each for each in said)
        assert scene.stored().status.disruptions_allowed_replicas == 1
        assert await scene.evict("red-0") == ""


@simulated
async def test_the_gate_of_another_budget_leaves_the_decision_to_the_server() -> None:
    async with intact("pub", "pdb") as (scene, _):
        await scene.groups("red", "blue")
        selector = {"matchLabels": {"app": "a"}}
        await scene.client.create(PDBS, budget("Workload"), NS)
        spec = {"selector": selector, "maxUnavailable": 3}
        await scene.client.create(BUDGETS, pub(spec, "u"), NS)
        await asyncio.sleep(5)
        assert await scene.evict("red-0") == ""
        assert "needs 1 healthy replicas" in await scene.evict("blue-0")
        assert await scene.evict("red-1") == ""


@simulated
async def test_the_server_knows_only_its_own_kinds_of_groups() -> None:
    async with intact("pdb") as (scene, _):
        labels = {"app": "a", "leaderworkerset.sigs.k8s.io/group-key": "k", "shard": "s"}
        size = {"leaderworkerset.sigs.k8s.io/size": "1"}
        await scene.pod(pod("p", node="n", labels=labels, annotations=size))
        settings = {"intact.dev/group-label-key": "shard"}
        await scene.client.create(PDBS, budget("PodGroup", annotations=settings), NS)
        await asyncio.sleep(2)
        assert scene.stored().status.expected_replicas == 0
        assert scene.reason("BudgetConfigured") == "MissingWorkloadReference"
        assert "is missing the workload reference" in await scene.evict("p")


@simulated
async def test_a_group_that_only_its_pods_tell_of_is_expected_for_two_minutes() -> None:
    async with intact("pdb") as (scene, _):
        gang = {"gang": {"minCount": 1}}
        workloads = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
        spec = {"podGroups": [{"name": "worker", "policy": gang}]}
        await scene.client.create(workloads, {"metadata": {"name": "w"}, "spec": spec}, NS)
        for key in ("0", "1"):
            body = pod(f"p{key}", node="n", labels={"app": "a"})
            part = {"name": "w", "podGroup": "worker", "podGroupReplicaKey": key}
            body["spec"]["workloadRef"] = part
            await scene.pod(body)
        await scene.client.create(PDBS, budget("Workload"), NS)
        await asyncio.sleep(2)
        assert await scene.evict("p0") == ""
        await scene.sandbox.api.finish_pod(NS, "p0")
        await asyncio.sleep(60)
        assert scene.stored().status.expected_replicas == 2
        assert "needs 1 healthy replicas and has 1" in await scene.evict("p1")
        await asyncio.sleep(90)
        assert scene.stored().status.expected_replicas == 1


@simulated
async def test_two_writers_that_count_alike_come_to_rest() -> None:
    sandbox = Sandbox(budget_scope=True)
    async with Intact(sandbox, ("disruption",)).running(), Intact(sandbox, ("pdb",)).running():
        scene = Scene(sandbox)
        await scene.groups("red", "blue")
        await scene.client.create(PDBS, budget("Workload"), NS)
        await asyncio.sleep(5)
        version = scene.stored().metadata.resource_version
        await asyncio.sleep(60)
        assert scene.stored().metadata.resource_version == version
