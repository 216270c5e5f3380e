"""The owners above pods: found in stores, or asked for."""

import pytest

from intact.kube.resources import PODS as POD_VIEWS
from intact.model.pod import Pod
from intact.operator.watch.owners import Chain, Workloads
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    DEPLOYMENT,
    NS,
    PLAN,
    REPLICA_SET,
    ROLLOUT,
    STATEFUL_SET,
    Scene,
    running,
)
from tests.unit.operator.pub.test_index import A, lws


async def read(scene: Scene, name: str) -> Pod:
    return await scene.client.get(POD_VIEWS, name, NS)


def workloads(scene: Scene) -> Workloads:
    return scene.controller.workloads


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
        assert kinds(workloads(scene).chain(worker)) == WORKER_CHAIN
        assert kinds(workloads(scene).chain(leader)) == WORKER_CHAIN[2:]
        top = workloads(scene).chain(leader).owners[-1].group_kind
        assert top == ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


@simulated
async def test_a_pod_without_an_owner_has_an_empty_chain() -> None:
    async with running() as scene:
        await scene.pods("alone")
        await scene.settle()
        assert workloads(scene).chain(await read(scene, "alone")) == Chain()


@pytest.mark.parametrize("hidden", ["statefulsets", "pods", ""])
@simulated
async def test_what_is_not_in_a_store_yet_is_asked_for(hidden: str) -> None:
    async with running() as scene:
        await scene.settle()
        scene.faults.hold_watches(lambda request: hidden in request.path)
        await lws(scene)
        await scene.settle()
        worker = await read(scene, "top-0-1")
        short = workloads(scene).chain(worker)
        assert kinds(short) != WORKER_CHAIN
        assert not short.complete
        assert kinds(await workloads(scene).complete(worker)) == WORKER_CHAIN


@simulated
async def test_an_owner_that_is_gone_ends_the_chain() -> None:
    async with running() as scene:
        top = await scene.workload(ROLLOUT, "top", 1)
        sts = await scene.workload(STATEFUL_SET, "sts", 1, owner=top, pods=1)
        await scene.client.delete(STATEFUL_SET, "sts", NS)
        await scene.workload(STATEFUL_SET, "sts", 1, owner=None)
        await scene.settle()
        pod = await read(scene, "sts-0")
        chain = await workloads(scene).complete(pod)
        assert [owner.uid for owner in chain.owners] == [sts["metadata"]["uid"]]


@simulated
async def test_the_chain_leads_through_a_replica_set_that_is_gone() -> None:
    """Its Deployment makes another one, and still wants the pods of both."""
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 1)
        old = await scene.workload(REPLICA_SET, "rs", 1, owner=top, pods=1)
        await scene.workload(REPLICA_SET, "alone", 1, pods=1)
        await scene.settle()
        for name in ("rs", "alone"):
            await scene.client.delete(REPLICA_SET, name, NS)
        await scene.workload(REPLICA_SET, "rs", 1, owner=top)
        await scene.settle()
        chain = await workloads(scene).complete(await read(scene, "rs-0"))
        uids = [old["metadata"]["uid"], top["metadata"]["uid"]]
        assert [owner.uid for owner in chain.owners] == uids
        chain = await workloads(scene).complete(await read(scene, "alone-0"))
        assert kinds(chain) == ["ReplicaSet alone"]


@simulated
async def test_owners_that_want_pods_are_told_from_others() -> None:
    async with running() as scene:
        rollout = await scene.workload(ROLLOUT, "rollout", 2)
        top = await scene.workload(DEPLOYMENT, "top", 0, owner=rollout)
        rs = await scene.workload(REPLICA_SET, "rs", 2, owner=top, pods=1)
        await scene.settle()
        pod = await read(scene, "rs-0")
        known, uids = workloads(scene), [each["metadata"]["uid"] for each in (rs, rollout)]
        chain = await known.complete(pod)
        assert kinds(chain) == ["ReplicaSet rs", "Deployment top", "Rollout rollout"]
        await scene.settle()
        # The scale of a custom kind costs a request.
        asked = scene.wires[0].count("GET", "/scale")
        assert await known.wanting(pod, chain, ()) == (uids[0],)
        assert scene.wires[0].count("GET", "/scale") == asked
        assert await known.wanting(pod, chain, uids) == tuple(uids)
        await scene.scale(ROLLOUT, "rollout", 0)
        await scene.scale(REPLICA_SET, "rs", 0)
        await scene.settle()
        assert await known.wanting(pod, chain, uids) == ()


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
        assert len(workloads(scene).chain(await read(scene, "p")).owners) == 10
        assert scene.numbers() == (1, 1, 0, 1)


@simulated
async def test_workloads_are_found_by_uid_and_by_owner() -> None:
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 1)
        rs = await scene.workload(REPLICA_SET, "rs", 1, owner=top)
        await scene.settle()
        known = workloads(scene)
        found = known.by_uid(rs["metadata"]["uid"])
        assert found is not None
        assert (found[0], found[1].metadata.name) == (("apps", "ReplicaSet"), "rs")
        assert known.by_uid("nobody") is None
        below = known.owned_by(top["metadata"]["uid"])
        assert [one.metadata.name for one in below] == ["rs"]
