"""Budgets against many at once, with real clients: drains, parallel deletes, dying replicas.

What was unavailable at the same time is computed from a watch, event by event.
"""

import asyncio

import pytest

from intact.kube import config
from intact.kube.http import HttpTransport
from intact.kube.transport import Request
from tests.support.cluster_with_intact import ClusterWithIntact, shared_house
from tests.support.namespace_under_test import (
    STATEFUL_SETS,
    UNREADY,
    WITHIN,
    NamespaceUnderTest,
    Watched,
    available_in,
    groups_down,
    open_space,
)
from tests.support.objects import DEPLOYMENTS, NODES, PODS, Json, deployment

house = pytest.fixture(scope="module")(shared_house)
space = pytest.fixture(open_space)

PER_NODE = 2
SIZE = 3 * PER_NODE
PROBE = {"initialDelaySeconds": 1, "exec": {"command": ["true"]}}


def shard(space: NamespaceUnderTest, name: str) -> Json:
    """A StatefulSet that is one group, with as many pods on each of the three nodes."""
    labels = {"app": "llm", "shard": name, "space": space.namespace}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": {"shard": name}},
    }
    container = {"name": "main", "image": "registry.example/main:1", "readinessProbe": PROBE}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": SIZE,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"shard": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "topologySpreadConstraints": [spread]},
            },
        },
    }


async def shards(space: NamespaceUnderTest, count: int) -> dict[str, int]:
    """So many groups under a budget that lets one of them be down; their needs."""
    names = [f"shard-{number}" for number in range(count)]
    for name in names:
        await space.create(STATEFUL_SETS, shard(space, name))
    await space.running(SIZE * count)
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": SIZE},
    }
    await space.budget(spec, current_available=count, unavailable_allowed=1)
    return dict.fromkeys(names, SIZE)


def check(watched: Watched, need: dict[str, int]) -> None:
    """All groups were down at some time, as the drain took pods of each; never two at once."""
    down = [groups_down(state, "shard", need) for state in watched.states]
    assert set().union(*down) == set(need)
    assert max(map(len, down)) == 1


async def on_node(space: NamespaceUnderTest, node: str) -> list[str]:
    page = await space.client.list(PODS, space.namespace, fields=f"spec.nodeName={node}")
    return [one["metadata"]["name"] for one in page.items]


async def test_a_drain_takes_one_group_at_a_time(space: NamespaceUnderTest) -> None:
    need = await shards(space, 4)
    assert len(await on_node(space, "node-0")) == 4 * PER_NODE
    async with space.watched() as watched:
        async with space.drain("node-0") as drain:
            assert await drain.ended() == 0, drain.said
        assert await on_node(space, "node-0") == []
        await space.counted(current_available=4)
    check(watched, need)
    # The second pod of a group went with the first: nobody had to wait within a group.
    waited = [line for line in drain.said.splitlines() if "will retry" in line]
    assert waited
    assert "It waits for group shard-" in waited[0]
    assert sum(" evicted" in line for line in drain.said.splitlines()) == 4 * PER_NODE


@pytest.mark.parametrize("victim", ["gate", "leader"])
async def test_a_drain_survives_the_death_of_a_replica(
    house: ClusterWithIntact, space: NamespaceUnderTest, victim: str
) -> None:
    need = await shards(space, 2)
    names = await on_node(space, "node-1")
    async with space.watched() as watched, space.drain("node-1") as drain:
        # One group is down, the other waits, and nothing is being asked.
        await drain.between_rounds(watched, names)
        assert "will retry" in drain.said
        (house.leader() if victim == "leader" else house.follower()).kill()
        assert await drain.ended() == 0, drain.said
        await space.counted(current_available=2)
    check(watched, need)


async def test_a_storm_of_evictions_survives_the_death_of_a_replica(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    body = deployment("web", replicas=12)
    [container] = body["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"] = PROBE
    await space.create(DEPLOYMENTS, body)
    names = await space.running(12)
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 3}
    await space.budget(spec, total_replicas=12, unavailable_allowed=3)

    async def evict(name: str) -> None:
        """Whatever the answer is, until the pod is gone."""
        while (await space.evict(name)).code != 404:
            await asyncio.sleep(0.05)

    async with space.watched() as watched:
        async with asyncio.timeout(4 * WITHIN), asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(evict(name))
            await watched.until(lambda state: len(watched.taken(state)) > 1)
            house.follower().kill()
        await space.counted(current_available=12)
    assert min(len(available_in(state)) for state in watched.states) == 12 - 3


async def test_a_spent_budget_makes_a_drain_wait_and_say_why(space: NamespaceUnderTest) -> None:
    labels = {"app": "web", "space": space.namespace}
    await space.pods("here", node="node-2", labels=labels)
    await space.pods("there", node="node-1", labels=labels)
    await space.pods("broken", node="node-1", labels=labels, annotations={UNREADY: "true"})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 2}
    await space.budget(spec, total_replicas=3, current_available=2, unavailable_allowed=0)
    async with space.watched() as watched, space.drain("node-2") as drain:
        found = await drain.says(r"error when evicting .*will retry after 5s\): (.*)")
        assert found[1] == (
            'admission webhook "evictions.gate.intact.dev" denied the request: Pod here cannot go '
            "now: 2 of 3 pods are available; the budget budget requires 2. It waits for pods to "
            "become ready."
        )
        await space.annotate("broken", {UNREADY: None})
        assert await drain.ended() == 0, drain.said
    assert min(len(available_in(state)) for state in watched.states) == 2
    assert "pod/here evicted" in drain.said


async def test_a_hundred_parallel_deletes_through_two_gates(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    # Replacements find no node: what went stays away, for as long as the test wants.
    home = {"home": space.namespace}
    await space.client.patch(NODES, {"metadata": {"labels": home}}, "node-0")
    body = deployment("web", replicas=100)
    body["spec"]["template"]["spec"]["nodeSelector"] = home
    await space.create(DEPLOYMENTS, body)
    names = await space.running(100)
    await space.client.patch(NODES, {"metadata": {"labels": {"home": None}}}, "node-0")
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 10}
    await space.budget(spec, total_replicas=100, unavailable_allowed=10)

    asked = [replica.metrics()["intact_gate_decision_seconds_count"] for replica in house.replicas]
    clients = [HttpTransport(config.load(str(house.cluster.kubeconfig))) for _ in range(4)]
    try:
        answers = await asyncio.gather(
            *(
                clients[number % 4].send(Request("DELETE", PODS.path(space.namespace, name)))
                for number, name in enumerate(names)
            )
        )
    finally:
        for client in clients:
            await client.close()
    codes = [answer.status for answer in answers]
    assert {code: codes.count(code) for code in set(codes)} == {200: 10, 429: 90}
    for before, replica in zip(asked, house.replicas, strict=True):
        assert replica.metrics()["intact_gate_decision_seconds_count"] > before

    # Also later, once all that has happened is counted, there is nothing left to give.
    counted = await space.counted(current_available=90, unavailable_allowed=0)
    assert counted.status.total_replicas == 100
    left = await space.running(90)
    assert (await space.delete(left[0])).code == 429
