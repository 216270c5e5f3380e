"""Batches that a running group gets, loses or changes, on nodes that fit exactly: its pods move
batch by batch, within its limits, and all of them run in the end."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import pytest

from intact.kube.resources import untyped
from tests.support.batch_nodes import nodes, remove_nodes
from tests.support.batched_groups import (
    bind,
    by_batch,
    fits_one,
    node_name,
    placed,
    progress,
    resize,
    whole,
)
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    NamespaceUnderTest,
    State,
    Watched,
    eventually,
    is_available,
)
from tests.support.objects import Json
from tests.support.rbg_objects import batches, group, kind, role, rolling
from tests.support.rbg_waiting import GROUPS, ROLE, change, completed, group_settled, group_until

PDBS = untyped("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
TWO_ONE = batches({"prefill": 2, "decode": 1})
LAYOUTS: dict[str, Mapping[int, Sequence[str]]] = {
    "by role": {
        0: ["prefill-0", "prefill-1", "prefill-2"],
        1: ["prefill-3", "prefill-4", "prefill-5"],
        2: ["decode-0", "decode-1", "decode-2"],
    },
    "spread": {
        0: ["prefill-0", "prefill-3", "decode-1"],
        1: ["prefill-1", "prefill-4", "decode-2"],
        2: ["prefill-2", "prefill-5", "decode-0"],
    },
}


@pytest.fixture(autouse=True)
def no_nodes_left(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    yield
    runner.run(remove_nodes(ns))


async def running(
    ns: NamespaceUnderTest, layout: Mapping[int, Sequence[str]], room: int, **spec: object
) -> None:
    """A group without batches whose pods run where the layout says, on nodes with no room left."""
    await nodes(ns, *(0 for _ in layout))
    names = [name for each in layout.values() for name in each]
    each = {"template": fits_one(ns)}
    roles = [
        role(one, sum(name.startswith(one) for name in names)) | each
        for one in ("prefill", "decode")
    ]
    await ns.create(GROUPS, group("llm", *roles, **spec))
    await bind(ns, {index: [f"llm-{name}" for name in each] for index, each in layout.items()})
    await resize(ns, room)
    await group_settled(ns)


async def add(ns: NamespaceUnderTest, *coordination: Json) -> None:
    patch = {"op": "add", "path": "/spec/coordination", "value": list(coordination)}
    await change(ns, [patch])


async def in_batches(ns: NamespaceUnderTest) -> None:
    await group_until(ns, "llm", completed, "all batches to be complete")


def missing(state: State, name: str, desired: int) -> int:
    there = [pod for pod in state.values() if pod["metadata"].get("labels", {}).get(ROLE) == name]
    return desired - sum(map(is_available, there))


def most_missing(watched: Watched, **desired: int) -> dict[str, int]:
    return {
        name: max(missing(state, name, number) for state in watched.states)
        for name, number in desired.items()
    }


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_batches_added_to_a_running_group(ns: NamespaceUnderTest, layout: str) -> None:
    await running(ns, LAYOUTS[layout], room=3)
    async with ns.watched() as watched:
        await add(ns, TWO_ONE)
        await in_batches(ns)
    assert by_batch(await placed(ns)) == [whole(0), whole(1), whole(2)]
    worst = most_missing(watched, prefill=6, decode=3)
    assert worst["prefill"] <= 2
    assert worst["decode"] <= 1, "one batch at a time"


async def test_two_pods_of_a_role_that_must_change_places(ns: NamespaceUnderTest) -> None:
    """Each takes the place of the next, and only one of each role may be missing."""
    rotated = {0: ["prefill-0", "decode-1"], 1: ["prefill-1", "decode-2"]}
    rotated[2] = ["prefill-2", "decode-0"]
    await running(ns, rotated, room=2)
    async with ns.watched() as watched:
        await add(ns, batches({"prefill": 1, "decode": 1}))
        await in_batches(ns)
    found = await placed(ns)
    assert sorted(sorted(batch for _, batch in one) for one in found.values()) == [
        [str(number), str(number)] for number in range(3)
    ]
    worst = most_missing(watched, prefill=3, decode=3)
    assert max(worst.values()) <= 1
    taken = {
        (pod["metadata"]["name"], uid)
        for state in watched.states
        for uid, pod in state.items()
        if "deletionTimestamp" in pod["metadata"]
    }
    assert len(taken) <= 9, "it comes to an end, without evictions in turn"


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_ratio_of_a_rolling_update_and_budgets_hold(
    ns: NamespaceUnderTest, layout: str
) -> None:
    together = rolling("prefill", "decode", maxUnavailableRatio="67%")
    await running(ns, LAYOUTS[layout], room=3, coordination=[together])
    for name in ("prefill", "decode"):
        body = {
            "metadata": {"name": name},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {ROLE: name}}},
        }
        await ns.create(PDBS, body)
    async with ns.watched() as watched:
        await add(ns, together, TWO_ONE)
        await in_batches(ns)
    assert by_batch(await placed(ns)) == [whole(0), whole(1), whole(2)]
    assert max(most_missing(watched, prefill=6, decode=3).values()) <= 1


async def test_batches_of_deployments(ns: NamespaceUnderTest) -> None:
    await nodes(ns, 3, 3, 3)
    each = kind("Deployment") | {"template": fits_one(ns)}
    await ns.create(GROUPS, group("llm", role("prefill", 6) | each, role("decode", 3) | each))
    await group_settled(ns)
    async with ns.watched() as watched:
        await add(ns, TWO_ONE)
        await in_batches(ns)
    assert by_batch(await placed(ns)) == [whole(0), whole(1), whole(2)]
    worst = most_missing(watched, prefill=6, decode=3)
    assert worst["prefill"] <= 2
    assert worst["decode"] <= 1


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_batches_taken_away_restart_nothing_and_hold_no_new_pod(
    ns: NamespaceUnderTest, workload: str
) -> None:
    await nodes(ns, 3, 3, 3)
    each = kind(workload) | {"template": fits_one(ns)}
    roles = role("prefill", 6) | each, role("decode", 3) | each
    await ns.create(GROUPS, group("llm", *roles, coordination=[TWO_ONE]))
    await in_batches(ns)
    async with ns.watched() as watched:
        await add(ns)
        await group_settled(ns)
    assert {frozenset(state) & frozenset(watched.states[0]) for state in watched.states} == {
        frozenset(watched.states[0])
    }, "no pod had to restart"
    # A pod of each batch comes back, wherever there is room.
    for node in range(3):
        await ns.delete((await ns.on_node(node_name(ns, node)))[0])
    await group_until(ns, "llm", lambda one: one.status.ready != "9/9", "the pods to be missed")
    await group_until(ns, "llm", lambda one: one.status.ready == "9/9", "all pods to be back")


async def test_other_ratios_move_the_pods_again(ns: NamespaceUnderTest) -> None:
    await nodes(ns, 3, 3, 3)
    each = {"template": fits_one(ns)}
    roles = role("prefill", 6) | each, role("decode", 3) | each
    await ns.create(GROUPS, group("llm", *roles, coordination=[TWO_ONE]))
    await in_batches(ns)
    await resize(ns, 4)
    await add(ns, batches({"prefill": 3, "decode": 1}))
    found = await group_until(
        ns, "llm", lambda one: completed(one) and progress(one)[0] == 2, "two larger batches"
    )
    assert progress(found) == (2, 2, 2, [])
    where = await placed(ns)
    assert sorted(sum(one.values()) for one in where.values()) == [4, 4]
    assert all(len({batch for _, batch in one}) == 1 for one in where.values())


async def test_a_batch_that_cannot_move_costs_no_more_than_the_limits_and_says_so(
    ns: NamespaceUnderTest,
) -> None:
    """The nodes hold two pods each, a batch has three."""
    layout = {
        0: ["prefill-0", "prefill-1"],
        1: ["prefill-2", "prefill-3"],
        2: ["decode-0", "decode-1"],
    }
    await running(ns, layout, room=2)
    async with ns.watched() as watched:
        await add(ns, TWO_ONE)
        found = await group_until(
            ns,
            "llm",
            lambda one: bool(one.status.coordination_state) and progress(one)[3] != [],
            "a batch to be pending",
        )
        waiting = found.status.coordination_state[0].progress["decode"].waiting_for
        assert "does not fit into one domain" in waiting
        await ns.events("RoleBasedGroup", "llm", "BatchPending")
    worst = most_missing(watched, prefill=4, decode=2)
    assert worst["prefill"] <= 2
    assert worst["decode"] <= 1


async def test_pods_made_while_intact_is_down_join_their_batch_later(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await nodes(ns, 3, 3, 3)
    each = {"template": fits_one(ns)}
    roles = role("prefill", 6) | each, role("decode", 3) | each
    await ns.create(GROUPS, group("llm", *roles, coordination=[TWO_ONE]))
    await in_batches(ns)
    async with ns.watched() as watched:
        intact_cluster.stop()
        try:
            for name in ("llm-prefill-0", "llm-prefill-5", "llm-decode-1"):
                await ns.delete(name)
            await watched.until(
                lambda state: (
                    sum(map(is_available, state.values())) == 9
                    and len(state.keys() - watched.states[0].keys()) == 3
                )
            )
        finally:
            intact_cluster.restore()
    await eventually(
        lambda: placed_or_not(ns),
        lambda found: found == [whole(0), whole(1), whole(2)],
        "each pod in its batch",
    )


async def placed_or_not(ns: NamespaceUnderTest) -> list[object]:
    try:
        return list(by_batch(await placed(ns)))
    except (AssertionError, KeyError):
        return []  # a pod without its batch
