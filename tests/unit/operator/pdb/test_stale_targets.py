"""A stale condition DisruptionTarget is set to False after two minutes."""

from typing import Any

import pytest

from tests.support.objects import PODS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import PdbScene, counting
from tests.unit.operator.pub.scene import NS

READY = {"type": "Ready", "status": "True"}


def target(scene: PdbScene, reason: str = "EvictionByEvictionAPI") -> dict[str, Any]:
    since = scene.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": "Eviction API: evicting",
        "lastTransitionTime": since,
    }


def condition(scene: PdbScene) -> dict[str, Any]:
    pod = scene.api.peek("pods", NS, "p")
    assert pod is not None
    found: dict[str, Any] = next(
        one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"
    )
    return found


async def set_conditions(scene: PdbScene, *conditions: dict[str, Any], **more: Any) -> None:
    status = {"conditions": list(conditions), **more}
    await scene.client.patch(PODS, {"status": status}, "p", NS, subresource="status")


@simulated
async def test_a_stale_condition_is_set_to_false_after_two_minutes() -> None:
    async with counting() as scene:
        await scene.pod("p")
        await set_conditions(scene, READY, target(scene))
        await scene.settle(115)
        assert condition(scene)["status"] == "True"
        await scene.settle(10)
        found = condition(scene)
        assert found["status"] == "False"
        assert not found.get("reason")
        assert not found.get("message")
        pod = scene.api.peek("pods", NS, "p")
        assert pod is not None
        assert READY in pod["status"]["conditions"]
        assert scene.pdb_controller.stale_targets.cleared == 1


@pytest.mark.parametrize(
    ("reason", "phase"), [("TerminationByKubelet", "Running"), ("PreemptionByScheduler", "Failed")]
)
def test_conditions_of_the_kubelet_and_of_finished_pods_stay(reason: str, phase: str) -> None:
    @simulated
    async def run() -> None:
        async with counting() as scene:
            await scene.pod("p")
            await set_conditions(scene, READY, target(scene, reason), phase=phase)
            await scene.settle(300)
            assert condition(scene)["status"] == "True"

    run()


@simulated
async def test_a_terminating_pod_keeps_the_condition() -> None:
    async with counting() as scene:
        await scene.pod("p")
        await set_conditions(scene, READY, target(scene))
        await scene.delete("p")
        await scene.settle(300)
        assert condition(scene)["status"] == "True"


@simulated
async def test_without_the_controller_conditions_are_left_alone() -> None:
    async with counting(disruption=False) as scene:
        await scene.pod("p")
        await set_conditions(scene, READY, target(scene))
        await scene.settle(300)
        assert condition(scene)["status"] == "True"
