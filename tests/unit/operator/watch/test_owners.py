"""The owners above pods: found in stores, or asked for."""

import asyncio

import pytest

from intact.kube.resources import PODS as POD_VIEWS
from intact.model.pod import Pod
from intact.operator.watch.owners import Chain
from intact.sandbox import Moment
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    DEPLOYMENT,
    LWS_GROUP,
    NS,
    PLAN,
    REPLICA_SET,
    ROLLOUT,
    SETS_GROUP,
    STATEFUL_SET,
    Scene,
    running,
)
from tests.unit.operator.pub.test_index import A, lws


async def read(scene: Scene, name: str) -> Pod:
    return await scene.client.get(POD_VIEWS, name, NS)


def kinds(chain: Chain) -> list[str]:
    return [f"{owner.kind} {owner.name}" for owner in chain.owners]


WORKER_CHAIN = [
    "StatefulSet top-0",
    "Pod top-0",
    "StatefulSet top",
    "LeaderWorkerSet top",
]


@simulated
async def test_the_chain_of_a_worker_leads_through_its_leader() -> None:
    async with running() as scene:
        await lws(scene)
        await scene.settle()
        worker, leader = await read(scene, "top-0-1"), await read(scene, "top-0")
        assert kinds(scene.controller.workloads.chain(worker)) == WORKER_CHAIN
        assert kinds(scene.controller.workloads.chain(leader)) == WORKER_CHAIN[2:]
        top = scene.controller.workloads.chain(leader).owners[-1].group_kind
        assert top == ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


@simulated
async def test_a_pod_without_an_owner_has_an_empty_chain() -> None:
    async with running() as scene:
        await scene.pods("alone")
        await scene.settle()
        assert scene.controller.workloads.chain(await read(scene, "alone")) == Chain()


@pytest.mark.parametrize("hidden", ["statefulsets", "pods", ""])
@simulated
async def test_what_is_not_in_a_store_yet_is_asked_for(hidden: str) -> None:
    async with running() as scene:
        await scene.settle()
        scene.faults.hold_watches(lambda request: hidden in request.path)
        await lws(scene)
        await scene.settle()
        worker = await read(scene, "top-0-1")
        short = scene.controller.workloads.chain(worker)
        assert kinds(short) != WORKER_CHAIN
        assert not short.complete
        assert kinds(await scene.controller.workloads.complete(worker)) == WORKER_CHAIN


@simulated
async def test_an_owner_that_is_gone_ends_the_chain() -> None:
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 1)
        rs = await scene.workload(REPLICA_SET, "rs", 1, owner=top, pods=1)
        await scene.client.delete(REPLICA_SET, "rs", NS)
        await scene.workload(REPLICA_SET, "rs", 1, owner=None)
        await scene.settle()
        pod = await read(scene, "rs-0")
        chain = await scene.controller.workloads.complete(pod)
        assert [owner.uid for owner in chain.owners] == [rs["metadata"]["uid"]]


@simulated
async def test_owners_in_a_circle_end() -> None:
    async with running() as scene:
        plan = await scene.make(PLAN, "circle")
        refer: Json = {"apiVersion": plan["apiVersion"], "kind": "Plan", "controller": True}
        refer |= {"name": "circle", "uid": plan["metadata"]["uid"]}
        await scene.client.patch(PLAN, {"metadata": {"ownerReferences": [refer]}}, "circle", NS)
        await scene.pod("p", owner=plan, labels=A)
        await scene.budget()
        await scene.settle()
        assert len(scene.controller.workloads.chain(await read(scene, "p")).owners) == 10
        assert scene.numbers() == (1, 1, 0, 1)


