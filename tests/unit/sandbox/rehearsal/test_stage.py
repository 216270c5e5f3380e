"""The copy is at rest before the work begins, and it is known when nothing can change any more."""

import asyncio

from intact.sandbox.cluster import Sandbox
from intact.sandbox.loop import run
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.stage import STILL, Options, Stage, schedules_gangs
from intact.sandbox.rehearsal.times import Times
from tests.support.objects import PODS
from tests.support.small_clusters import NOW, SmallCluster
from tests.unit.sandbox.rehearsal.scene import drained, on_stage


def test_budgets_are_counted_before_the_work_begins() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    made.pub("web", {"app": "web"}, maxUnavailable=1)

    async def look(stage: Stage) -> None:
        pdb, pub = stage.observer.budgets()
        assert (pdb.expected, pdb.desired, pub.expected, pub.desired) == (2, 1, 2, 1)
        assert stage.now() == 0
        assert stage.notes == []

    on_stage(made, look)


def test_a_cluster_that_is_not_at_rest_is_said() -> None:
    made, sandbox = SmallCluster(), Sandbox()
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    load(made.snapshot(), sandbox.api)

    async def settle() -> None:
        times = Times(sandbox.api, NOW)
        stage = Stage(sandbox, times, intact=False, options=Options())
        await stage.settle()  # without a controller, the budget is never counted
        assert ["not at rest" in each for each in stage.notes] == [True]

    run(settle())


def test_it_is_still_once_only_refusals_are_repeated() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])

    async def wait(stage: Stage) -> None:
        await stage.wait_still()
        assert STILL < stage.now() + 10 < STILL + 20

    on_stage(made, wait)


def test_a_pod_that_is_starting_is_waited_for() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])

    async def wait(stage: Stage) -> None:
        [pod] = stage.api.objects("pods")
        await stage.client.evict(PODS, pod["metadata"]["name"], "default")
        await asyncio.sleep(2)
        await stage.wait_still()
        assert all(
            each["type"] != "Ready" or each["status"] == "True"
            for one in stage.api.objects("pods")
            for each in one["status"]["conditions"]
        )
        assert stage.now() > 1000

    on_stage(made, wait, Options(ready_after={"": 1000.0}))


def test_recovery_ends_when_the_last_pod_is_ready() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])

    async def wait(stage: Stage) -> None:
        pod = next(stage.api.objects("pods"))
        await stage.client.evict(PODS, pod["metadata"]["name"], "default")
        await stage.recover()
        assert 50 <= stage.now() < 60

    on_stage(made, wait, Options(ready_after={"web": 50.0}))


def test_gangs_are_scheduled_where_the_cluster_has_done_so() -> None:
    made = SmallCluster()
    made.pod_group("red", ["node-0", "node-1"], need=2)
    [group] = made.objects["podgroups.scheduling.k8s.io"]
    assert not schedules_gangs(made.snapshot())
    group["status"] = {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}
    assert schedules_gangs(made.snapshot())


def test_pods_that_start_for_days_are_waited_for_until_the_horizon() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0"])
    report = drained(made, "node-0", options=Options(ready_after={"web": 48 * 3600.0}))
    assert report.goes_through
    assert report.recovered < 48 * 3600
