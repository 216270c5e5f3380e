"""Many evictions at once under budgets in groups, through two operators, also while those die."""

import asyncio
from collections import Counter

import pytest

from intact.kube import config
from intact.kube.http import HttpTransport
from intact.kube.transport import Request
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    WITHIN,
    NamespaceUnderTest,
    Watched,
    eventually,
    groups_down,
)
from tests.support.objects import PDBS, PODS, STATEFUL_SETS, Json, spread_stateful_set
from tests.support.pdb_groups import SCOPE, Groups, condition


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


GROUPS = 10
SIZE = 5
BY_LABEL = {"intact.dev/group-label-key": "group", "intact.dev/min-ready-replicas": str(SIZE)}


async def made(
    ns: NamespaceUnderTest, groups: Groups, count: int, size: int = SIZE
) -> dict[str, int]:
    need = {f"g{number}": size for number in range(count)}
    for name in need:
        await ns.create(STATEFUL_SETS, spread_stateful_set(name, size, "group", groups.labels))
    await ns.running(count * size)
    return need


def worst(watched: Watched, need: dict[str, int]) -> int:
    return max(len(groups_down(state, "group", need)) for state in watched.states)


async def test_fifty_repeated_evictions_through_two_operators_take_two_groups_at_a_time(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    need = await made(ns, groups, GROUPS)
    await groups.budget(annotations=BY_LABEL, maxUnavailable=2)
    await groups.counted(allowed=2, healthy=GROUPS)
    asked = [
        operator.metrics()["intact_gate_decision_seconds_count"]
        for operator in intact_cluster.operators
    ]
    clients = [
        HttpTransport(config.load(str(intact_cluster.cluster.kubeconfig))) for _ in range(10)
    ]
    answers: Counter[int] = Counter()
    uids = {
        one["metadata"]["name"]: one["metadata"]["uid"]
        for one in (await ns.client.list(PODS, ns.name)).items
    }

    async def evict(number: int, name: str) -> None:
        """As kubectl does: again and again until the pod with this UID is gone."""
        path = PODS.path(ns.name, name, "eviction")
        options = f'{{"preconditions":{{"uid":"{uids[name]}"}}}}'
        body = (
            '{"apiVersion":"policy/v1","kind":"Eviction",'
            f'"metadata":{{"name":"{name}"}},"deleteOptions":{options}}}'
        )
        while True:
            pod = await clients[number % 10].send(Request("GET", PODS.path(ns.name, name)))
            if pod.status == 404 or uids[name] not in pod.body.decode():
                return
            answer = await clients[number % 10].send(Request("POST", path, {}, body.encode()))
            answers[answer.status] += 1
            if answer.status == 201:
                return
            await asyncio.sleep(0.2)

    try:
        async with ns.watched() as watched:
            async with asyncio.timeout(4 * WITHIN), asyncio.TaskGroup() as storm:
                for number, name in enumerate(uids):
                    storm.create_task(evict(number, name))
            await groups.counted(healthy=GROUPS)
    finally:
        for client in clients:
            await client.close()
    assert worst(watched, need) == 2
    assert answers[201] >= 1
    assert answers[429] >= 1
    # 409 comes only from the precondition: another pod has the name by now.
    assert set(answers) <= {201, 429, 409}, answers
    for before, operator in zip(asked, intact_cluster.operators, strict=True):
        assert operator.metrics()["intact_gate_decision_seconds_count"] > before


async def test_fifty_evictions_at_once_take_exactly_two_groups(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """No pod comes back: the admitted evictions are of two groups, and none of a third."""
    for number in range(GROUPS):
        await groups.group(f"g{number}", need=SIZE, pods=SIZE, workload="")
    need = {f"g{number}": SIZE for number in range(GROUPS)}
    await groups.budget(maxUnavailable=2)
    await groups.counted(allowed=2, healthy=GROUPS, disruptions_allowed=2 * SIZE)
    names = sorted(one["metadata"]["name"] for one in await all_pods(ns))
    async with ns.watched() as watched:
        answers = await asyncio.gather(*(ns.evict(name) for name in names))
        await groups.counted(allowed=0, healthy=GROUPS - 2)
        # Once all evictions are counted, still only these two groups may go.
        again = await asyncio.gather(*(ns.evict(name) for name in names))
    assert worst(watched, need) == 2
    codes = Counter(answer.code for answer in answers)
    assert set(codes) <= {201, 429, 409}, codes
    assert {answer.code for answer in again} <= {201, 429, 404}
    down = groups_down(watched.states[-1], "group", need)
    for name, answer in zip(names, answers, strict=True):
        assert answer.code != 201 or name.rpartition("-")[0] in down


async def all_pods(ns: NamespaceUnderTest) -> list[Json]:
    return list((await ns.client.list(PODS, ns.name)).items)


async def test_a_drain_takes_one_group_at_a_time_while_operators_die(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    need = await made(ns, groups, 4, 6)
    await groups.budget(
        annotations=BY_LABEL | {"intact.dev/min-ready-replicas": "6"}, maxUnavailable=1
    )
    await groups.counted(allowed=1, healthy=4)
    names = await ns.on_node("node-0")
    async with ns.watched() as watched, ns.drain("node-0") as drain:
        await drain.between_rounds(watched, names)
        intact_cluster.follower().kill()
        await watched.until(lambda state: len(watched.taken(state)) >= 4)
        intact_cluster.start_missing()
        await asyncio.to_thread(intact_cluster.wait_until_whole)
        await drain.between_rounds(watched, names)
        intact_cluster.leader().kill()
        assert await drain.ended() == 0, drain.said
        await groups.counted(allowed=1, healthy=4)
    assert worst(watched, need) == 1
    assert await ns.on_node("node-0") == []


async def test_with_all_operators_down_only_labelled_budgets_refuse(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.workload(need=2)
    await groups.group("red", need=2, pods=2)
    await groups.budget(minAvailable=0)
    await groups.counted(allowed=1, healthy=1)
    await ns.pods("free", "other", labels={"app": "web"})
    body = {
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    await ns.create(PDBS, body)
    await eventually(
        lambda: groups.stored("web"), lambda found: found.status.disruptions_allowed == 1, "web"
    )
    for operator in intact_cluster.operators:
        operator.kill()
    refused = await ns.evict("red-0")
    assert refused.code == 500
    assert "status.pdbs.intact.dev" in refused.message
    # Other budgets work: evictions under them, and creating, changing and deleting them.
    assert (await ns.evict("free")).code == 201
    assert (await groups.edit("web", spec={"minAvailable": 0})).code == 200
    assert (await ns.kubectl("delete", "pdb", "web"))[0] == 0
    await groups.budget(scope=None, name="another", minAvailable=0)
    # A user who must go on without Intact removes the label: the stock controller counts again.
    assert (await groups.edit(metadata={"labels": {SCOPE: None}})).code == 200
    await eventually(
        groups.stored, lambda found: condition(found, "DisruptionAllowed")[1] == "SufficientPods",
        "the stock controller's numbers",
    )  # fmt: skip
    await ns.kubectl("delete", "pdb", "another")
    assert (await ns.evict("red-0")).code == 201
    intact_cluster.restore()
    await eventually(groups.stored, lambda found: not found.metadata.annotations, "nothing left")
