"""ReplicaSets, step by step. What the real controller does is in tests/contract."""

import pytest

from intact.kube.errors import Forbidden
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.replica_set import ReplicaSetController
from tests.support.objects import PODS, REPLICA_SETS, replica_set
from tests.unit.sandbox.controllers.acting import (
    change,
    create,
    peek,
    pods,
    refuse,
    run_all,
    step,
)


async def test_the_status_counts_what_is_there(shared: Shared) -> None:
    controller = ReplicaSetController(shared)
    await create(shared, REPLICA_SETS, replica_set("w", 2))
    assert (await step(controller, REPLICA_SETS, "w"))["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    await run_all(shared)
    name = pods(shared)[0]["metadata"]["name"]
    await change(shared, PODS, name, {"spec": {"nodeName": "n"}})
    await shared.client.delete(PODS, name, "default")
    assert (await step(controller, REPLICA_SETS, "w"))["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "terminatingReplicas": 1,
        "observedGeneration": 1,
    }


async def test_nothing_is_written_where_nothing_changed(shared: Shared) -> None:
    controller = ReplicaSetController(shared)
    await create(shared, REPLICA_SETS, replica_set("w", 2))
    before = await step(controller, REPLICA_SETS, "w")
    assert await step(controller, REPLICA_SETS, "w") is before


async def test_a_refusal_is_a_condition_until_it_ends(shared: Shared) -> None:
    controller = ReplicaSetController(shared)
    await create(shared, REPLICA_SETS, replica_set("w", 2))
    hook = refuse(shared, "CREATE")
    for _ in range(2):
        with pytest.raises(Forbidden):
            await step(controller, REPLICA_SETS, "w")
    (condition,) = peek(shared, REPLICA_SETS, "w")["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("ReplicaFailure", "True")
    assert condition["reason"] == "FailedCreate"
    assert "not now" in condition["message"]

    shared.api.withdraw(hook)
    assert "conditions" not in (await step(controller, REPLICA_SETS, "w"))["status"]

    refuse(shared, "DELETE")
    await change(shared, REPLICA_SETS, "w", {"spec": {"replicas": 0}})
    with pytest.raises(Forbidden):
        await step(controller, REPLICA_SETS, "w")
    found = peek(shared, REPLICA_SETS, "w")["status"]
    assert found["conditions"][0]["reason"] == "FailedDelete"
    assert found["replicas"] == 2


async def test_a_set_that_is_being_deleted_makes_no_pods(shared: Shared) -> None:
    controller = ReplicaSetController(shared)
    body = replica_set("w", 2)
    body["metadata"]["finalizers"] = ["test.io/held"]
    await create(shared, REPLICA_SETS, body)
    await shared.client.delete(REPLICA_SETS, "w", "default")
    await step(controller, REPLICA_SETS, "w")
    assert pods(shared) == []
