"""Every manifest in examples/ does what it says, on a real cluster.

A test applies the file that it is named after: `test_pub_pods` applies `examples/pub-pods.yaml`.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.examples import EXAMPLES, covering_test
from tests.support.leader_worker_sets import install_sets, remove_sets, simulated_sets
from tests.support.namespace_under_test import NamespaceUnderTest
from tests.support.objects import NODES
from tests.support.pdb_groups import NEEDS_POD_GROUPS, Groups, condition, replicas
from tests.support.rbg_rollout import check_bounds, course, revision
from tests.support.rbg_waiting import (
    change,
    completed,
    condition_of,
    group_settled,
    group_until,
    role_pods,
)

pytestmark = pytest.mark.usefixtures("applied")

NEXT_IMAGE = "registry.k8s.io/pause:3.11"


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


@pytest.fixture
def leader_worker_sets(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    """Their kind, which a cluster does not have by itself."""
    runner.run(install_sets(ns.client))
    yield
    runner.run(remove_sets(ns.client))


@pytest.fixture
def applied(
    leader_worker_sets: None,
    ns: NamespaceUnderTest,
    runner: asyncio.Runner,
    request: pytest.FixtureRequest,
) -> None:
    """The example of this test. Strictly: the API server refuses a field that it does not know."""
    [example] = [each for each in EXAMPLES if covering_test(each) == request.node.name]
    code, said = runner.run(ns.kubectl("apply", "--validate=strict", "-f", str(example)))
    assert code == 0, said
    assert "warning" not in said.lower()


async def cordon(ns: NamespaceUnderTest) -> None:
    """From now on no pod comes back: what was taken down stays down."""
    for node in (await ns.client.list(NODES)).items:
        await ns.client.patch(NODES, {"spec": {"unschedulable": True}}, node["metadata"]["name"])


async def check_refused(ns: NamespaceUnderTest, pod: str, budget: str) -> None:
    """An eviction of this pod is told to wait, and why."""
    answer = await ns.evict(pod)
    assert (answer.code, answer.causes) == (429, ("DisruptionBudget",))
    assert f"Pod {pod} " in answer.message
    assert "cannot go now" in answer.message
    assert f"budget {budget} " in answer.message


async def test_pub_pods(ns: NamespaceUnderTest) -> None:
    first, second, third, _ = await ns.running(4)
    await ns.counted("web", total_replicas=4, desired_available=3, unavailable_allowed=1)
    await cordon(ns)
    assert (await ns.delete(first)).code == 200
    deletion = await ns.delete(second)
    assert (deletion.code, deletion.causes) == (429, ("DisruptionBudget",))
    await check_refused(ns, third, "web")
    change = await ns.change(
        second, {"spec": {"containers": [{"name": "web", "image": NEXT_IMAGE}]}}
    )
    assert change.code == 429


async def test_pub_leaderworkerset(ns: NamespaceUnderTest) -> None:
    async with simulated_sets(ns.client, ns.name):
        await ns.running(12)
        await ns.counted("llm", total_replicas=3, desired_available=2, unavailable_allowed=1)
        await cordon(ns)
        assert (await ns.evict("llm-0-1")).code == 201
        assert (await ns.evict("llm-0-2")).code == 201  # its group is down already
        await check_refused(ns, "llm-1-1", "llm")


async def test_pdb_leaderworkerset(ns: NamespaceUnderTest, groups: Groups) -> None:
    async with simulated_sets(ns.client, ns.name):
        await ns.running(12)
        await one_group_goes(ns, groups, first=("llm-0-1", "llm-0-2"), second="llm-1-1", expected=3)


async def test_pdb_label(ns: NamespaceUnderTest, groups: Groups) -> None:
    await ns.running(6)
    await one_group_goes(
        ns, groups, first=("shard-0-0", "shard-0-1"), second="shard-1-0", expected=2
    )


@NEEDS_POD_GROUPS
async def test_pdb_podgroups(ns: NamespaceUnderTest, groups: Groups) -> None:
    await ns.running(6)
    await one_group_goes(
        ns, groups, first=("shard-0-0", "shard-0-1"), second="shard-1-0", expected=2
    )


async def test_pdb_batches(ns: NamespaceUnderTest, groups: Groups) -> None:
    await group_settled(ns)
    await one_group_goes(
        ns, groups, first=("llm-prefill-0", "llm-decode-0"), second="llm-prefill-2", expected=3
    )


async def test_pub_batches(ns: NamespaceUnderTest) -> None:
    await group_settled(ns)
    await ns.counted("llm", total_replicas=3, desired_available=2, unavailable_allowed=1)
    await cordon(ns)
    for pod in ("llm-prefill-0", "llm-prefill-1", "llm-decode-0"):
        assert (await ns.delete(pod)).code == 200
    await check_refused(ns, "llm-prefill-2", "llm")


async def one_group_goes(
    ns: NamespaceUnderTest, groups: Groups, first: tuple[str, str], second: str, expected: int
) -> None:
    """Pods of one group go together, and no other group after it."""
    found = await groups.counted(allowed=1, healthy=expected)
    assert replicas(found)["expectedReplicas"] == expected
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")
    assert condition(found, "DisruptionAllowed")[:2] == ("True", "SufficientReplicas")
    await cordon(ns)
    for pod in first:
        assert (await ns.evict(pod)).code == 201
    await check_refused(ns, second, "llm")
    await groups.counted(allowed=0, healthy=expected - 1)


async def test_rbg_rolling_update(ns: NamespaceUnderTest) -> None:
    desired = {"prefill": 8, "decode": 4}
    await group_settled(ns)
    old = {role: {revision(pod, role) for pod in await role_pods(ns, role)} for role in desired}
    async with ns.watched() as watched:
        await change(ns, [replace_image(role) for role in range(2)])
        await group_until(ns, "llm", rests_at_half, "half of each role to be updated")
    moments = course(watched, desired, old)
    check_bounds(moments, skew=25, unavailable=25)
    updated = {
        role: sorted(
            int(pod["metadata"]["name"].rpartition("-")[2])
            for pod in await role_pods(ns, role)
            if revision(pod, role) not in old[role]
        )
        for role in desired
    }
    assert updated == {"prefill": [4, 5, 6, 7], "decode": [2, 3]}

    path = "/spec/coordination/0/strategy/partition"
    await change(ns, [{"op": "replace", "path": path, "value": "0%"}])
    found = await group_until(ns, "llm", completed, "the rollout to be completed")
    assert condition_of(found, "Ready") == ("True", "AllRolesReady")


def replace_image(role: int) -> dict[str, object]:
    path = f"/spec/roles/{role}/template/spec/containers/0/image"
    return {"op": "replace", "path": path, "value": NEXT_IMAGE}


def rests_at_half(group: RoleBasedGroup) -> bool:
    return {
        name: (one.state, one.ready)
        for each in group.status.coordination_state
        for name, one in each.progress.items()
    } == {"prefill": ("Paused", 4), "decode": ("Paused", 2)}


async def test_rbg_affinity_batches(ns: NamespaceUnderTest) -> None:
    found = await group_settled(ns)
    [state] = found.status.coordination_state
    assert state.batches is not None
    assert (state.batches.total, state.batches.ready, state.batches.pending) == (3, 3, [])
    placed: dict[str, Counter[str]] = {}
    for role in ("prefill", "decode"):
        for pod in await role_pods(ns, role):
            placed.setdefault(pod["spec"]["nodeName"], Counter())[role] += 1
    assert list(placed.values()) == [Counter(prefill=2, decode=1)] * 3
