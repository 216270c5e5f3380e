"""AffinityScheduling with a real scheduler: each batch in a domain of its own."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from intact.model.rbg import RoleBasedGroup
from tests.support.batch_nodes import nodes, remove_nodes
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import NODES, Json
from tests.support.rbg_objects import batches, group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    GROUPS,
    change,
    condition_of,
    group_settled,
    group_until,
    role_pods,
)

BATCH = "batch.coordination.workloads.x-k8s.io/batched"
MEMBER = "coordination.workloads.x-k8s.io/batched"


@pytest.fixture(autouse=True)
def no_nodes_left(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    yield
    runner.run(remove_nodes(ns))


def fits_one(ns: NamespaceUnderTest, image: str = "engine:1") -> Json:
    container = {"name": "engine", "image": image, "resources": {"requests": {"cpu": "1"}}}
    return template(containers=[container], nodeSelector={"home": ns.name})


def six_three(
    ns: NamespaceUnderTest, mode: str, workload: str = "StatefulSet", **spec: object
) -> Json:
    each = kind(workload) | {"template": fits_one(ns)}
    roles = (role("prefill", 6) | each, role("decode", 3) | each)
    coordination = [batches({"prefill": 2, "decode": 1}, mode)]
    return group("llm", *roles, **{"coordination": coordination, **spec})


async def placed(ns: NamespaceUnderTest) -> dict[str, Counter[tuple[str, str]]]:
    """By node: how many pods of which role and batch."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for name in ("prefill", "decode"):
        for pod in await role_pods(ns, name):
            if "deletionTimestamp" in pod["metadata"]:
                continue
            labels = pod["metadata"]["labels"]
            assert labels[MEMBER] == "member"
            node = pod["spec"].get("nodeName", "")
            found.setdefault(node, Counter())[name, labels[BATCH]] += 1
    return found


def whole(number: int) -> Counter[tuple[str, str]]:
    return Counter({("prefill", str(number)): 2, ("decode", str(number)): 1})


def by_batch(found: dict[str, Counter[tuple[str, str]]]) -> list[Counter[tuple[str, str]]]:
    return sorted(found.values(), key=lambda one: min(batch for _, batch in one))


def progress(found: RoleBasedGroup) -> tuple[int, int, int, list[int]]:
    [state] = [one for one in found.status.coordination_state if one.name == "batched"]
    assert state.batches is not None
    one = state.batches
    return one.total, one.started, one.ready, one.pending


@pytest.mark.parametrize("mode", ["Sequential", "Parallel"])
@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_each_batch_has_a_node_of_its_own(
    ns: NamespaceUnderTest, mode: str, workload: str
) -> None:
    await nodes(ns, 3, 3, 3)
    await ns.create(GROUPS, six_three(ns, mode, workload))
    found = await group_settled(ns)
    assert by_batch(await placed(ns)) == [whole(0), whole(1), whole(2)]
    assert progress(found) == (3, 3, 3, [])
    assert found.status.coordinating == "Completed"


async def test_a_batch_that_does_not_fit_waits_and_says_so(ns: NamespaceUnderTest) -> None:
    await nodes(ns, 3, 2, 2)
    await ns.create(GROUPS, six_three(ns, "Sequential"))
    found = await group_until(
        ns,
        "llm",
        lambda one: bool(one.status.coordination_state) and progress(one) == (3, 2, 1, [1]),
        "the second batch to be pending",
    )
    assert condition_of(found, "Ready") == ("False", "RoleNotReady")
    assert found.status.coordination_state[0].progress["decode"].state == "Waiting"
    assert "batch 1" in found.status.coordination_state[0].progress["decode"].waiting_for
    events = await ns.events("RoleBasedGroup", "llm", "BatchPending")
    assert "batch 1" in events[0]["message"]
    seen = {batch for node in (await placed(ns)).values() for _, batch in node}
    assert seen == {"0", "1"}, "no later batch is started"
    # With enough room the rest is started.
    for node in (await ns.client.list(NODES, labels=f"home={ns.name}")).items:
        room = {"status": {"allocatable": {"cpu": "3"}, "capacity": {"cpu": "3"}}}
        name = node["metadata"]["name"]
        await ns.client.patch(NODES, room, name, subresource="status")
    assert progress(await group_settled(ns)) == (3, 3, 3, [])


