"""What several controllers watch together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from intact.kube.client import Client
from intact.operator.watch.shared import Watches
from intact.sandbox import MemoryApi, Moment
from tests.support.objects import PODS, pod
from tests.unit.kube.simulated import now, simulated
from tests.unit.operator.pub.scene import PLAN, SETS_GROUP, STATEFUL_SET
from tests.unit.operator.watch.scene import HOME, api_with_sets, make


@asynccontextmanager
async def watching(api: MemoryApi) -> AsyncGenerator[Watches, None]:
    watches = Watches(Client(api))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watches.run())
        yield watches
        task.cancel()


@simulated
async def test_pods_namespaces_and_workloads_are_in_stores() -> None:
    api = api_with_sets()
    client = Client(api)
    owner = (await make(client, STATEFUL_SET, "db"))["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
    reference |= {"name": owner["name"], "uid": owner["uid"]}
    made = await client.create(PODS, pod("db-0", ownerReferences=[reference]), HOME)
    async with watching(api) as watches:
        await watches.wait_synced()
        for index, value in (
            ("namespace", HOME),
            ("owner", owner["uid"]),
            ("uid", made["metadata"]["uid"]),
        ):
            found = watches.pods.store.by_index(index, value)
            assert [one.metadata.name for one in found] == ["db-0"]
        assert watches.namespaces.store.get("", HOME) is not None
        assert watches.workloads.by_uid(owner["uid"]) is not None
        assert {one.name for one in watches.reflectors} == {
            "pods",
            "namespaces",
            "poddisruptionbudgets.policy",
            "replicationcontrollers",
            "deployments.apps",
            "replicasets.apps",
            "statefulsets.apps",
        }


@simulated
async def test_all_stores_are_waited_for() -> None:
    api = api_with_sets()
    api.faults.fail_next(lambda request: "statefulsets" in request.path, times=6)
    async with watching(api) as watches:
        await watches.wait_synced()
        assert all(one.store.synced for one in watches.reflectors)
        assert now() > 0.1


@simulated
async def test_a_discovered_kind_that_cannot_be_listed_is_not_waited_for() -> None:
    api = api_with_sets()
    api.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: request.path.endswith("/plans"))
    async with watching(api) as watches:
        watches.workloads.learn(SETS_GROUP, PLAN.kind, PLAN.api_version)
        await asyncio.sleep(5)
        await watches.wait_synced()
        plans = watches.workloads.reflectors[SETS_GROUP, PLAN.kind]
        assert plans.error is not None
        assert not plans.store.synced
