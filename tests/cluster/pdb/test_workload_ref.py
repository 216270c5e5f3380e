"""Groups of Kubernetes 1.35: pods name a Workload in `spec.workloadRef`, and no object stands for a
group. Kubernetes 1.36 has PodGroups in its place."""

import asyncio
from collections.abc import Iterator

import pytest

from intact.kube.resources import untyped
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.leader_worker_sets import install_sets, remove_sets
from tests.support.namespace_under_test import NamespaceUnderTest, groups_down
from tests.support.objects import PODS, Json, pod
from tests.support.pdb_groups import Groups, condition, replicas, spread
from tests.support.rbg_waiting import SETS

pytestmark = [
    pytest.mark.kubernetes_version("since", "1.35", "the API server has Workloads since 1.35"),
    pytest.mark.kubernetes_version("before", "1.36", "since 1.36 pods name a PodGroup instead"),
]
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


async def workload(groups: Groups, need: int = 3, **spec: Json) -> None:
    part = {"name": "worker", "policy": {"gang": {"minCount": need}}}
    body = {"metadata": {"name": "llm"}, "spec": {"podGroups": [part], **spec}}
    await groups.ns.create(WORKLOADS, body)


async def members(groups: Groups, key: str, count: int) -> None:
    """The pods of one replica of the Workload's group."""
    names = spread(key, count, "node-0", "node-1")
    reference = {"name": "llm", "podGroup": "worker", "podGroupReplicaKey": key}
    for name, node in names.items():
        body = pod(name, node=node, labels={**groups.labels, "group": key})
        body["spec"]["workloadRef"] = reference
        stored = await groups.ns.create(PODS, body)
        assert stored["spec"]["workloadRef"] == reference
    await groups.ns.ready(*names)


async def test_a_drain_takes_one_of_two_groups(ns: NamespaceUnderTest, groups: Groups) -> None:
    await workload(groups)
    need = {"red": 3, "blue": 3}
    for key in need:
        await members(groups, key, 3)
    await groups.budget(minAvailable=1)
    found = await groups.counted(allowed=1, healthy=2, disruptions_allowed=3)
    assert replicas(found)["expectedReplicas"] == 2
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")
    async with ns.watched() as watched:
        async with ns.drain("node-0") as drain:
            await drain.says(r"(?s)will retry.*will retry")
            await groups.counted(allowed=0, healthy=1)
            await watched.until(lambda state: bool(groups_down(state, "group", need)))
            [down] = groups_down(watched.states[-1], "group", need)
            # Both pods of the group that is down are gone, and no pod of the other group.
            gone = {f"{down}-0", f"{down}-2"}
            await ns.until(f"{gone} to be gone", gone.isdisjoint)
            assert len(await ns.on_node("node-0")) == 2
            await groups.edit(spec={"minAvailable": 0})
            assert await drain.ended() == 0, drain.said
        await watched.until(lambda state: len(groups_down(state, "group", need)) == 2)
    assert "cannot go now: 1 of 2 groups are available; the disruption budget llm" in drain.said


async def test_surplus_is_free_and_the_rest_of_a_broken_group_too(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await workload(groups, need=2)
    await members(groups, "red", 3)
    await members(groups, "blue", 2)
    await groups.budget(minAvailable=1)
    # One surplus pod, and one whole group.
    await groups.counted(allowed=1, healthy=2, disruptions_allowed=1 + 2)
    assert (await ns.evict("red-0")).code == 201
    await groups.counted(allowed=1, healthy=2, disruptions_allowed=2)
    assert (await ns.evict("red-1")).code == 201
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=1)
    denied = await ns.evict("blue-0")
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))
    assert "Pod blue-0 of group 'llm/worker/blue' cannot go now" in denied.message
    assert (await ns.evict("red-2")).code == 201


async def test_a_group_whose_workload_is_missing_is_not_evicted(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await members(groups, "red", 2)
    await groups.budget(minAvailable=0)
    found = await groups.counted(allowed=0, disruptions_allowed=0)
    assert condition(found, "DisruptionAllowed")[:2] == ("False", "WorkloadResolutionFailed")
    assert (await ns.evict("red-0")).code == 429
    await workload(groups, need=2)
    await groups.counted(allowed=1, healthy=1, disruptions_allowed=2)
    assert (await ns.evict("red-0")).code == 201


@pytest.fixture
def leader_worker_sets(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    runner.run(install_sets(ns.client))
    yield
    runner.run(remove_sets(ns.client))


@pytest.mark.usefixtures("leader_worker_sets")
async def test_the_scale_of_the_controller_says_how_many_groups_there_should_be(
    groups: Groups,
) -> None:
    controller = {"apiGroup": SETS.group, "kind": SETS.kind, "name": "llm"}
    owner = {"apiVersion": SETS.api_version, "kind": SETS.kind, "metadata": {"name": "llm"}}
    await groups.ns.create(SETS, owner | {"spec": {"replicas": 3}})
    await workload(groups, need=2, controllerRef=controller)
    await members(groups, "red", 2)
    await members(groups, "blue", 2)
    await groups.budget(maxUnavailable=1)
    # The third group is missing: it is the one that may be.
    found = await groups.counted(allowed=0, healthy=2, disruptions_allowed=0)
    assert replicas(found)["expectedReplicas"] == 3
    assert replicas(found)["desiredHealthyReplicas"] == 2
