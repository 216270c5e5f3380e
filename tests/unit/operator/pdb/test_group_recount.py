"""Budgets in groups as clients meet them, on the API in memory: gate, recount, sources."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.resources import untyped
from intact.operator.webhook.configuration import IN_GROUPS
from intact.sandbox import Kind, Rule
from tests.support.objects import PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import NS, STATEFUL_SET

POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
LABELS = {"app": "a"}
BY_LABEL = {"intact.dev/group-label-key": "g", "intact.dev/min-ready-replicas": "2"}


class Groups:
    def __init__(self, scene: PdbScene) -> None:
        self.scene = scene
        scene.api.admit(
            "status",
            self._review,
            [Rule(("poddisruptionbudgets/status",), ("UPDATE",))],
            mutating=True,
            object_selector=IN_GROUPS,
            condition=lambda request: SCOPE_LABEL in request["object"]["metadata"]["labels"],
        )
        self.reads_in_admissions = 0

    async def _review(self, request: Json) -> Json:
        before = len(self.scene.wire.sent)
        gate = self.scene.pdb_controller.status_gate
        answer = await gate.review(msgspec.Raw(msgspec.json.encode(request)))
        self.reads_in_admissions += sum(
            each.method == "GET" for each in self.scene.wire.sent[before:]
        )
        found: Json = msgspec.to_builtins(answer)
        return found

    async def group(self, name: str, size: int = 2, **more: Any) -> None:
        for number in range(size):
            await self.scene.pod(f"{name}-{number}", labels={**LABELS, "g": name}, **more)

    async def budget(self, annotations: dict[str, str] = BY_LABEL, **spec: Any) -> None:
        labels = {SCOPE_LABEL: "Workload"}
        await self.scene.pdb(labels=labels, annotations=annotations, **spec)
        await self.scene.settle()

    def replicas(self) -> tuple[int, int, int, int]:
        """Allowed, current, desired and expected, in groups."""
        text = self.scene.pdb_stored().metadata.annotations.get("intact.dev/replicas", "")
        return tuple(msgspec.json.decode(text).values()) if text else (-1, -1, -1, -1)

    async def denial(self, name: str) -> str:
        with pytest.raises(ApiError) as denied:
            await self.scene.client.evict(POD_VIEWS, name, NS)
        assert denied.value.code == 429
        assert [cause.reason for cause in denied.value.causes] == ["DisruptionBudget"]
        return str(denied.value)


@asynccontextmanager
async def holding() -> AsyncGenerator[tuple[PdbScene, Groups], None]:
    async with counting(groups=True, disruption=False) as scene:
        yield scene, Groups(scene)


@simulated
async def test_one_group_goes_and_no_other() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        assert groups.replicas() == (1, 3, 2, 3)
        assert scene.counters() == (2, 6, 4, 6)
        assert await scene.evict("red-0") == 200
        # Without any recount: what is stored is right at once.
        assert groups.replicas()[:2] == (0, 2)
        assert scene.counters()[:2] == (1, 5)
        assert scene.reason() == "InsufficientReplicas"
        assert "blue-0 of group 'blue' cannot go now" in await groups.denial("blue-0")
        assert await scene.evict("red-1") == 200
        await scene.settle()
        assert groups.replicas() == (0, 2, 2, 3)
        assert groups.reads_in_admissions == 0


@simulated
async def test_nothing_is_counted_before_the_gate_is_asked() -> None:
    async with counting(groups=True, disruption=False) as scene:
        labels = {SCOPE_LABEL: "Workload"}
        await scene.pdb(labels=labels, annotations=BY_LABEL, maxUnavailable=1)
        await scene.settle(9)
        assert scene.pdb_stored().metadata.annotations == BY_LABEL
        groups = Groups(scene)
        await groups.group("red")
        await scene.settle()
        assert groups.replicas() == (1, 1, 0, 1)


def test_a_gate_that_is_not_asked_is_complained_of_once(caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def run() -> None:
        async with counting(groups=True, disruption=False) as scene:
            await scene.pdb(labels={SCOPE_LABEL: "Workload"}, maxUnavailable=1)
            await scene.settle(9)
            assert complaints() == []
            await scene.settle(60)
            assert len(complaints()) == 1
            asked = len(scene.wire.sent)
            await scene.settle(60)
            assert len(scene.wire.sent) - asked < 30

    def complaints() -> list[str]:
        return [text for text in caplog.messages if "does not ask the gate" in text]

    run()


@simulated
async def test_where_all_budgets_are_ours_those_in_groups_have_no_pods_as_well() -> None:
    async with counting(groups=True, disruption=True) as scene:
        groups = Groups(scene)
        await groups.budget(maxUnavailable=1)
        [event] = await scene.events("NoPods")
        assert event["involvedObject"]["name"] == "b"


@simulated
async def test_a_misconfigured_budget_is_counted_once_and_a_warning_never() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            lws = {"leaderworkerset.sigs.k8s.io/name": name}
            await scene.pod(f"{name}-0", labels={**LABELS, **lws, "g": name})
        await groups.budget({"intact.dev/group-label-key": "g"}, maxUnavailable=1)
        assert reason_of(scene, "BudgetConfigured") == "MultipleWorkloadsDetected"
        assert scene.pdb_controller.group_recount.misconfigured == 0
        for name in ("lost", "found"):
            await scene.pod(name, labels=LABELS)
            await scene.settle()
        assert reason_of(scene, "BudgetConfigured") == "MissingWorkloadReference"
        assert scene.pdb_controller.group_recount.misconfigured == 1


def reason_of(scene: PdbScene, kind: str) -> str:
    [found] = [each.reason for each in scene.pdb_status().conditions if each.type == kind]
    return found


@simulated
async def test_surplus_costs_nothing() -> None:
    async with holding() as (scene, groups):
        await groups.group("red", 3)
        await groups.group("blue")
        await groups.budget(minAvailable=2)
        assert (groups.replicas(), scene.counters()[0]) == ((0, 2, 2, 2), 1)
        assert await scene.evict("red-0") == 200
        assert groups.replicas()[:2] == (0, 2)
        await scene.settle()
        assert scene.counters()[0] == 0
        await groups.denial("red-1")


@simulated
async def test_a_pod_that_comes_back_under_its_name_is_another() -> None:
    async with holding() as (scene, groups):
        owner = await scene.workload(STATEFUL_SET, "set", 4)
        for name in ("red", "blue"):
            await groups.group(name, owner=owner)
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0") == 200
        await groups.denial("blue-0")
        await scene.finish("red-0")
        await scene.pod("red-0", labels={**LABELS, "g": "red"}, owner=owner)
        await scene.settle()
        assert groups.replicas() == (1, 2, 1, 2)
        assert scene.pdb_status().disrupted_pods == {}
        assert await scene.evict("blue-0") == 200


@simulated
async def test_an_eviction_that_does_not_happen_is_given_back() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0", uid="another") == 409
        await scene.settle()
        assert groups.replicas()[:2] == (0, 0)
        await scene.settle(110)
        assert groups.replicas()[:2] == (0, 0)
        await scene.settle(10)
        assert groups.replicas()[:2] == (1, 1)
        assert await scene.events("NotDeleted")


@simulated
async def test_other_writers_change_nothing() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0") == 200
        before = scene.pdb_stored()
        # As the stock controller does: its own numbers, and what it has seen to go left out.
        await scene.client.patch(
            BUDGETS,
            {"status": {"disruptionsAllowed": 9, "disruptedPods": {"red-0": None}}},
            "b",
            NS,
            subresource="status",
        )
        assert scene.pdb_stored() == before
        await scene.settle()
        writes = scene.pdb_controller.group_writer.writes
        await scene.settle(60)
        assert scene.pdb_controller.group_writer.writes <= writes + 1


@simulated
async def test_without_the_label_nothing_of_ours_is_left() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert scene.pdb_stored().metadata.annotations.keys() > BY_LABEL.keys()
        labels = {"metadata": {"labels": {SCOPE_LABEL: None}}}
        await scene.client.patch(BUDGETS, labels, "b", NS)
        await scene.settle()
        assert scene.pdb_stored().metadata.annotations == BY_LABEL
        types = [each.type for each in scene.pdb_status().conditions]
        assert types == ["DisruptionAllowed"]
        await scene.set_status(disruptionsAllowed=1)
        assert scene.counters()[0] == 1


@simulated
async def test_a_source_is_followed_once_it_is_served() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await scene.pod("x", labels=LABELS)
        await groups.budget(annotations={}, minAvailable=0)
        assert groups.replicas() == (0, 0, 0, 0)
        kind = Kind(POD_GROUPS.group, "v1alpha2", "podgroups", "PodGroup")
        scene.api.register(kind)
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
        await scene.make(POD_GROUPS, "pg", spec=spec)
        for name in ("y", "z"):
            body = pod_of(name, {"schedulingGroup": {"podGroupName": "pg"}})
            await scene.client.create(PODS, body, NS)
            await scene.set_ready(name)
        await scene.settle(31)
        assert groups.replicas() == (1, 1, 0, 1)
        assert scene.counters()[:2] == (2, 2)
        await scene.client.patch(
            POD_GROUPS, {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}, "pg", NS
        )
        await scene.settle()
        assert groups.replicas() == (0, 0, 0, 1)
        await scene.client.delete(POD_GROUPS, "pg", NS)
        await scene.settle()
        assert scene.reason() == "WorkloadResolutionFailed"


def pod_of(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], **spec},
    }


@simulated
async def test_the_shape_of_1_35() -> None:
    async with holding() as (scene, groups):
        scene.api.register(Kind(WORKLOADS.group, "v1alpha1", "workloads", "Workload"))
        spec = {"podGroups": [{"name": "worker", "policy": {"gang": {"minCount": 1}}}]}
        await scene.make(WORKLOADS, "llm", spec=spec)
        for key in ("0", "1"):
            reference = {"name": "llm", "podGroup": "worker", "podGroupReplicaKey": key}
            await scene.client.create(PODS, pod_of(f"p{key}", {"workloadRef": reference}), NS)
            await scene.set_ready(f"p{key}")
        await groups.budget(annotations={}, maxUnavailable="50%")
        await scene.settle(31)
        assert groups.replicas() == (1, 2, 1, 2)
        assert await scene.evict("p0") == 200
        await groups.denial("p1")
        ledger = scene.pdb_stored().metadata.annotations["intact.dev/ledger"]
        assert msgspec.json.decode(ledger)["unavailable"] == {"llm/worker/0": 0}


@simulated
async def test_a_gate_that_has_not_seen_the_pod_yet_waits_and_denies() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        pods = scene.pdb_controller.index._pods
        hidden = pods._objects.pop((NS, "red-0"))
        eviction = asyncio.create_task(scene.evict("red-0"))
        await asyncio.sleep(1)
        assert not eviction.done()
        pods._objects[NS, "red-0"] = hidden
        assert await eviction == 200
        del pods._objects[NS, "red-1"]
        assert "pod red-1 is not known here yet" in await groups.denial("red-1")
