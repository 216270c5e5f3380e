"""What a blocked eviction under a budget in groups says: to clients, in events, in the log."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import Answer, NamespaceUnderTest, eventually
from tests.support.objects import NAMESPACES, PDBS, Json
from tests.support.pdb_groups import SCOPE, Groups, replicas

DOOR = 'admission webhook "evictions.door.intact.dev" denied the request: '


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


async def at_the_door(ns: NamespaceUnderTest, name: str) -> Answer:
    """Wait until the door answers: the API server takes a moment to notice the namespace."""
    return await eventually(
        lambda: ns.evict(name, dry_run="All"),
        lambda answer: answer.message.startswith(DOOR),
        f"the door to deny {name}",
    )


async def test_a_blocked_eviction_says_why_also_in_a_dry_run_and_in_events(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    for name in ("red-0", "red-1", "red-2"):
        assert (await ns.evict(name)).code == 201
    # At 0 the API server itself refuses, in words that know no groups, and asks no gate.
    found = await groups.counted(
        allowed=0,
        healthy=1,
        disruptions_allowed=0,
        expected_pods=3,
        matches=lambda found: not found.status.disrupted_pods,
    )
    wanted = (
        "Pod blue-0 of group 'blue' cannot go now: 1 of 2 groups are available; the disruption "
        "budget llm requires 1. It waits for "
    )
    await at_the_door(ns, "blue-0")
    asked: dict[str, Callable[[], Awaitable[Answer]]] = {
        "eviction": lambda: ns.evict("blue-0"),
        "dry run in the query": lambda: ns.evict("blue-0", dry_run="All"),
        "dry run in the body": lambda: ns.evict("blue-0", dryRun=["All"]),
    }
    for how, ask in asked.items():
        answer = await ask()
        assert (answer.code, answer.causes) == (429, ("DisruptionBudget",)), how
        assert answer.message.startswith(DOOR + wanted), how
    for kind, name in (("PodDisruptionBudget", "llm"), ("Pod", "blue-0")):
        for event in await ns.events(kind, name, "DisruptionDenied"):
            assert event["type"] == "Warning"
            assert event["message"].startswith(f"EVICT, requested by devcluster-admin: {wanted}")
    line = f"budget {ns.name}/llm denied EVICT of pod blue-0, requested by devcluster-admin: "
    assert any(line in operator.log for operator in intact_cluster.operators)
    # Nothing was spent.
    after = await groups.stored()
    assert (replicas(after), after.status) == (replicas(found), found.status)


async def test_a_dry_run_is_answered_for_each_group_by_itself(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    assert (await ns.evict("red-0")).code == 201
    before = await groups.counted(allowed=0, healthy=1, disruptions_allowed=2)
    await at_the_door(ns, "blue-0")
    assert (await ns.evict("red-1", dry_run="All")).code == 201
    async with ns.drain("node-0", "--dry-run=server", "--timeout=2s") as drain:
        assert await drain.ended() != 0
    assert "Pod blue-0 of group 'blue' cannot go now" in drain.said
    assert "red-1 of group" not in drain.said
    assert replicas(await groups.stored()) == replicas(before)


async def test_the_door_is_only_where_a_budget_counts_groups_and_about_its_pods(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    async def label() -> str | None:
        found: Json = await ns.client.get(NAMESPACES, ns.name)
        value: str | None = found["metadata"].get("labels", {}).get("intact.dev/door")
        return value

    await groups.red_and_blue()
    await groups.budget(minAvailable=2)
    await groups.counted(allowed=0, healthy=2)
    await at_the_door(ns, "red-0")
    assert await label() == "true"
    # A pod of no budget, and one whose second budget the API server itself complains of.
    await ns.pods("free", labels={"app": "web"})
    assert (await ns.evict("free")).code == 201
    await groups.budget(scope=None, name="pods", maxUnavailable=1)
    both = await eventually(
        lambda: ns.evict("red-0", dry_run="All"), lambda answer: answer.code != 429, "both budgets"
    )
    assert (both.code, "more than one PodDisruptionBudget" in both.message) == (500, True)
    await ns.client.delete(PDBS, "pods", ns.name)
    await groups.edit(metadata={"labels": {SCOPE: None}})
    await eventually(label, lambda value: value is None, "the door to go")


async def test_fifty_evictions_at_once_are_never_a_conflict(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """Without turns some of them lose twenty times in a row, half a second each."""
    for number in range(10):
        await groups.group(f"g{number}", need=5, pods=5, workload="")
    await groups.budget(minAvailable=1)
    await groups.counted(allowed=9, healthy=10)
    names = [f"g{number}-{index}" for index in range(5) for number in range(10)]
    answers = await asyncio.gather(*(ns.evict(name) for name in names))
    assert {answer.code for answer in answers} == {201, 429}
    refused = [name for name, answer in zip(names, answers, strict=True) if answer.code == 429]
    assert len({name.partition("-")[0] for name in refused}) == 1
    assert len(refused) == 5


@pytest.mark.parametrize("mode", ["Warn", "Audit"])
async def test_a_denial_that_is_not_enforced_is_told_and_the_pod_goes(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups, mode: str
) -> None:
    await groups.red_and_blue()
    enforcement = {"intact.dev/enforcement": mode}
    await groups.budget(annotations=enforcement, minAvailable=2)
    # Every pod may go as far as the API server is concerned; the counters tell the truth.
    await groups.counted(allowed=0, healthy=2, disruptions_allowed=6)

    async def dry_run() -> str:
        async with ns.drain("node-1", "--dry-run=server") as drain:
            assert await drain.ended() == 0, drain.said
        return drain.said

    wanted = "Pod blue-1 of group 'blue' cannot go now: 2 of 2 groups are available"
    await eventually(
        dry_run, lambda text: (wanted in text) == (mode == "Warn"), "the door to warn, or not"
    )
    assert (await ns.evict("blue-0")).code == 201
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=5)
    for kind, name in (("PodDisruptionBudget", "llm"), ("Pod", "blue-0")):
        for event in await ns.events(kind, name, "DisruptionWouldBeDenied"):
            assert event["type"] == "Warning"
    line = f"budget {ns.name}/llm would deny ({mode}) EVICT of pod blue-0, requested by devcluster"
    assert any(line in operator.log for operator in intact_cluster.operators)
    refused = await groups.annotate(**{"intact.dev/enforcement": "off"})
    assert (refused.code, "'off' is not one of Enforce, Warn, Audit" in refused.message) == (
        422,
        True,
    )
    assert (await groups.annotate(**{"intact.dev/enforcement": None})).code == 200
    assert (await ns.evict("red-0")).code == 429
