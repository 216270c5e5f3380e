"""Evictions by the logic of KEP-5682, on the server that has its fields."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import ApiError, Forbidden, Invalid, TooManyRequests
from intact.kube.resources import untyped
from intact.sandbox import MemoryApi, run
from tests.support.objects import PDBS, PODS, Json, pod

NS = "default"
POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
NEED = 2


class Scene:
    """Groups that need two pods each, and a budget that was counted by hand."""

    def __init__(self) -> None:
        self.api = MemoryApi(budget_scope=True)
        self.client = Client(self.api, on_warning=lambda _text: None)

    async def group(self, name: str, ready: int, unready: int = 0) -> None:
        spec = {"schedulingPolicy": {"gang": {"minCount": NEED}}}
        await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, NS)
        for number in range(ready + unready):
            reference = {"schedulingGroup": {"podGroupName": name}}
            await self.pod(f"{name}-{number}", reference, ready=number < ready)

    async def pod(self, name: str, spec: Json, *, ready: bool = True) -> None:
        body = pod(name, node="n", labels={"app": "a"})
        body["spec"] |= spec
        await self.client.create(PODS, body, NS)
        conditions = [{"type": "Ready", "status": str(ready)}]
        status = {"phase": "Running", "conditions": conditions}
        await self.client.patch(PODS, {"status": status}, name, NS, subresource="status")

    async def budget(
        self, allowed: int, desired: int, policy: str = "", generation: int = 1
    ) -> None:
        spec: Json = {
            "budgetScope": "Workload",
            "minAvailable": desired,
            "selector": {"matchLabels": {"app": "a"}},
        }
        if policy:
            spec["unhealthyPodEvictionPolicy"] = policy
        await self.client.create(PDBS, {"metadata": {"name": "b"}, "spec": spec}, NS)
        status = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "disruptionsAllowedReplicas": allowed,
            "desiredHealthyReplicas": desired,
        }
        await self.client.patch(PDBS, {"status": status}, "b", NS, subresource="status")

    def status(self) -> Json:
        found = self.api.peek(PDBS.full_name, NS, "b")
        assert found is not None
        status: Json = found["status"]
        return status

    async def evict(self, name: str, **options: Any) -> str:
        """`cost`, `free`, or why not."""
        before = self.status()["disruptionsAllowedReplicas"]
        try:
            await self.client.evict(PODS, name, NS, **options)
        except TooManyRequests as denied:
            [cause] = denied.causes
            return cause.message if cause.reason == "DisruptionBudget" else cause.reason
        after = self.status()
        assert after["disruptionsAllowed"] == after["disruptionsAllowedReplicas"]
        return "free" if after["disruptionsAllowedReplicas"] == before else "cost"


SCARCE = "The disruption budget b needs 1 healthy replicas and has 1 currently"
BROKEN = "The disruption budget b needs 1 healthy replicas and has 0 currently: {}"
ENOUGH = "such pods go only while enough replicas are available"
PARTS = "pods of broken replicas go only while there are enough"
DECISIONS: dict[str, tuple[dict[str, tuple[int, int]], int, int, str, list[tuple[str, str]]]] = {
    "a group, then the rest of it, and no other": (
        {"a": (2, 0), "b": (2, 0)}, 1, 1, "",
        [("a-0", "cost"), ("b-0", SCARCE), ("a-1", "free"), ("b-1", SCARCE)],
    ),
    "surplus costs nothing": (
        {"a": (3, 0)}, 0, 1, "", [("a-0", "free"), ("a-1", SCARCE)],
    ),
    "what the controller has not allowed yet does not go": (
        {"a": (2, 0), "b": (2, 0)}, 0, 1, "",
        [("a-0", "The disruption budget b does not allow evicting pods currently")],
    ),
    "pods of a broken group go while there are enough": (
        {"a": (1, 1), "b": (2, 0)}, 0, 1, "", [("a-0", "free"), ("a-1", "free")],
    ),
    "fragile groups do not go": (
        {"a": (1, 1), "b": (1, 1)}, 0, 1, "",
        [("a-0", BROKEN.format(PARTS)), ("a-1", BROKEN.format(ENOUGH))],
    ),
    "unless the policy lets them": (
        {"a": (1, 1), "b": (1, 1)}, 0, 1, "AlwaysAllow", [("a-0", "free"), ("a-1", "free")],
    ),
    "the policy does not open groups that are whole": (
        {"a": (2, 0)}, 0, 1, "AlwaysAllow", [("a-0", SCARCE)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "allowed", "desired", "policy", "steps"), DECISIONS.values(), ids=DECISIONS
)
def test_an_eviction_costs_its_group(
    groups: dict[str, tuple[int, int]],
    allowed: int,
    desired: int,
    policy: str,
    steps: list[tuple[str, str]],
) -> None:
    async def play() -> None:
        scene = Scene()
        for name, (ready, unready) in groups.items():
            await scene.group(name, ready, unready)
        await scene.budget(allowed, desired, policy)
        for name, answer in steps:
            assert await scene.evict(name) == answer, name

    run(play())


def test_an_eviction_is_recorded_with_its_condition() -> None:
    async def play() -> None:
        scene = Scene()
        for name in ("a", "b"):
            await scene.group(name, 3)
        await scene.budget(1, 1)
        assert await scene.evict("a-0", dry_run=True) == "free"
        assert "disruptedPods" not in scene.status()
        assert await scene.evict("a-0") == "free"
        assert await scene.evict("a-1") == "cost"
        status = scene.status()
        assert list(status["disruptedPods"]) == ["a-0", "a-1"]
        [condition] = status["conditions"]
        assert (condition["type"], condition["status"]) == ("DisruptionAllowed", "False")
        assert condition["reason"] == "InsufficientReplicas"

    run(play())


def test_two_evictions_do_not_both_take_the_last_surplus_pod() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.group("a", 3)
        await scene.budget(0, 1)
        answers = await asyncio.gather(scene.evict("a-0"), scene.evict("a-1"))
        assert sorted(answers) == sorted(["free", SCARCE])

    run(play(), seed=1)


def test_pods_without_a_group_or_whose_group_is_undefined_stay() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.group("a", 3)
        await scene.pod("lost", {})
        await scene.budget(1, 0)
        assert await scene.evict("lost") == (
            "The disruption budget b counts PodGroups, and pod lost is missing the workload "
            "reference"
        )
        assert await scene.evict("a-0") == "free"
        await scene.pod("odd", {"schedulingGroup": {"podGroupName": "nowhere"}})
        unknown = "The disruption budget b cannot resolve the groups of its pods: nowhere"
        assert await scene.evict("odd") == unknown
        assert await scene.evict("a-1") == unknown

    run(play())


@pytest.mark.parametrize("field", ["workload", "workloadReference", "workloadRef"])
def test_pods_name_their_workload_as_the_kep_writes_it_and_as_1_35_does(field: str) -> None:
    async def play() -> None:
        scene = Scene()
        worker = {"name": "worker", "replicas": 2, "policy": {"gang": {"minCount": NEED}}}
        body = {"metadata": {"name": "job"}, "spec": {"podGroups": [worker]}}
        await scene.client.create(WORKLOADS, body, NS)
        for key in ("0", "1"):
            for number in range(NEED):
                part = {"name": "job", "podGroup": "worker", "podGroupReplicaKey": key}
                await scene.pod(f"{key}-{number}", {field: part})
        await scene.budget(1, 1)
        assert await scene.evict("0-0") == "cost"
        assert await scene.evict("1-0") == SCARCE
        assert await scene.evict("0-1") == "free"

    run(play())


def test_numbers_of_another_generation_are_not_believed() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.group("a", 2, 1)
        await scene.budget(1, 0, generation=0)
        processed = "The disruption budget b is still being processed by the server."
        assert await scene.evict("a-0") == processed
        assert await scene.evict("a-2") == processed
        status = {"observedGeneration": 1, "disruptionsAllowed": -1}
        await scene.client.patch(PDBS, {"status": status}, "b", NS, subresource="status")
        with pytest.raises(Forbidden):
            await scene.evict("a-0")

    run(play())


def test_a_pod_that_comes_back_under_its_name_is_counted() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.group("a", 2)
        await scene.budget(1, 0)
        assert await scene.evict("a-0") == "cost"
        await scene.api.finish_pod(NS, "a-0")
        await asyncio.sleep(5)
        await scene.pod("a-0", {"schedulingGroup": {"podGroupName": "a"}})
        assert "does not allow" in await scene.evict("a-1")

    run(play())


def test_the_scope_takes_three_words_may_change_and_stays_as_it_was_written() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.budget(1, 1)
        stored = await scene.client.get(PDBS, "b", NS)
        for word in ("Pod", "PodGroup", "Workload"):
            changed = {"spec": {"budgetScope": word}}
            stored = await scene.client.patch(PDBS, changed, "b", NS)
            assert stored["spec"]["budgetScope"] == word
        assert stored["metadata"]["generation"] == 4
        with pytest.raises(Invalid) as refused:
            await scene.client.patch(PDBS, {"spec": {"budgetScope": "Group"}}, "b", NS)
        assert str(refused.value) == (
            'PodDisruptionBudget.policy "b" is invalid: spec.budgetScope: Unsupported value: '
            '"Group": supported values: "Pod", "PodGroup", "Workload"'
        )
        stored = await scene.client.patch(PDBS, {"spec": {"budgetScope": None}}, "b", NS)
        assert "budgetScope" not in stored["spec"]

    run(play())


def test_a_budget_in_pods_shows_the_same_number_in_replicas() -> None:
    async def play() -> None:
        scene = Scene()
        await scene.group("a", 3)
        await scene.budget(2, 1)
        await scene.client.patch(PDBS, {"spec": {"budgetScope": "Pod"}}, "b", NS)
        status = {"observedGeneration": 2}
        await scene.client.patch(PDBS, {"status": status}, "b", NS, subresource="status")
        assert await scene.evict("a-0") == "cost"
        assert await scene.evict("a-1") == "cost"
        with pytest.raises(ApiError):
            await scene.client.evict(PODS, "a-2", NS)
        assert scene.status()["conditions"][0]["reason"] == "InsufficientPods"

    run(play())
