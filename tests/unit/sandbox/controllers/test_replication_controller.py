"""ReplicationControllers. What the real controller does is in tests/contract/test_workloads.py."""

from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.replication_controller import ReplicationControllerController
from tests.support.objects import REPLICATION_CONTROLLERS, replication_controller
from tests.unit.sandbox.controllers.acting import create, pods, run_all, step


async def test_it_has_pods_and_counts_them_but_not_those_that_go(shared: Shared) -> None:
    controller = ReplicationControllerController(shared)
    made = await create(shared, REPLICATION_CONTROLLERS, replication_controller("w", 2))
    assert made["spec"]["selector"] == {"app": "w"}
    await step(controller, REPLICATION_CONTROLLERS, "w")
    await run_all(shared)
    assert (await step(controller, REPLICATION_CONTROLLERS, "w"))["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }
    assert len(pods(shared)) == 2
