"""Budgets that count batches, with a real scheduler and a real `kubectl drain`.

The pods of a batch are bound to each other: one that was evicted from a cordoned node finds no
other node as long as its mates are there. So a batch goes whole, or not at all.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.batch_nodes import nodes, remove_nodes
from tests.support.namespace_under_test import NamespaceUnderTest, State, eventually, is_available
from tests.support.objects import PDBS, Json
from tests.support.pdb_groups import Groups, condition
from tests.support.rbg_objects import batches, group, kind, role, template
from tests.support.rbg_waiting import GROUP, GROUPS, group_settled

BATCH = "batch.coordination.workloads.x-k8s.io/batched"
SIZE = 3
"""Two pods of prefill and one of decode."""
Batch = tuple[str, str]
"""RoleBasedGroup and number."""


@pytest.fixture(autouse=True)
def no_nodes_left(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[None]:
    yield
    runner.run(remove_nodes(ns))


async def in_batches(
    ns: NamespaceUnderTest, name: str, number: int, workload: str = "StatefulSet"
) -> None:
    """A RoleBasedGroup of so many batches, all ready."""
    container = {"name": "engine", "image": "engine:1", "resources": {"requests": {"cpu": "1"}}}
    one = template(containers=[container], nodeSelector={"home": ns.name})
    one["metadata"] = {"labels": {"test": ns.name}}
    each = kind(workload) | {"template": one}
    roles = (role("prefill", 2 * number) | each, role("decode", number) | each)
    rules = [batches({"prefill": 2, "decode": 1}, "Parallel")]
    await ns.create(GROUPS, group(name, *roles, coordination=rules))
    await group_settled(ns, name)


def whole(state: State) -> dict[Batch, set[str]]:
    """The batches with all their pods available, and the nodes of each."""
    found: dict[Batch, list[str]] = {}
    for pod in state.values():
        labels = pod["metadata"].get("labels", {})
        if BATCH in labels and is_available(pod):
            found.setdefault((labels[GROUP], labels[BATCH]), []).append(pod["spec"]["nodeName"])
    return {batch: set(where) for batch, where in found.items() if len(where) == SIZE}


async def now(ns: NamespaceUnderTest) -> dict[Batch, set[str]]:
    found = await ns.until("the pods", bool)
    return whole(found)


async def budget(ns: NamespaceUnderTest, groups: Groups, api: str, number: int) -> None:
    """One batch may be down. The need is not said: it is the size of a batch."""
    if api == "PodUnavailableBudget":
        spec = {
            "selector": {"matchLabels": {"test": ns.name}},
            "maxUnavailable": 1,
            "podGroupPolicy": {"groupLabelKey": BATCH},
        }
        await ns.budget(spec, total_replicas=number, current_available=number)
        return
    await groups.budget(
        annotations={"intact.dev/group-label-key": BATCH},
        maxUnavailable=1,
        selector={"matchLabels": {"test": ns.name}},
    )
    await groups.counted(healthy=number, allowed=1, disruptions_allowed=SIZE)


async def drained(ns: NamespaceUnderTest, batch: Batch, number: int) -> None:
    """Drain the node of a batch: no other batch goes, and it comes back elsewhere."""
    before = await now(ns)
    assert len(before) == number
    [node] = before[batch]
    async with ns.watched() as watched:
        async with ns.drain(node) as drain:
            assert await drain.ended() == 0, drain.said
        after = await eventually(
            lambda: now(ns), lambda found: len(found) == number, "all batches to be whole again"
        )
    assert await ns.on_node(node) == []
    assert after[batch].isdisjoint({node})
    assert {one: where for one, where in after.items() if one != batch} == {
        one: where for one, where in before.items() if one != batch
    }
    down = [before.keys() - whole(state).keys() for state in watched.states]
    assert set().union(*down) == {batch}


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
@pytest.mark.parametrize("api", ["PodUnavailableBudget", "PodDisruptionBudget"])
async def test_a_drain_moves_a_whole_batch(
    ns: NamespaceUnderTest, groups: Groups, api: str, workload: str
) -> None:
    await nodes(ns, SIZE, SIZE, SIZE, SIZE)
    await in_batches(ns, "llm", 3, workload)
    await budget(ns, groups, api, 3)
    await drained(ns, ("llm", "1"), 3)


@pytest.mark.parametrize("api", ["PodUnavailableBudget", "PodDisruptionBudget"])
async def test_a_budget_holds_a_second_batch(
    ns: NamespaceUnderTest, groups: Groups, api: str
) -> None:
    """Two nodes are drained at once, and there is room for one batch to come back."""
    await nodes(ns, SIZE, SIZE, SIZE, SIZE, SIZE)
    await in_batches(ns, "llm", 3)
    await budget(ns, groups, api, 3)
    before = await now(ns)
    [one], [two] = before["llm", "0"], before["llm", "2"]
    async with ns.watched() as watched:
        async with ns.drain(one) as first, ns.drain(two) as second:
            assert await first.ended() == 0, first.said
            assert await second.ended() == 0, second.said
        await eventually(lambda: now(ns), lambda found: len(found) == 3, "three whole batches")
    down = [before.keys() - whole(state).keys() for state in watched.states]
    assert max(map(len, down)) == 1
    assert set().union(*down) == {("llm", "0"), ("llm", "2")}


@pytest.mark.parametrize("api", ["PodUnavailableBudget", "PodDisruptionBudget"])
async def test_batches_of_two_groups_are_not_mixed(
    ns: NamespaceUnderTest, groups: Groups, api: str
) -> None:
    """Both have a batch 0: one budget counts four batches."""
    await nodes(ns, SIZE, SIZE, SIZE, SIZE, SIZE)
    await in_batches(ns, "chat", 2)
    await in_batches(ns, "llm", 2)
    await budget(ns, groups, api, 4)
    await drained(ns, ("llm", "0"), 4)


async def test_a_budget_in_pods_cannot_be_drained_until_it_counts_batches(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await nodes(ns, SIZE, SIZE, SIZE)
    await in_batches(ns, "llm", 2)
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"test": ns.name}}}
    await ns.create(PDBS, {"metadata": {"name": "llm"}, "spec": spec})

    def is_counted(found: Json) -> bool:
        return bool((found.get("status") or {}).get("disruptionsAllowed"))

    await eventually(
        lambda: ns.client.get(PDBS, "llm", ns.name), is_counted, "the budget to be counted"
    )
    before = await now(ns)
    [node] = before["llm", "0"]
    async with ns.drain(node) as drain:
        # One pod has gone, and its successor finds no node beside its mates.
        await ns.until("a pod that finds no node", lambda pods: any(map(is_pending, pods.values())))
        await drain.says("will retry")
        assert Counter(map(is_pending, (await ns.until("pods", bool)).values()))[True] == 1
        assert len(await ns.on_node(node)) == SIZE - 1
        # The way out, while the drain waits.
        meta = {
            "labels": {"intact.dev/budget-scope": "Workload"},
            "annotations": {"intact.dev/group-label-key": BATCH},
        }
        await ns.client.patch(PDBS, {"metadata": meta}, "llm", ns.name)
        assert await drain.ended() == 0, drain.said
    after = await eventually(
        lambda: now(ns), lambda found: len(found) == 2, "both batches to be whole"
    )
    assert after["llm", "1"] == before["llm", "1"]
    assert after["llm", "0"].isdisjoint({node})
    found = await groups.counted(healthy=2)
    assert condition(found, "BudgetConfigured")[0] == "True"


def is_pending(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)
