"""What the controller watches, and when it reconciles."""

import asyncio

from intact.operator.rbg.resources import LEADER_WORKER_SETS
from intact.rollout.names import GROUP, HELD
from tests.support.objects import PODS
from tests.support.rbg_objects import group, kind, role
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, play_all, two_roles


def asked_for_sets(scene: Scene) -> bool:
    path = f"/{LEADER_WORKER_SETS.plural}"
    return any(one.path.endswith(path) for one in scene.wire.sent)


@simulated
async def test_leader_worker_sets_are_watched_once_a_role_needs_them() -> None:
    async with grouping() as scene:
        scene.serve_sets()
        await scene.make(two_roles())
        assert not asked_for_sets(scene)
        sets = role("decode", leaderWorkerSet={"size": 2}, **kind("LeaderWorkerSet"))
        await scene.make({**group("other", sets), "metadata": {"name": "other"}})
        assert asked_for_sets(scene)
        assert scene.controller.stores.leader_worker_sets in scene.controller.reflectors


@simulated
async def test_only_the_leader_reconciles() -> None:
    async with grouping() as scene:
        leading = scene._tasks.pop()
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        await scene.make(two_roles())
        assert scene.writes() == []
        assert scene.controller.queue.adds == 0


@simulated
async def test_a_new_leader_lets_go_of_pods_whose_role_based_group_is_gone() -> None:
    async with grouping() as scene:
        scene.leads = False
        meta = {"name": "llm-prefill-0", "labels": {GROUP: "llm"}, "finalizers": [HELD]}
        await scene.client.create(PODS, {"metadata": meta}, NS)
        await scene.settle()
        scene.leads = True
        await scene.restart()
        assert "finalizers" not in scene.get(PODS, "llm-prefill-0")["metadata"]


@simulated
async def test_a_change_of_a_pod_brings_its_role_based_group_back() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        assert scene.status.ready == "0/3"
        await scene.play()
        assert scene.status.ready == "2/3"


@simulated
async def test_a_generation_that_changes_nothing_is_observed() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        before = scene.group().metadata.generation
        await scene.change({"op": "add", "path": "/spec/paused", "value": False})
        assert scene.group().metadata.generation > before
        assert scene.status.observed_generation == scene.group().metadata.generation
