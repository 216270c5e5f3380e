"""StatefulSets, step by step. What the real controller does is in tests/contract."""

from typing import Any

import pytest

from intact.kube.errors import AlreadyExists
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.stateful_pods import revision_of
from intact.sandbox.controllers.stateful_set import StatefulSetController
from tests.support.objects import (
    CONTROLLER_REVISIONS,
    PODS,
    STATEFUL_SETS,
    Json,
    pod,
    stateful_set,
)
from tests.unit.sandbox.controllers.acting import (
    change,
    create,
    peek,
    pod_names,
    pods,
    run_all,
    run_pod,
    step,
)

PARALLEL = {"podManagementPolicy": "Parallel"}


async def new_template(shared: Shared) -> None:
    template = {"metadata": {"labels": {"app": "w", "version": "2"}}}
    await change(shared, STATEFUL_SETS, "w", {"spec": {"template": template}})


async def up(shared: Shared, body: Json) -> StatefulSetController:
    """All pods run and are ready."""
    controller = StatefulSetController(shared)
    await create(shared, STATEFUL_SETS, body)
    for _ in range(body["spec"]["replicas"]):
        await step(controller, STATEFUL_SETS, "w")
        await run_all(shared)
    await step(controller, STATEFUL_SETS, "w")
    return controller


async def hold(shared: Shared, name: str) -> None:
    """The pod is on a node whose kubelet takes its time to end it."""
    await shared.client.patch(PODS, {"spec": {"nodeName": "n"}}, name, "default")


async def test_in_order_a_pod_that_is_not_ready_holds_up_those_above_it(shared: Shared) -> None:
    controller = StatefulSetController(shared)
    await create(shared, STATEFUL_SETS, stateful_set("w", 3))
    for _ in range(3):
        await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0"]
    await run_pod(shared, "w-0")
    await step(controller, STATEFUL_SETS, "w")
    await run_pod(shared, "w-1", ready=False)
    await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0", "w-1"]


async def test_in_order_the_scale_down_waits_for_unavailable_pods(shared: Shared) -> None:
    controller = await up(shared, stateful_set("w", 4))
    await run_pod(shared, "w-2", ready=False)
    await run_pod(shared, "w-3", ready=False)
    await change(shared, STATEFUL_SETS, "w", {"spec": {"replicas": 2}})
    await step(controller, STATEFUL_SETS, "w")
    assert len(pods(shared)) == 4
    # Of the unavailable pods that have to go, the lowest is waited for; the only one goes.
    await run_pod(shared, "w-2")
    await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0", "w-1", "w-2"]


async def test_a_terminating_pod_is_counted_and_not_replaced_before_it_is_gone(
    shared: Shared,
) -> None:
    controller = await up(shared, stateful_set("w", 2, **PARALLEL))
    await hold(shared, "w-1")
    await shared.client.delete(PODS, "w-1", "default")
    status = (await step(controller, STATEFUL_SETS, "w"))["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
    await shared.api.finish_pod("default", "w-1")
    status = (await step(controller, STATEFUL_SETS, "w"))["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 1)


async def test_an_update_in_parallel_waits_for_the_pod_above(shared: Shared) -> None:
    controller = await up(shared, stateful_set("w", 3, **PARALLEL))
    old = revision_of(pods(shared)[0])
    await new_template(shared)
    await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0", "w-1"]
    for _ in range(2):
        await step(controller, STATEFUL_SETS, "w")
    assert [revision_of(each) == old for each in pods(shared)] == [True, True, False]
    await run_all(shared)
    await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0", "w-2"]


async def test_as_many_pods_are_updated_at_once_as_may_be_unavailable(shared: Shared) -> None:
    """As with the feature gate MaxUnavailableStatefulSet. The API drops the field, as it does on a
    stock server, so the test gives it to the controller itself."""
    controller = await up(shared, stateful_set("w", 4, **PARALLEL))
    await new_template(shared)
    body = peek(shared, STATEFUL_SETS, "w")
    rolling = {"partition": 0, "maxUnavailable": "50%"}
    strategy: dict[str, Any] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    body = {**body, "spec": {**body["spec"], "updateStrategy": strategy}}
    await controller.reconcile(body)
    assert pod_names(shared) == ["w-0", "w-1"]
    await controller.reconcile(body)
    await run_pod(shared, "w-2")
    await controller.reconcile(body)
    assert pod_names(shared) == ["w-0", "w-2", "w-3"]


async def test_without_a_word_on_the_partition_the_current_pods_keep_their_revision(
    shared: Shared,
) -> None:
    strategy = {"type": "RollingUpdate"}
    controller = await up(shared, stateful_set("w", 3, **PARALLEL, updateStrategy=strategy))
    old = revision_of(pods(shared)[0])
    await new_template(shared)
    await step(controller, STATEFUL_SETS, "w")
    await shared.client.delete(PODS, "w-0", "default")
    await step(controller, STATEFUL_SETS, "w")
    assert [revision_of(each) == old for each in pods(shared)] == [True, True, False]


async def test_a_stranger_with_the_name_of_a_pod_is_left_alone(shared: Shared) -> None:
    controller = StatefulSetController(shared)
    await create(shared, PODS, pod("w-0"))
    await create(shared, STATEFUL_SETS, stateful_set("w", 2, **PARALLEL))
    with pytest.raises(AlreadyExists):
        await step(controller, STATEFUL_SETS, "w")
    assert peek(shared, STATEFUL_SETS, "w")["status"]["replicas"] == 0


async def test_a_set_whose_revisions_are_not_known_is_not_rolled_out(shared: Shared) -> None:
    """As from a snapshot, or with a template that an older server stored in another form."""
    controller = await up(shared, stateful_set("w", 2, **PARALLEL))
    (revision,) = shared.api.objects("controllerrevisions.apps")
    name = revision["metadata"]["name"]
    await shared.client.delete(CONTROLLER_REVISIONS, name, "default")
    other = {**revision, "data": {"spec": {"template": {"of": "another form"}}}}
    for known in ([], [other]):
        for each in known:
            del each["metadata"]["resourceVersion"]
            await create(shared, CONTROLLER_REVISIONS, each)
        before = pods(shared)
        status = (await step(controller, STATEFUL_SETS, "w"))["status"]
        assert pods(shared) == before
        assert status["updateRevision"] == name
        assert [each["metadata"]["name"] for each in _revisions(shared)] == [name]
        await shared.client.delete(CONTROLLER_REVISIONS, name, "default")
    await new_template(shared)
    await step(controller, STATEFUL_SETS, "w")
    assert pod_names(shared) == ["w-0"]


def _revisions(shared: Shared) -> list[Json]:
    return list(shared.api.objects("controllerrevisions.apps"))
