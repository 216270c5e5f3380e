"""AffinityScheduling on a real scheduler: each batch in a domain of its own."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact, shared_house
from tests.support.namespace_under_test import NamespaceUnderTest, eventually, open_space
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


@pytest.fixture
def house(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_house(request)


@pytest.fixture
def space(
    house: ClusterWithIntact, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    for found in open_space(house, runner, request):
        yield found
        runner.run(_remove_nodes(found))


async def nodes(space: NamespaceUnderTest, *cpus: int) -> None:
    """Nodes for this space alone, each with room for so many pods of it."""
    for index, cpu in enumerate(cpus):
        name = f"{space.namespace[-6:]}-{index}"
        size = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        body: Json = {
            "metadata": {
                "name": name,
                "labels": {"home": space.namespace, "kubernetes.io/hostname": name},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "status": {"capacity": size, "allocatable": size},
        }
        await space.client.create(NODES, body)

    async def usable() -> list[Json]:
        page = await space.client.list(NODES, labels=f"home={space.namespace}")
        return [one for one in page.items if not one["spec"].get("taints")]

    await eventually(usable, lambda found: len(found) == len(cpus), "the nodes to be usable")


async def _remove_nodes(space: NamespaceUnderTest) -> None:
    await space.client.delete_collection(NODES, labels=f"home={space.namespace}")


def fits_one(space: NamespaceUnderTest, image: str = "engine:1") -> Json:
    container = {"name": "engine", "image": image, "resources": {"requests": {"cpu": "1"}}}
    return template(containers=[container], nodeSelector={"home": space.namespace})


def six_three(
    space: NamespaceUnderTest, mode: str, workload: str = "StatefulSet", **spec: object
) -> Json:
    each = kind(workload) | {"template": fits_one(space)}
    roles = (role("prefill", 6) | each, role("decode", 3) | each)
    coordination = [batches({"prefill": 2, "decode": 1}, mode)]
    return group("llm", *roles, **{"coordination": coordination, **spec})


async def placed(space: NamespaceUnderTest) -> dict[str, Counter[tuple[str, str]]]:
    """By node: how many pods of which role and batch."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for name in ("prefill", "decode"):
        for pod in await role_pods(space, name):
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
async def test_each_batch_has_a_node(space: NamespaceUnderTest, mode: str, workload: str) -> None:
    await nodes(space, 3, 3, 3)
    await space.create(GROUPS, six_three(space, mode, workload))
    found = await group_settled(space)
    assert by_batch(await placed(space)) == [whole(0), whole(1), whole(2)]
    assert progress(found) == (3, 3, 3, [])
    assert found.status.coordinating == "Completed"


async def test_a_batch_that_does_not_fit_waits_and_says_so(space: NamespaceUnderTest) -> None:
    await nodes(space, 3, 2, 2)
    await space.create(GROUPS, six_three(space, "Sequential"))
    found = await group_until(
        space,
        "llm",
        lambda one: bool(one.status.coordination_state) and progress(one) == (3, 2, 1, [1]),
        "the second batch to be pending",
    )
    assert condition_of(found, "Ready") == ("False", "RoleNotReady")
    assert found.status.coordination_state[0].progress["decode"].state == "Waiting"
    assert "batch 1" in found.status.coordination_state[0].progress["decode"].waiting_for
    events = await space.events("RoleBasedGroup", "llm", "BatchPending")
    assert "batch 1" in events[0]["message"]
    seen = {batch for node in (await placed(space)).values() for _, batch in node}
    assert seen == {"0", "1"}, "no later batch is started"
    # With room enough it goes on.
    for node in (await space.client.list(NODES, labels=f"home={space.namespace}")).items:
        room = {"status": {"allocatable": {"cpu": "3"}, "capacity": {"cpu": "3"}}}
        name = node["metadata"]["name"]
        await space.client.patch(NODES, room, name, subresource="status")
    assert progress(await group_settled(space)) == (3, 3, 3, [])


async def test_parallel_starts_all_and_leaves_out_what_does_not_fit(
    space: NamespaceUnderTest,
) -> None:
    await nodes(space, 3, 3)
    await space.create(GROUPS, six_three(space, "Parallel"))
    await group_until(
        space,
        "llm",
        lambda one: (
            bool(one.status.coordination_state)
            and progress(one)[:3] == (3, 3, 2)
            and len(progress(one)[3]) == 1
        ),
        "two batches to be ready and one to be pending",
    )
    where = await placed(space)
    assert sum(where.pop("").values()) == 3
    assert all(sum(node.values()) == 3 and len(node) == 2 for node in where.values())


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_fewer_replicas_take_away_whole_batches_from_the_end(
    space: NamespaceUnderTest, workload: str
) -> None:
    await nodes(space, 3, 3, 3)
    await space.create(GROUPS, six_three(space, "Parallel", workload))
    await group_settled(space)
    # One role is enough: what is left over of the other belongs to no batch.
    await change(space, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 4}])
    await eventually(
        lambda: placed(space),
        lambda found: by_batch(found) == [whole(0), whole(1)],
        "two whole batches",
    )
    assert progress(await group_settled(space)) == (2, 2, 2, [])
    await change(space, [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 6}])
    await eventually(
        lambda: placed(space),
        lambda found: by_batch(found) == [whole(0), whole(1), whole(2)],
        "three again",
    )


async def test_dependencies_do_not_hold_up_the_batches(space: NamespaceUnderTest) -> None:
    """Decode waits for prefill, whose next batch waits for decode."""
    await nodes(space, 3, 3, 3)
    both = [
        batches({"prefill": 2, "decode": 1}),
        rolling("prefill", "decode", maxSkew="34%", maxUnavailableRatio="34%"),
    ]
    body = six_three(space, "Sequential", coordination=both)
    body["spec"]["roles"][1]["dependencies"] = ["prefill"]
    await space.create(GROUPS, body)
    assert progress(await group_settled(space)) == (3, 3, 3, [])


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_a_rolling_update_keeps_batches_together(
    space: NamespaceUnderTest, workload: str
) -> None:
    await nodes(space, 3, 3, 3)
    both = [
        batches({"prefill": 2, "decode": 1}),
        rolling("prefill", "decode", maxSkew="34%", maxUnavailableRatio="34%"),
    ]
    await space.create(GROUPS, six_three(space, "Sequential", workload, coordination=both))
    await group_settled(space)
    new = fits_one(space, "engine:2")
    await change(
        space,
        [
            {"op": "replace", "path": "/spec/roles/0/template", "value": new},
            {"op": "replace", "path": "/spec/roles/1/template", "value": new},
        ],
    )
    await group_settled(space)

    async def images() -> set[str]:
        pods = [*await role_pods(space, "prefill"), *await role_pods(space, "decode")]
        return {pod["spec"]["containers"][0]["image"] for pod in pods}

    await eventually(images, lambda found: found == {"engine:2"}, "the new image only")
    assert by_batch(await placed(space)) == [whole(0), whole(1), whole(2)]


async def test_only_pods_of_batches_come_to_us(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    """Others are created also while no replica is there to answer."""
    await nodes(space, 3)
    await space.create(GROUPS, six_three(space, "Sequential"))
    await group_until(space, "llm", lambda one: one.status.ready != "", "it to be looked at")
    house.stop()
    try:
        await space.pods("other", node="node-0")
    finally:
        house.restore()
