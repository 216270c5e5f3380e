"""Budgets under many requests at once, by real clients: drains, parallel deletes, dying operators.

A watch tells, event by event, what was unavailable at the same time.
"""

import asyncio

import pytest

from intact.kube import config
from intact.kube.http import HttpTransport
from intact.kube.transport import Request
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    UNREADY,
    WITHIN,
    NamespaceUnderTest,
    Watched,
    available_in,
    groups_down,
)
from tests.support.objects import (
    DEPLOYMENTS,
    NODES,
    PODS,
    SLOW_PROBE,
    STATEFUL_SETS,
    deployment,
    spread_stateful_set,
)

PER_NODE = 2
SIZE = 3 * PER_NODE


async def shards(ns: NamespaceUnderTest, count: int) -> dict[str, int]:
    """Create so many groups, and a budget that allows one of them to be down; what each needs."""
    names = [f"shard-{number}" for number in range(count)]
    for name in names:
        labels = {"app": "llm", "test": ns.name}
        await ns.create(STATEFUL_SETS, spread_stateful_set(name, SIZE, "shard", labels))
    await ns.running(SIZE * count)
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": SIZE},
    }
    await ns.budget(spec, current_available=count, unavailable_allowed=1)
    return dict.fromkeys(names, SIZE)


def check(watched: Watched, need: dict[str, int]) -> None:
    """Each group was down at some time, since the drain took pods of each; never two at once."""
    down = [groups_down(state, "shard", need) for state in watched.states]
    assert set().union(*down) == set(need)
    assert max(map(len, down)) == 1


async def test_a_drain_takes_one_group_at_a_time(ns: NamespaceUnderTest) -> None:
    need = await shards(ns, 4)
    assert len(await ns.on_node("node-0")) == 4 * PER_NODE
    async with ns.watched() as watched:
        async with ns.drain("node-0") as drain:
            assert await drain.ended() == 0, drain.said
        assert await ns.on_node("node-0") == []
        await ns.counted(current_available=4)
    check(watched, need)
    # The second pod of a group went with the first, without a refusal.
    waited = [line for line in drain.said.splitlines() if "will retry" in line]
    assert waited
    assert "It waits for group shard-" in waited[0]
    assert sum(" evicted" in line for line in drain.said.splitlines()) == 4 * PER_NODE


@pytest.mark.parametrize("victim", ["gate", "leader"])
async def test_a_drain_survives_the_death_of_an_operator(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, victim: str
) -> None:
    need = await shards(ns, 2)
    names = await ns.on_node("node-1")
    async with ns.watched() as watched, ns.drain("node-1") as drain:
        # One group is down, the other waits, and no request is under way.
        await drain.between_rounds(watched, names)
        assert "will retry" in drain.said
        (intact_cluster.leader() if victim == "leader" else intact_cluster.follower()).kill()
        assert await drain.ended() == 0, drain.said
        await ns.counted(current_available=2)
    check(watched, need)


async def test_a_storm_of_evictions_survives_the_death_of_an_operator(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    body = deployment("web", replicas=12)
    [container] = body["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"] = SLOW_PROBE
    await ns.create(DEPLOYMENTS, body)
    names = await ns.running(12)
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 3}
    await ns.budget(spec, total_replicas=12, unavailable_allowed=3)

    async def evict(name: str) -> None:
        """Again and again, until the pod is gone."""
        while (await ns.evict(name)).code != 404:
            await asyncio.sleep(0.05)

    async with ns.watched() as watched:
        async with asyncio.timeout(4 * WITHIN), asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(evict(name))
            await watched.until(lambda state: len(watched.taken(state)) > 1)
            intact_cluster.follower().kill()
        await ns.counted(current_available=12)
    assert min(len(available_in(state)) for state in watched.states) == 12 - 3


async def test_a_spent_budget_makes_a_drain_wait_and_say_why(ns: NamespaceUnderTest) -> None:
    labels = {"app": "web", "test": ns.name}
    await ns.pods("here", node="node-2", labels=labels)
    await ns.pods("there", node="node-1", labels=labels)
    await ns.pods("broken", node="node-1", labels=labels, annotations={UNREADY: "true"})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 2}
    await ns.budget(spec, total_replicas=3, current_available=2, unavailable_allowed=0)
    async with ns.watched() as watched, ns.drain("node-2") as drain:
        found = await drain.says(r"error when evicting .*will retry after 5s\): (.*)")
        assert found[1] == (
            'admission webhook "evictions.gate.intact.dev" denied the request: Pod here cannot go '
            "now: 2 of 3 pods are available; the budget budget requires 2. It waits for pods to "
            "become ready."
        )
        await ns.annotate("broken", {UNREADY: None})
        assert await drain.ended() == 0, drain.said
    assert min(len(available_in(state)) for state in watched.states) == 2
    assert "pod/here evicted" in drain.said


async def test_a_hundred_parallel_deletes_through_two_gates_spend_exactly_the_budget(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    # Replacements find no node: deleted pods do not come back during the test.
    home = {"home": ns.name}
    await ns.client.patch(NODES, {"metadata": {"labels": home}}, "node-0")
    body = deployment("web", replicas=100)
    body["spec"]["template"]["spec"]["nodeSelector"] = home
    await ns.create(DEPLOYMENTS, body)
    names = await ns.running(100)
    await ns.client.patch(NODES, {"metadata": {"labels": {"home": None}}}, "node-0")
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 10}
    await ns.budget(spec, total_replicas=100, unavailable_allowed=10)

    asked = [
        operator.metrics()["intact_gate_decision_seconds_count"]
        for operator in intact_cluster.operators
    ]
    clients = [HttpTransport(config.load(str(intact_cluster.cluster.kubeconfig))) for _ in range(4)]
    try:
        answers = await asyncio.gather(
            *(
                clients[number % 4].send(Request("DELETE", PODS.path(ns.name, name)))
                for number, name in enumerate(names)
            )
        )
    finally:
        for client in clients:
            await client.close()
    codes = [answer.status for answer in answers]
    assert {code: codes.count(code) for code in set(codes)} == {200: 10, 429: 90}
    for before, operator in zip(asked, intact_cluster.operators, strict=True):
        assert operator.metrics()["intact_gate_decision_seconds_count"] > before

    # Once all deletes are counted, still nothing is left of the budget.
    counted = await ns.counted(current_available=90, unavailable_allowed=0)
    assert counted.status.total_replicas == 100
    left = await ns.running(90)
    assert (await ns.delete(left[0])).code == 429
