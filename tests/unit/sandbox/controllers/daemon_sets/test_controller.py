"""DaemonSets, step by step. What the real controller does is in tests/contract."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from intact.kube.errors import Forbidden
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.daemon_sets.controller import DaemonSetController
from tests.support.objects import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    NODES,
    PODS,
    Json,
    daemon_set,
)
from tests.unit.sandbox.controllers.acting import (
    change,
    create,
    peek,
    pod_names,
    pods,
    refuse,
    step,
)


@pytest.fixture
def controller(shared: Shared) -> Iterator[DaemonSetController]:
    found = DaemonSetController(shared)
    ends = found.follow()
    yield found
    for end in ends:
        end()


async def add_node(shared: Shared, name: str) -> None:
    await shared.client.create(NODES, {"metadata": {"name": name}})


async def place(shared: Shared) -> None:
    """As the scheduler does."""
    for pod in pods(shared):
        terms = pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
        node = terms[0]["matchFields"][0]["values"][0]
        await change(shared, PODS, pod["metadata"]["name"], {"spec": {"nodeName": node}})


async def test_nodes_that_come_and_go(shared: Shared, controller: DaemonSetController) -> None:
    await add_node(shared, "a")
    await create(shared, DAEMON_SETS, daemon_set("w"))
    assert (await step(controller, DAEMON_SETS, "w"))["status"] == {
        "observedGeneration": 1,
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": 0,
        "updatedNumberScheduled": 1,
        "numberUnavailable": 1,
    }
    await add_node(shared, "b")
    assert len(controller.queue) == 1
    await step(controller, DAEMON_SETS, "w")
    assert len(pods(shared)) == 2
    # A pod that never reached its node goes with it.
    await shared.client.delete(NODES, "b")
    await step(controller, DAEMON_SETS, "w")
    assert len(pods(shared)) == 1


async def test_only_changes_of_labels_and_taints_concern_it(
    shared: Shared, controller: DaemonSetController
) -> None:
    await add_node(shared, "a")
    await create(shared, DAEMON_SETS, daemon_set("w"))
    await step(controller, DAEMON_SETS, "w")
    await place(shared)
    while controller.queue:
        controller.queue.done(await controller.queue.get())
    heartbeat = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await shared.client.patch(NODES, heartbeat, "a", subresource="status")
    soft = {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}
    await shared.client.patch(NODES, soft, "a")
    assert len(controller.queue) == 0
    hard = {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}
    await shared.client.patch(NODES, hard, "a")
    assert len(controller.queue) == 1


async def test_a_pod_that_fails_again_is_replaced_more_slowly(shared: Shared) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    shared.clock = lambda: now
    controller = DaemonSetController(shared)
    controller.follow()
    await add_node(shared, "a")
    await create(shared, DAEMON_SETS, daemon_set("w"))
    gone: list[int] = []
    for second in range(10):
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
        await step(controller, DAEMON_SETS, "w")
        if not pods(shared):
            gone.append(second)
            await step(controller, DAEMON_SETS, "w")
        (name,) = pod_names(shared)
        failed = {"status": {"phase": "Failed"}}
        await shared.client.patch(PODS, failed, name, "default", subresource="status")
    assert gone == [1, 2, 4, 8]


async def test_old_revisions_go_beyond_the_limit(
    shared: Shared, controller: DaemonSetController
) -> None:
    await create(shared, DAEMON_SETS, daemon_set("w", revisionHistoryLimit=1))
    for number in range(4):
        containers: list[Json] = [{"name": "main", "image": f"registry.example/main:{number}"}]
        template = {"spec": {"containers": containers}}
        await change(shared, DAEMON_SETS, "w", {"spec": {"template": template}})
        await step(controller, DAEMON_SETS, "w")
    numbers = [each["revision"] for each in shared.api.objects("controllerrevisions.apps")]
    assert sorted(numbers) == [3, 4]


async def test_the_status_is_written_though_the_api_refuses(
    shared: Shared, controller: DaemonSetController
) -> None:
    await add_node(shared, "a")
    await create(shared, DAEMON_SETS, daemon_set("w"))
    refuse(shared, "CREATE")
    with pytest.raises(Forbidden):
        await step(controller, DAEMON_SETS, "w")
    assert peek(shared, DAEMON_SETS, "w")["status"]["desiredNumberScheduled"] == 1


async def test_a_set_whose_revisions_are_not_known_is_not_rolled_out(
    shared: Shared, controller: DaemonSetController
) -> None:
    """As from a snapshot."""
    await add_node(shared, "a")
    await create(shared, DAEMON_SETS, daemon_set("w"))
    await step(controller, DAEMON_SETS, "w")
    await place(shared)
    (revision,) = shared.api.objects("controllerrevisions.apps")
    await shared.client.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"], "default")
    (pod,) = pods(shared)
    hashed = {"metadata": {"labels": {"controller-revision-hash": "bcdf"}}}
    await change(shared, PODS, pod["metadata"]["name"], hashed)
    for _ in range(2):
        status = (await step(controller, DAEMON_SETS, "w"))["status"]
        assert status["updatedNumberScheduled"] == 1
    assert pod_names(shared) == [pod["metadata"]["name"]]
    template = {"metadata": {"labels": {"app": "w", "version": "2"}}}
    await change(shared, DAEMON_SETS, "w", {"spec": {"template": template}})
    await step(controller, DAEMON_SETS, "w")
    assert "updatedNumberScheduled" not in peek(shared, DAEMON_SETS, "w")["status"]
