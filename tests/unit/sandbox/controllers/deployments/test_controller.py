"""Deployments, step by step. What the real controller does is in tests/contract."""

import pytest

from intact.kube.errors import Forbidden
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.deployments.controller import DeploymentController
from tests.support.objects import DEPLOYMENTS, REPLICA_SETS, Json, deployment
from tests.unit.sandbox.controllers.acting import change, create, peek, refuse, step


def sets(shared: Shared) -> list[Json]:
    return list(shared.api.objects("replicasets.apps"))


async def test_annotations_are_copied_but_for_those_that_are_its_own(shared: Shared) -> None:
    controller = DeploymentController(shared)
    body = deployment("w", 2)
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    body["metadata"]["annotations"] = {"team": "blue", applied: "{}"}
    await create(shared, DEPLOYMENTS, body)
    await step(controller, DEPLOYMENTS, "w")
    (one,) = sets(shared)
    assert one["metadata"]["annotations"]["team"] == "blue"
    assert applied not in one["metadata"]["annotations"]
    changes = {"metadata": {"annotations": {"team": "red"}}, "spec": {"minReadySeconds": 7}}
    await change(shared, DEPLOYMENTS, "w", changes)
    await step(controller, DEPLOYMENTS, "w")
    (one,) = sets(shared)
    assert one["metadata"]["annotations"]["team"] == "red"
    assert one["spec"]["minReadySeconds"] == 7


async def test_a_replica_set_that_is_refused_is_a_condition(shared: Shared) -> None:
    controller = DeploymentController(shared)
    await create(shared, DEPLOYMENTS, deployment("w", 2))
    hook = refuse(shared, "CREATE", "replicasets")
    with pytest.raises(Forbidden):
        await step(controller, DEPLOYMENTS, "w")
    status = peek(shared, DEPLOYMENTS, "w")["status"]
    reasons = {each["type"]: each["reason"] for each in status["conditions"]}
    assert reasons["Progressing"] == "ReplicaSetCreateError"
    shared.api.withdraw(hook)
    status = (await step(controller, DEPLOYMENTS, "w"))["status"]
    reasons = {each["type"]: each["reason"] for each in status["conditions"]}
    assert reasons["Progressing"] == "NewReplicaSetCreated"


async def test_a_name_that_is_taken_is_passed_over(shared: Shared) -> None:
    controller = DeploymentController(shared)
    await create(shared, DEPLOYMENTS, deployment("w", 2))
    await step(controller, DEPLOYMENTS, "w")
    (first,) = sets(shared)
    stranger = {key: first[key] for key in ("apiVersion", "kind", "spec")}
    await shared.client.delete(REPLICA_SETS, first["metadata"]["name"], "default")
    await create(
        shared, REPLICA_SETS, {**stranger, "metadata": {"name": first["metadata"]["name"]}}
    )
    found = await step(controller, DEPLOYMENTS, "w")
    assert found["status"]["collisionCount"] == 1
    assert len(sets(shared)) == 2
    assert (await step(controller, DEPLOYMENTS, "w"))["status"]["collisionCount"] == 1


async def test_nothing_is_written_where_nothing_changed(shared: Shared) -> None:
    controller = DeploymentController(shared)
    await create(shared, DEPLOYMENTS, deployment("w", 2))
    await step(controller, DEPLOYMENTS, "w")
    before = shared.api.revision
    await step(controller, DEPLOYMENTS, "w")
    assert shared.api.revision == before
