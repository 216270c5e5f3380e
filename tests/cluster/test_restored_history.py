"""etcd is restored from a backup while Intact runs: the versions of all objects go back.

Intact is not restarted. Its budgets answer again within seconds, and never let one pod too many go.
"""

import asyncio
from collections.abc import Iterator

import pytest

from devcluster.waiting import wait_for
from intact.kube.errors import Unreachable
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, open_namespace
from tests.support.objects import DEPLOYMENTS, deployment
from tests.support.pdb_groups import Groups, spread

WITHIN = 15.0
"""Seconds after the restore within which a pod may go again."""
BUDGETS = 3


@pytest.fixture
def own_cluster() -> Iterator[ClusterWithIntact]:
    """For this test alone: all other namespaces of a shared one would go back as well."""
    made = ClusterWithIntact()
    made.open()
    failed = True
    try:
        made.restore()
        yield made
        failed = False
    finally:
        made.close(failed=failed)


@pytest.fixture
def ns(
    own_cluster: ClusterWithIntact, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    yield from open_namespace(own_cluster.cluster, runner, request)


async def _grouped(groups: Groups) -> None:
    for group in ("red", "blue"):
        await groups.lws_pods(group, spread(group, 2, "node-0", "node-1"), size=2)
    await groups.budget(maxUnavailable=1, annotations={"intact.dev/expected-replicas": "2"})
    await groups.counted(allowed=1, healthy=2)


async def test_budgets_hold_and_answer_after_a_restore(
    own_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    groups = Groups(ns)
    for number in range(BUDGETS):
        await ns.create(DEPLOYMENTS, deployment(f"web-{number}", replicas=4))
    names = await ns.running(4 * BUDGETS)
    pods = {
        f"web-{n}": [name for name in names if name.startswith(f"web-{n}-")] for n in range(BUDGETS)
    }
    for number in range(BUDGETS):
        spec = {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web-{number}"}
        }
        await ns.budget(spec | {"maxUnavailable": 1}, f"web-{number}", unavailable_allowed=1)
    await _grouped(groups)
    backup = own_cluster.cluster.back_up()

    # A history that will be lost: every budget is written, pods come and go, versions move on.
    for app, members in pods.items():
        assert (await ns.delete(members[0])).code == 200
        await ns.counted(app, unavailable_allowed=1, current_available=4)
    assert (await ns.evict("red-0")).code == 201
    await groups.counted(allowed=0)
    for step in range(100):
        await asyncio.gather(
            *(ns.annotate(members[1], {"step": str(step)}) for members in pods.values())
        )
    pids = [each.process.pid for each in own_cluster.operators]
    own_cluster.cluster.set_back(backup)

    loop = asyncio.get_running_loop()
    begun = loop.time()
    denials: list[str] = []
    waiting = {app: members[1] for app, members in pods.items()}
    waiting["groups"] = "blue-0"
    while waiting and loop.time() < begun + 90:
        for app, name in list(waiting.items()):
            try:
                answer = await (ns.evict(name) if app == "groups" else ns.delete(name))
            except Unreachable:  # a connection to the server that is gone
                continue
            if answer.code < 400:
                del waiting[app]
            else:
                denials.append(
                    f"{loop.time() - begun:.1f} s: {app}: {answer.code} {answer.message}"
                )
        await asyncio.sleep(0.2)
    took = loop.time() - begun
    assert not waiting, denials[-8:]
    # One pod of each budget went: no second one may before the first is replaced.
    assert took < WITHIN, denials[-8:]
    assert (await ns.evict("red-1")).code == 429
    for app in pods:
        await ns.counted(app, current_available=4, total_replicas=4)
    assert pids == [each.process.pid for each in own_cluster.operators]
    await asyncio.to_thread(
        wait_for, lambda: all(each.is_ready() for each in own_cluster.operators), "ready again"
    )
