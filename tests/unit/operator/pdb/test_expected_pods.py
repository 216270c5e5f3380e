"""How many pods the controllers of a budget's pods want. Names as in the tests of Kubernetes' own
disruption controller, where it has any; numbers are (disruptionsAllowed, currentHealthy,
desiredHealthy, expectedPods)."""

from typing import Any

import pytest

from tests.support.objects import PODS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import counting
from tests.unit.operator.pub.scene import (
    DEPLOYMENT,
    FLEET,
    JOB,
    NS,
    PLAN,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SHARD,
    STATEFUL_SET,
)

A = {"app": "a"}


@pytest.mark.parametrize("resource", [REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET, SHARD])
def test_the_scale_of_the_controller_is_expected(resource: Any) -> None:
    @simulated
    async def run() -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable="34%")
            made = await scene.workload(resource, "w", 3, labels=A)
            await scene.settle()
            # With no pods the budget does not know of it.
            assert scene.counters() == (0, 0, 0, 0)
            for number, expected in enumerate([(0, 1, 2, 3), (0, 2, 2, 3), (1, 3, 2, 3)]):
                await scene.pod(f"w-{number}", labels=A, owner=made)
                await scene.settle()
                assert scene.counters() == expected
            await scene.pod("rogue", labels=A)
            await scene.settle()
            assert scene.counters() == (2, 4, 2, 3)

    run()


@simulated
async def test_two_controllers_add_up() -> None:
    async with counting() as scene:
        await scene.pdb(minAvailable="28%")
        await scene.workload(REPLICATION_CONTROLLER, "rc", 11, labels=A, pods=5)
        await scene.settle()
        assert scene.counters() == (1, 5, 4, 11)
        deployment = await scene.workload(DEPLOYMENT, "d", 11, labels=A)
        await scene.workload(REPLICA_SET, "rs", 4, owner=deployment, labels=A, pods=4)
        await scene.settle()
        assert scene.counters() == (2, 9, 7, 22)


@simulated
async def test_a_replica_set_stands_for_its_deployment_once() -> None:
    async with counting() as scene:
        deployment = await scene.workload(DEPLOYMENT, "d", 5, labels=A)
        await scene.workload(REPLICA_SET, "old", 2, owner=deployment, labels=A, pods=2)
        await scene.workload(REPLICA_SET, "new", 4, owner=deployment, labels=A, pods=4)
        await scene.pdb(maxUnavailable=1)
        await scene.settle()
        assert scene.counters() == (2, 6, 4, 5)
        await scene.scale(DEPLOYMENT, "d", 7)
        await scene.settle()
        assert scene.counters() == (0, 6, 6, 7)


@simulated
async def test_a_replica_set_whose_deployment_is_gone_counts_itself() -> None:
    async with counting() as scene:
        deployment = await scene.workload(DEPLOYMENT, "d", 5, labels=A)
        await scene.workload(REPLICA_SET, "rs", 3, owner=deployment, labels=A, pods=3)
        await scene.pdb(maxUnavailable=1)
        await scene.settle()
        assert scene.counters() == (0, 3, 4, 5)
        await scene.client.delete(DEPLOYMENT, "d", NS)
        await scene.settle()
        assert scene.counters() == (1, 3, 2, 3)


@pytest.mark.parametrize(
    ("resource", "problem"),
    [
        (JOB, "jobs.batch does not implement the scale subresource"),
        (PLAN, "plans.sets.example.com does not implement the scale subresource"),
    ],
)
def test_a_controller_without_a_scale_fails_safe(resource: Any, problem: str) -> None:
    @simulated
    async def run() -> None:
        async with counting() as scene:
            await scene.pdb(maxUnavailable=1)
            await scene.pdb("counted", minAvailable=1)
            await scene.workload(resource, "w", labels=A, pods=2)
            await scene.settle()
            [condition] = scene.pdb_status().conditions
            assert (condition.status, condition.reason) == ("False", "SyncFailed")
            assert condition.message == problem
            assert scene.counters("counted") == (1, 2, 1, 2)
            [event] = await scene.events("CalculateExpectedPodCountFailed")
            assert problem in event["message"]

    run()


@simulated
async def test_a_controller_without_a_namespace_fails_safe() -> None:
    """Kubernetes' own controller asks for its scale in the namespace of the pod."""
    async with counting() as scene:
        await scene.workload(FLEET, "fleet", 2, labels=A, pods=2)
        await scene.pdb(maxUnavailable=1)
        await scene.settle()
        assert scene.counters() == (0, 0, 0, 0)
        [condition] = scene.pdb_stored().status.conditions
        assert (condition.reason, condition.message) == (
            "SyncFailed",
            'found no controllers for pod "fleet-0"',
        )


@simulated
async def test_a_kind_that_the_server_does_not_know_fails_safe() -> None:
    async with counting() as scene:
        await scene.pdb(minAvailable="28%")
        owner = {
            "apiVersion": "apps.test.io/v1",
            "kind": "TestWorkload",
            "metadata": {"name": "w", "uid": "b7329742"},
        }
        await scene.pod("p", labels=A, owner=owner)
        await scene.settle()
        [condition] = scene.pdb_status().conditions
        text = 'no matches for kind "TestWorkload" in version "apps.test.io/v1"'
        assert (condition.reason, condition.message) == ("SyncFailed", text)


@simulated
async def test_a_controller_that_is_gone_fails_safe_and_changes_nothing_else() -> None:
    async with counting() as scene:
        await scene.pdb(maxUnavailable=1)
        await scene.workload(STATEFUL_SET, "s", 2, labels=A, pods=2)
        await scene.settle()
        assert scene.counters() == (1, 2, 1, 2)
        generation = scene.pdb_status().observed_generation
        await scene.client.delete(STATEFUL_SET, "s", NS)
        await scene.edit(maxUnavailable=2)
        await scene.settle()
        assert scene.counters() == (0, 2, 1, 2)
        assert scene.pdb_status().observed_generation == generation
        assert scene.reason() == "SyncFailed"
        [condition] = scene.pdb_status().conditions
        assert condition.message == 'found no controllers for pod "s-0"'


@simulated
async def test_a_budget_whose_pods_lose_a_missing_controller_is_counted_again() -> None:
    async with counting() as scene:
        await scene.pdb(maxUnavailable=1)
        made = await scene.workload(STATEFUL_SET, "s", 2, labels=A, pods=2)
        await scene.client.delete(STATEFUL_SET, "s", NS)
        await scene.settle()
        assert scene.reason() == "SyncFailed"
        for name in ("s-0", "s-1"):
            await scene.client.patch(PODS, {"metadata": {"ownerReferences": None}}, name, NS)
        await scene.settle()
        assert (scene.reason(), made["kind"]) == ("InsufficientPods", "StatefulSet")
