"""Which budgets cover which pods: computed from labels and owners, whatever comes first."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from intact.budget.pub.kept_pods import GONE_FOR
from intact.kube.transport import Request
from intact.model.pub import PodUnavailableBudget
from tests.support.objects import PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    BUDGETS,
    DEPLOYMENT,
    LWS,
    NS,
    PLAN,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    SHARD,
    STATEFUL_SET,
    Anything,
    Scene,
    running,
)

A, B = {"app": "a"}, {"app": "b"}


async def by_deployment(scene: Scene) -> Json:
    top = await scene.workload(DEPLOYMENT, "top", 3)
    await scene.workload(REPLICA_SET, "old", 0, owner=top)
    await scene.workload(REPLICA_SET, "new", 3, owner=top, pods=3)
    return top


Make = Callable[[Scene], Awaitable[Json]]
"""Makes a workload with all that stands below it, and returns it."""


def directly(resource: Anything) -> Make:
    async def make(scene: Scene) -> Json:
        return await scene.workload(resource, "top", 3, pods=3)

    return make


async def by_custom_owner_of_a_replica_set(scene: Scene) -> Json:
    top = await scene.workload(ROLLOUT, "top", 3)
    await scene.workload(REPLICA_SET, "rs", 3, owner=top, pods=3)
    return top


async def by_an_owner_of_a_deployment(scene: Scene) -> Json:
    top = await scene.workload(PLAN, "top")
    middle = await scene.workload(DEPLOYMENT, "middle", 3, owner=top)
    await scene.workload(REPLICA_SET, "rs", 3, owner=middle, pods=3)
    return top


async def lws(scene: Scene, groups: int = 2, size: int = 3) -> Json:
    """A LeaderWorkerSet above a StatefulSet above leaders, each above a StatefulSet of workers."""
    top = await scene.make(LWS, "top", spec={"replicas": groups})
    leaders = await scene.workload(STATEFUL_SET, "top", groups, owner=top, labels=A)
    for group in range(groups):
        await lws_group(scene, leaders, group, size)
    return top


async def lws_group(scene: Scene, leaders: Json, group: int, size: int = 3) -> None:
    labels = A | {"group": str(group)}
    leader = await scene.pod(f"top-{group}", owner=leaders, labels=labels)
    workers = await scene.workload(
        STATEFUL_SET, f"top-{group}", size - 1, owner=leader, labels=labels, ordinals={"start": 1}
    )
    for number in range(1, size):
        await scene.pod(f"top-{group}-{number}", owner=workers, labels=labels)


TARGETS: dict[str, tuple[Make, int]] = {
    "Deployment": (by_deployment, 3),
    "ReplicaSet": (directly(REPLICA_SET), 3),
    "StatefulSet": (directly(STATEFUL_SET), 3),
    "ReplicationController": (directly(REPLICATION_CONTROLLER), 3),
    "a custom kind": (directly(ROLLOUT), 3),
    "a custom kind that keeps its replicas elsewhere": (directly(SHARD), 3),
    "a custom kind without a scale": (directly(PLAN), 3),
    "a custom owner of a ReplicaSet": (by_custom_owner_of_a_replica_set, 3),
    "an owner of a Deployment": (by_an_owner_of_a_deployment, 3),
    "a LeaderWorkerSet": (lws, 6),
}


@pytest.mark.parametrize(("make", "total"), TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("first", ["pods", "operator"])
@simulated
async def test_a_budget_covers_the_pods_of_its_target(make: Make, total: int, first: str) -> None:
    async with running() as scene:
        if first == "operator":
            await scene.settle()
        target = await make(scene)
        await scene.pods("stranger", labels=A)
        await scene.budget(target=target)
        await scene.settle()
        assert scene.numbers() == (1, total, total - 1, total)
        protected = sorted(scene.names() - {"stranger"})
        assert await scene.delete("stranger") == 200
        assert [await scene.delete(name) for name in protected] == [200] + [429] * (total - 1)


def of(plural: str) -> Callable[[Request], bool]:
    return lambda request: plural in request.path


@pytest.mark.parametrize(("make", "total"), TARGETS.values(), ids=TARGETS)
@simulated
async def test_whatever_order_things_are_seen_in_the_chain_is_found_in_the_end(
    make: Make, total: int
) -> None:
    """Stores fill one by one: pods may be there long before their owners, or after them."""
    for late in ("pods", "replicasets", "statefulsets", "deployments"):
        async with running() as scene:
            await scene.settle()
            scene.faults.hold_watches(of(late))
            target = await make(scene)
            await scene.budget(target=target)
            await scene.settle()
            scene.faults.release_watches()
            await scene.settle()
            assert scene.numbers() == (1, total, total - 1, total), late


@simulated
async def test_a_custom_owner_above_a_replica_set_says_how_many() -> None:
    """Also by selector, and also if its kind is met for the first time."""
    async with running() as scene:
        top = await scene.workload(ROLLOUT, "top", 5)
        await scene.workload(REPLICA_SET, "old", 2, owner=top, labels=A, pods=2)
        await scene.workload(REPLICA_SET, "new", 3, owner=top, labels=A, pods=3)
        await scene.budget()
        await scene.settle()
        assert scene.numbers() == (1, 5, 4, 5)


@simulated
async def test_a_budget_by_selector_made_before_or_after_its_pods() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", labels=A)
        await scene.budget()
        await scene.pods("p2", "p3", labels=A)
        await scene.pods("q", labels=B)
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 4)


@simulated
async def test_a_label_that_changes_moves_a_pod_from_budget_to_budget() -> None:
    async with running() as scene:
        await scene.pods("a0", "a1", labels=A)
        await scene.pods("b0", "b1", labels=B)
        await scene.budget("for-a", select=A)
        await scene.budget("for-b", select=B)
        await scene.settle()
        await scene.update("a0", {"metadata": {"labels": B}})
        await scene.settle(GONE_FOR.total_seconds() + 3)
        assert scene.numbers("for-a") == (1, 1, 0, 1)
        assert scene.numbers("for-b") == (1, 3, 2, 3)
        assert [await scene.delete(name) for name in ("a0", "b0", "b1")] == [200, 429, 429]


@simulated
async def test_a_budget_in_the_place_of_another_protects_the_same_pods() -> None:
    """Nothing on a pod says which budget it belongs to, so nothing can be out of date."""
    async with running() as scene:
        await scene.pods("p0", "p1", "p2", labels=A)
        await scene.budget("old")
        await scene.settle()
        before = [one["metadata"] for one in scene.api.objects("pods", NS)]
        await scene.client.delete(BUDGETS, "old", NS)
        await scene.budget("new", maxUnavailable=0)
        await scene.settle()
        assert [one["metadata"] for one in scene.api.objects("pods", NS)] == before
        assert [await scene.delete(name) for name in ("p0", "p1", "p2")] == [429] * 3


@simulated
async def test_a_budget_deleted_and_made_again_under_its_name_is_another() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", labels=A)
        await scene.pods("q0", labels=B)
        await scene.budget(select=A)
        await scene.settle()
        await scene.client.delete(BUDGETS, "b", NS)
        await scene.budget(select=B, maxUnavailable=0)
        await scene.settle()
        assert scene.numbers() == (0, 1, 1, 1)
        assert [await scene.delete(name) for name in ("p0", "p1", "q0")] == [200, 200, 429]


@simulated
async def test_a_change_of_the_rules_is_counted_anew() -> None:
    async with running() as scene:
        for group in range(3):
            await scene.pods(f"{group}-0", f"{group}-1", labels=A | {"shard": f"s{group}"})
        await scene.budget(maxUnavailable=2)
        await scene.settle()
        assert scene.numbers() == (2, 6, 4, 6)
        policy = {"groupLabelKey": "shard", "minReadyReplicas": 2}
        await scene.client.patch(BUDGETS, {"spec": {"podGroupPolicy": policy}}, "b", NS)
        await scene.settle()
        assert scene.numbers() == (2, 3, 1, 3)
        await scene.client.patch(BUDGETS, {"spec": {"podGroupPolicy": None}}, "b", NS)
        await scene.settle()
        assert scene.numbers() == (2, 6, 4, 6)


@simulated
async def test_pods_that_are_finished_do_not_count() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", "p2", labels=A)
        await scene.budget()
        await scene.settle()
        await scene.client.patch(
            PODS, {"status": {"phase": "Succeeded"}}, "p0", NS, subresource="status"
        )
        await scene.settle()
        # As a pod that is gone, it is expected back for a while.
        assert scene.numbers() == (0, 2, 2, 3)
        await scene.settle(GONE_FOR.total_seconds())
        assert scene.numbers() == (1, 2, 1, 2)


@simulated
async def test_a_selector_that_cannot_be_read_holds_every_pod_of_its_namespace() -> None:
    async with running() as scene:
        await scene.pods("p0", labels=A)
        await scene.pods("p1", labels={"other": "x"})
        wrong = {"matchExpressions": [{"key": "app", "operator": "Is", "values": ["a"]}]}
        await scene.make(BUDGETS, "b", spec={"selector": wrong, "maxUnavailable": 0})
        await scene.settle()
        assert scene.numbers() == (0, 2, 2, 2)
        assert scene.condition("Working") == "False"
        assert [await scene.delete("p0"), await scene.evict("p1")] == [429, 429]
        await scene.client.delete(BUDGETS, "b", NS)
        await scene.settle()
        assert await scene.delete("p0") == 200


@simulated
async def test_budgets_for_the_same_pods_name_each_other() -> None:
    async with running() as scene:
        await scene.pods("p0", labels=A)
        for name, labels in (("b", A), ("wide", A), ("apart", {"app": "other"})):
            await scene.budget(name, select=labels)
        await scene.settle()
        assert [scene.condition("Overlapping", name) for name in ("b", "wide", "apart")] == [
            "True",
            "True",
            "",
        ]
        [found] = [one for one in scene.status().conditions if one.type == "Overlapping"]
        assert "these budgets cover the same pods: wide;" in found.message
        await scene.client.delete(BUDGETS, "wide", NS)
        await scene.settle()
        assert scene.condition("Overlapping") == ""


@simulated
async def test_pods_of_an_earlier_workload_of_the_name_are_counted_and_may_go() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "top", 2, pods=2)
        await scene.client.delete(STATEFUL_SET, "top", NS)
        top = await scene.workload(STATEFUL_SET, "top", 2)
        await scene.settle()
        await scene.budget(target=top, maxUnavailable=0)
        await scene.settle(5)
        assert [await scene.delete(name) for name in ("top-0", "top-1")] == [200, 200]


@simulated
async def test_workers_follow_their_leader_to_another_owner() -> None:
    async with running() as scene:
        top = await lws(scene)
        await scene.budget(target=top)
        await scene.settle()
        assert scene.status().current_available == 6
        await scene.update("top-0", {"metadata": {"ownerReferences": None}})
        await scene.settle()
        assert scene.status().current_available == 3


@simulated
async def test_a_total_that_cannot_be_read_leaves_no_pod_unprotected() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", "p2", labels=A)
        total = {"pub.kruise.io/protect-total-replicas": "9" * 5000}
        await scene.budget(annotations=total)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        assert [await scene.delete(name) for name in ("p0", "p1", "p2")] == [200, 429, 429]


@simulated
async def test_many_budgets_in_many_orders_end_with_the_same_counts() -> None:
    """Pods, labels, owners and budgets come and go at once; at the end all is as listed."""
    async with running(gate=False) as scene:
        top = await scene.workload(DEPLOYMENT, "top", 4)
        rs = await scene.workload(REPLICA_SET, "rs", 4, owner=top)

        async def churn(number: int) -> None:
            name = f"p{number}"
            await scene.pod(name, labels=A if number % 2 else B, owner=rs if number % 3 else None)
            await asyncio.sleep(number % 4)
            if number % 5 == 0:
                await scene.client.delete(PODS, name, NS, grace_period_seconds=0)
            elif number % 7 == 0:
                await scene.update(name, {"metadata": {"labels": B}})

        scene.faults.delay_watches(0, 2)
        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(churn(number))
            for name, select in (("for-a", A), ("for-b", B)):
                group.create_task(scene.budget(name, select=select, maxUnavailable="100%"))
            group.create_task(scene.budget("for-top", target=top, maxUnavailable="100%"))
        await scene.settle(10)
        listed = list(scene.api.objects("pods", NS))
        for name, labels in (("for-a", A), ("for-b", B)):
            selected = [one for one in listed if one["metadata"]["labels"] == labels]
            assert scene.status(name).current_available == len(selected)
        owned = [one for one in listed if one["metadata"].get("ownerReferences")]
        assert scene.status("for-top").current_available == len(owned)


@simulated
async def test_the_largest_group_of_a_budget_that_is_not_stored_yet() -> None:
    async with running() as scene:
        top = await scene.workload(STATEFUL_SET, "top", 3, labels=A)
        await scene.pods("x-0", "x-1", labels=A | {"shard": "x"})
        await scene.pods("y-0", owner=top, labels=A | {"shard": "y"})
        await scene.pods("no-shard", "none", "either", labels=A)
        await scene.pods("b-0", "b-1", "b-2", labels=B | {"shard": "x"})
        await scene.settle()

        def largest(**covers: object) -> int:
            spec = covers | {"podGroupPolicy": {"groupLabelKey": "shard"}}
            body = {"metadata": {"name": "b"}, "spec": spec}
            return scene.controller.index.largest_group(
                msgspec.convert(body, PodUnavailableBudget), NS
            )

        assert largest(selector={"matchLabels": A}) == 2
        target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "top"}
        assert largest(targetRef=target) == 1
        assert largest(selector={"matchLabels": {"app": "none"}}) == 0
        assert largest() == 0


BATCH = "batch.coordination.workloads.x-k8s.io/pair"


async def batched(scene: Scene, group: str, size: str | None = "2") -> None:
    """Two pods of batch 0 of a RoleBasedGroup."""
    labels = A | {BATCH: "0", "rolebasedgroup.workloads.x-k8s.io/name": group}
    annotations = {} if size is None else {"intact.dev/batch-size": size}
    await scene.pods(f"{group}-0", f"{group}-1", labels=labels, annotations=annotations)


@simulated
async def test_batches_are_counted_by_group_and_number_with_the_size_that_they_state() -> None:
    async with running() as scene:
        await batched(scene, "llm")
        await batched(scene, "chat", "3")  # one of its pods is missing
        await scene.budget(maxUnavailable=1, podGroupPolicy={"groupLabelKey": BATCH})
        await scene.settle()
        # Allowed, available, required and all: one of the two is down.
        assert scene.numbers() == (0, 1, 1, 2)
        assert [await scene.delete(name) for name in ("chat-0", "llm-0")] == [200, 429]


@simulated
async def test_pods_of_batches_whose_size_is_unknown_are_units_of_their_own() -> None:
    async with running() as scene:
        await batched(scene, "llm", None)
        await scene.budget(maxUnavailable=1, podGroupPolicy={"groupLabelKey": BATCH})
        await scene.settle()
        assert scene.numbers() == (1, 2, 1, 2)
        assert [await scene.delete(name) for name in ("llm-0", "llm-1")] == [200, 429]


@simulated
async def test_the_budget_may_state_the_need_of_batches() -> None:
    async with running() as scene:
        await batched(scene, "llm", None)
        policy = {"groupLabelKey": BATCH, "minReadyReplicas": 1}
        await scene.budget(maxUnavailable=1, podGroupPolicy=policy)
        await scene.settle()
        assert scene.numbers() == (1, 1, 0, 1)