async def test_parallel_mode_starts_all_batches_and_one_that_does_not_fit_stays_pending(
    ns: NamespaceUnderTest,
) -> None:
    await nodes(ns, 3, 3)
    await ns.create(GROUPS, six_three(ns, "Parallel"))
    await group_until(
        ns,
        "llm",
        lambda one: (
            bool(one.status.coordination_state)
            and progress(one)[:3] == (3, 3, 2)
            and len(progress(one)[3]) == 1
        ),
        "two batches to be ready and one to be pending",
    )
    where = await placed(ns)
    assert sum(where.pop("").values()) == 3
    assert all(sum(node.values()) == 3 and len(node) == 2 for node in where.values())


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_scaling_down_removes_whole_batches_from_the_end(
    ns: NamespaceUnderTest, workload: str
) -> None:
    await nodes(ns, 3, 3, 3)
    await ns.create(GROUPS, six_three(ns, "Parallel", workload))
    await group_settled(ns)
    # Scaling one role is enough: the remaining pods of the other belong to no batch.
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 4}])
    await eventually(
        lambda: placed(ns),
        lambda found: by_batch(found) == [whole(0), whole(1)],
        "two whole batches",
    )
    assert progress(await group_settled(ns)) == (2, 2, 2, [])
    await change(ns, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 6}])
    await eventually(
        lambda: placed(ns),
        lambda found: by_batch(found) == [whole(0), whole(1), whole(2)],
        "three again",
    )


async def test_dependencies_do_not_hold_up_the_batches(ns: NamespaceUnderTest) -> None:
    """Decode depends on prefill, and the next batch of prefill waits for decode."""
    await nodes(ns, 3, 3, 3)
    both = [
        batches({"prefill": 2, "decode": 1}),
        rolling("prefill", "decode", maxSkew="34%", maxUnavailableRatio="34%"),
    ]
    body = six_three(ns, "Sequential", coordination=both)
    body["spec"]["roles"][1]["dependencies"] = ["prefill"]
    await ns.create(GROUPS, body)
    assert progress(await group_settled(ns)) == (3, 3, 3, [])


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_a_rolling_update_keeps_batches_together(
    ns: NamespaceUnderTest, workload: str
) -> None:
    await nodes(ns, 3, 3, 3)
    both = [
        batches({"prefill": 2, "decode": 1}),
        rolling("prefill", "decode", maxSkew="34%", maxUnavailableRatio="34%"),
    ]
    await ns.create(GROUPS, six_three(ns, "Sequential", workload, coordination=both))
    await group_settled(ns)
    new = fits_one(ns, "engine:2")
    await change(
        ns,
        [
            {"op": "replace", "path": "/spec/roles/0/template", "value": new},
            {"op": "replace", "path": "/spec/roles/1/template", "value": new},
        ],
    )
    await group_settled(ns)

    async def images() -> set[str]:
        pods = [*await role_pods(ns, "prefill"), *await role_pods(ns, "decode")]
        return {pod["spec"]["containers"][0]["image"] for pod in pods}

    await eventually(images, lambda found: found == {"engine:2"}, "the new image only")
    assert by_batch(await placed(ns)) == [whole(0), whole(1), whole(2)]


async def test_pods_outside_batches_are_created_while_intact_is_down(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    """The webhook is not asked about them, so they need no operator."""
    await nodes(ns, 3)
    await ns.create(GROUPS, six_three(ns, "Sequential"))
    await group_until(ns, "llm", lambda one: one.status.ready != "", "the group to have a status")
    intact_cluster.stop()
    try:
        await ns.pods("other", node="node-0")
    finally:
        intact_cluster.restore()
