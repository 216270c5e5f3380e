"""Jobs, step by step. What the real controller does is in tests/contract."""

from typing import Any

import pytest

from intact.kube.errors import Forbidden
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.jobs.controller import JobController
from intact.sandbox.controllers.unknown import Owners
from tests.support.objects import JOBS, PODS, Json
from tests.unit.sandbox.controllers.acting import (
    change,
    create,
    peek,
    pod_names,
    pods,
    refuse,
    run_all,
    run_pod,
    step,
)


def job(**spec: Any) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    return {"metadata": {"name": "w"}, "spec": {"template": template, **spec}}


async def finish(shared: Shared, name: str, phase: str) -> None:
    await run_pod(shared, name, ready=False)
    body = {"status": {"phase": phase}}
    await shared.client.patch(PODS, body, name, "default", subresource="status")


async def test_the_status_counts_what_is_there(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job(completions=3, parallelism=2))
    begun = (await step(controller, JOBS, "w"))["status"]
    assert begun.pop("startTime")
    assert begun == {"active": 2, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    await run_all(shared)
    await finish(shared, pod_names(shared)[0], "Succeeded")
    status = (await step(controller, JOBS, "w"))["status"]
    assert (status["active"], status["ready"], status["succeeded"]) == (2, 1, 1)
    before = shared.api.revision
    await step(controller, JOBS, "w")
    assert shared.api.revision == before


async def test_fewer_at_once_means_that_some_go(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job(completions=4, parallelism=3))
    await step(controller, JOBS, "w")
    first = pod_names(shared)[0]
    await run_pod(shared, first)
    await change(shared, JOBS, "w", {"spec": {"parallelism": 1}})
    await step(controller, JOBS, "w")
    # Those that go count as failed, and their finalizers are taken off.
    await step(controller, JOBS, "w")
    assert pod_names(shared) == [first]
    assert peek(shared, JOBS, "w")["status"]["failed"] == 2


async def test_of_a_work_queue_one_success_ends_the_replacement(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job(parallelism=2))
    await step(controller, JOBS, "w")
    first, second = pod_names(shared)
    await finish(shared, first, "Succeeded")
    status = (await step(controller, JOBS, "w"))["status"]
    assert (status["active"], "conditions" in status) == (1, False)
    await finish(shared, second, "Failed")
    status = (await step(controller, JOBS, "w"))["status"]
    assert [each["type"] for each in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["failed"]) == (1, 1)
    assert len(pods(shared)) == 2


async def test_a_refusal_does_not_keep_finished_pods_from_being_counted(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job(completions=3, parallelism=1))
    await step(controller, JOBS, "w")
    await finish(shared, pod_names(shared)[0], "Succeeded")
    refuse(shared, "CREATE")
    with pytest.raises(Forbidden):
        await step(controller, JOBS, "w")
    assert peek(shared, JOBS, "w")["status"]["succeeded"] == 1


async def test_a_job_does_not_end_before_its_pods_are_gone(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job(completions=2, parallelism=2, backoffLimit=0))
    await step(controller, JOBS, "w")
    first, second = pod_names(shared)
    await change(shared, PODS, second, {"spec": {"nodeName": "n"}})
    await finish(shared, first, "Failed")
    for _ in range(2):
        await step(controller, JOBS, "w")
    status = (await step(controller, JOBS, "w"))["status"]
    assert [each["type"] for each in status["conditions"]] == ["FailureTarget"]
    assert status["terminating"] == 1
    await shared.api.finish_pod("default", second)
    status = (await step(controller, JOBS, "w"))["status"]
    assert [each["type"] for each in status["conditions"]] == ["FailureTarget", "Failed"]


async def test_pods_of_jobs_come_back(shared: Shared) -> None:
    controller = JobController(shared)
    await create(shared, JOBS, job())
    await step(controller, JOBS, "w")
    assert Owners([controller]).why_lost(pods(shared)[0]) == ""