class TestKinds:
    """Kinds that are not built in are found out about when they are first met."""

    @simulated
    async def test_only_where_there_is_a_budget(self) -> None:
        async with running() as scene:
            await scene.workload(ROLLOUT, "top", 1, pods=1, labels=A)
            await scene.settle()
            assert (SETS_GROUP, "Rollout") not in scene.controller.workloads.reflectors
            await scene.budget()
            await scene.settle()
            assert (SETS_GROUP, "Rollout") in scene.controller.workloads.reflectors
            assert scene.controller.workloads.has_scale((SETS_GROUP, "Rollout"))

    @simulated
    async def test_also_above_other_owners(self) -> None:
        async with running() as scene:
            await lws(scene)
            await scene.budget()
            await scene.settle()
            assert (LWS_GROUP, "LeaderWorkerSet") in scene.controller.workloads.reflectors

    @simulated
    async def test_one_without_a_scale(self) -> None:
        async with running() as scene:
            await scene.workload(PLAN, "top", pods=1, labels=A)
            await scene.budget()
            await scene.settle()
            assert (SETS_GROUP, "Plan") in scene.controller.workloads.reflectors
            assert not scene.controller.workloads.has_scale((SETS_GROUP, "Plan"))

    @simulated
    async def test_one_that_the_server_does_not_know_is_looked_for_again(self) -> None:
        async with running() as scene:
            owner: Json = {
                "apiVersion": f"{SETS_GROUP}/v1",
                "kind": "Unheard",
                "metadata": {"name": "top", "uid": "some-uid"},
            }
            await scene.pod("p", owner=owner, labels=A)
            await scene.budget()
            await scene.settle(200)
            assert (SETS_GROUP, "Unheard") not in scene.controller.workloads.reflectors
            asked = scene.wires[0].count("GET", f"/apis/{SETS_GROUP}/v1")
            assert 2 <= asked <= 6
            assert scene.numbers() == (1, 1, 0, 1)

    @simulated
    async def test_one_that_a_budget_names_in_a_version_that_is_not_served(self) -> None:
        async with running() as scene:
            odd = {"apiVersion": f"{SETS_GROUP}/v0", "kind": "Rollout", "metadata": {"name": "top"}}
            await scene.budget("odd", target=odd)
            await scene.settle()
            await scene.workload(ROLLOUT, "top", 4, pods=3, labels=A)
            await scene.budget()
            await scene.settle()
            for name in ("odd", "b"):
                assert scene.numbers(name) == (0, 3, 3, 4)

    @simulated
    async def test_one_that_may_not_be_followed_holds_up_nobody(self) -> None:
        """All else is counted; and a replica that starts anew can still lead."""
        async with running(controllers=2) as scene:
            scene.faults.fail_randomly(
                1.0,
                Moment.BEFORE,
                lambda request: request.method == "GET" and request.path.endswith("/plans"),
            )
            await scene.workload(PLAN, "top", pods=2, labels=A)
            await scene.workload(STATEFUL_SET, "one", 3, pods=3, labels={"app": "b"})
            await scene.budget("for-a")
            await scene.budget("for-b", select={"app": "b"})
            await scene.settle(10)
            assert scene.numbers("for-b") == (1, 3, 2, 3)
            scene.leader = 1
            leading = asyncio.create_task(scene.controllers[1].lead())
            await scene.settle(10)
            await scene.set_ready("one-0", False)
            await scene.settle(10)
            assert scene.numbers("for-b") == (0, 2, 2, 3)
            leading.cancel()


@simulated
async def test_workloads_are_found_by_uid_and_by_owner() -> None:
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 1)
        rs = await scene.workload(REPLICA_SET, "rs", 1, owner=top)
        await scene.settle()
        workloads = scene.controller.workloads
        found = workloads.by_uid(rs["metadata"]["uid"])
        assert found is not None
        assert (found[0], found[1].metadata.name) == (("apps", "ReplicaSet"), "rs")
        assert workloads.by_uid("nobody") is None
        below = workloads.owned_by(top["metadata"]["uid"])
        assert [one.metadata.name for one in below] == ["rs"]
