"""A leader gets its workers, and a pod that ends or restarts takes its group with it."""

import asyncio

import pytest

from intact.sandbox.controllers.leader_worker_set.kind import EXCLUSIVE
from intact.sandbox.kubelet.annotations import UNREADY
from tests.support.objects import PODS
from tests.unit.kube.simulated import simulated
from tests.unit.sandbox.controllers.leader_worker_set.scene import (
    NS,
    Scene,
    leader_worker_set,
    scene,
)


def uids(found: Scene, group: str) -> set[str]:
    return {
        pod["metadata"]["uid"]
        for name, pod in found.pods.items()
        if name == group or name.startswith(f"{group}-")
    }


@simulated
async def test_workers_wait_for_their_leader_if_they_should() -> None:
    body = leader_worker_set(startupPolicy="LeaderReady")
    leader = {"metadata": {"annotations": {UNREADY: "true"}}}
    template = body["spec"]["leaderWorkerTemplate"]
    template["leaderTemplate"] = {**template["workerTemplate"], **leader}
    async with scene(body, ready=False) as found:
        await asyncio.sleep(10)
        assert sorted(found.pods) == ["llm-0", "llm-1"]
        annotations = {"metadata": {"annotations": {UNREADY: None}}}
        await found.sandbox.client().patch(PODS, annotations, "llm-0", NS)
        await asyncio.sleep(10)
        assert sorted(found.pods) == ["llm-0", "llm-0-1", "llm-0-2", "llm-1"]


@simulated
async def test_an_exclusive_group_is_alone_in_its_domain() -> None:
    body = leader_worker_set(replicas=3)
    body["metadata"]["annotations"] = {EXCLUSIVE: "rack"}
    async with scene(body, nodes=2, ready=False) as found:
        await asyncio.sleep(30)
        nodes = {name: one["spec"].get("nodeName") for name, one in found.pods.items()}
        placed = {name for name, node in nodes.items() if node}
        groups = {"-".join(name.split("-")[:2]) for name in placed}
        assert len(groups) == 2
        assert len(placed) == 6
        for group in groups:
            assert len({nodes[f"{group}{end}"] for end in ("", "-1", "-2")}) == 1
        # The third has nowhere to go: its leader waits, and gets no workers.
        assert len(nodes) == 7


@simulated
async def test_a_deleted_worker_ends_its_leader_which_is_gone_only_after_its_workers() -> None:
    async with scene(leader_worker_set()) as found:
        await found.delete("llm-0-1")
        await asyncio.sleep(0.5)
        leader = found.pods["llm-0"]["metadata"]
        assert "deletionTimestamp" in leader
        assert leader["finalizers"] == ["foregroundDeletion"]
        assert "deletionTimestamp" not in found.pods["llm-1"]["metadata"]


@pytest.mark.parametrize("name", ["llm-0", "llm-0-1"])
def test_a_deleted_pod_takes_its_group_with_it(name: str) -> None:
    @simulated
    async def course() -> None:
        async with scene(leader_worker_set()) as found:
            before, other = uids(found, "llm-0"), uids(found, "llm-1")
            await found.delete(name)
            await found.until(lambda: not before & uids(found, "llm-0"))
            await found.until_available()
            assert len(uids(found, "llm-0")) == 3
            assert uids(found, "llm-1") == other

    course()


@simulated
async def test_a_restarted_container_takes_its_group_with_it() -> None:
    async with scene(leader_worker_set()) as found:
        before, other = uids(found, "llm-0"), uids(found, "llm-1")
        restarted = [{"name": "main", "restartCount": 1, "ready": True}]
        status = {"status": {"containerStatuses": restarted}}
        await found.sandbox.client().patch(PODS, status, "llm-0-2", NS, subresource="status")
        await found.until(lambda: not before & uids(found, "llm-0"))
        await found.until_available()
        assert uids(found, "llm-1") == other


@simulated
async def test_without_that_policy_only_the_pod_comes_back() -> None:
    body = leader_worker_set()
    body["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "None"
    async with scene(body) as found:
        before = uids(found, "llm-0")
        await found.delete("llm-0-1")
        await asyncio.sleep(10)
        await found.until_available()
        assert len(before & uids(found, "llm-0")) == 2
