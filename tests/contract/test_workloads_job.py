"""Jobs run pods to their end."""

from typing import Any

from tests.contract.clusters import ClusterBackend
from tests.contract.test_garbage import delete, is_gone
from tests.contract.test_workloads import names
from tests.support.objects import JOBS, PODS, Json

COMPLETE_AFTER = "devcluster.intact.dev/complete-after"
TRACKING = "batch.kubernetes.io/job-tracking"


def job(annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"name": "w"},
        "spec": {
            "template": {
                "metadata": {"annotations": annotations or {}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "registry.example/main:1"}],
                },
            },
            **spec,
        },
    }


def conditions(obj: Json) -> dict[str, str]:
    found = obj["status"].get("conditions", [])
    return {each["type"]: each["reason"] for each in found if each["status"] == "True"}


def counts(obj: Json) -> dict[str, int]:
    known = ("active", "ready", "succeeded", "failed", "terminating")
    return {name: obj["status"].get(name, 0) for name in known if obj["status"].get(name)}


async def until(backend: ClusterBackend, kind: str) -> Json:
    return await backend.until(lambda: backend.get(JOBS, "w"), lambda obj: kind in conditions(obj))


async def running(backend: ClusterBackend, count: int) -> list[Json]:
    await backend.until(
        lambda: backend.get(JOBS, "w"),
        lambda obj: counts(obj).get("active", 0) == obj["status"].get("ready") == count,
    )
    return await backend.pods()


async def finish(backend: ClusterBackend, name: str, phase: str) -> None:
    await backend.client.patch(
        PODS, {"status": {"phase": phase}}, name, backend.namespace, subresource="status"
    )


async def test_pods_run_until_enough_have_succeeded(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    made = await backend.create(JOBS, job({COMPLETE_AFTER: "1s"}, completions=3, parallelism=2))
    first = await running(backend, 2)
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    for pod in first:
        assert pod["metadata"]["labels"] == {
            "job-name": "w",
            "controller-uid": uid,
            "batch.kubernetes.io/job-name": "w",
            "batch.kubernetes.io/controller-uid": uid,
        }
        assert pod["metadata"]["finalizers"] == [TRACKING]
    done = await until(backend, "Complete")
    assert conditions(done) == {
        "SuccessCriteriaMet": "CompletionsReached",
        "Complete": "CompletionsReached",
    }
    assert counts(done) == {"succeeded": 3}
    assert done["status"]["uncountedTerminatedPods"] == {}
    assert done["status"]["completionTime"] >= done["status"]["startTime"]
    pods = await backend.pods()
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"] * 3
    assert not any("finalizers" in pod["metadata"] for pod in pods)


async def test_a_job_fails_with_more_failures_than_it_may_have(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await backend.create(JOBS, job(completions=3, parallelism=3, backoffLimit=1))
    pods = await running(backend, 3)
    for name in names(pods)[:2]:
        await finish(backend, name, "Failed")
    failed = await until(backend, "Failed")
    assert conditions(failed) == {
        "FailureTarget": "BackoffLimitExceeded",
        "Failed": "BackoffLimitExceeded",
    }
    # What still ran was ended, and counts as failed, too.
    assert counts(failed) == {"failed": 3}
    left = await backend.until(backend.pods, lambda seen: len(seen) == 2)
    assert names(left) == names(pods)[:2]


async def test_a_failed_pod_is_replaced_after_ten_seconds(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await backend.create(JOBS, job())
    (pod,) = await running(backend, 1)
    await finish(backend, pod["metadata"]["name"], "Failed")
    after = await backend.until(backend.pods, lambda seen: len(seen) == 2)
    (new,) = [each for each in after if each["metadata"]["name"] != pod["metadata"]["name"]]
    assert new["metadata"]["creationTimestamp"] > pod["metadata"]["creationTimestamp"]
    found = await backend.get(JOBS, "w")
    assert found["status"]["failed"] == 1
    waited = _seconds(new["metadata"]["creationTimestamp"]) - _seconds(
        pod["metadata"]["creationTimestamp"]
    )
    assert waited % 86400 >= 9


def _seconds(time: str) -> int:
    hours, minutes, seconds = time[11:19].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


async def test_each_index_has_to_succeed(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    body = job(completions=4, parallelism=3, completionMode="Indexed")
    await backend.create(JOBS, body)
    pods = await running(backend, 3)
    index = "batch.kubernetes.io/job-completion-index"
    assert [pod["metadata"]["annotations"][index] for pod in pods] == ["0", "1", "2"]
    assert [pod["metadata"]["labels"][index] for pod in pods] == ["0", "1", "2"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["w-0", "w-1", "w-2"]
    for pod in (pods[0], pods[2]):
        await finish(backend, pod["metadata"]["name"], "Succeeded")
    half = await backend.until(
        lambda: backend.get(JOBS, "w"),
        lambda obj: counts(obj) == {"active": 2, "ready": 2, "succeeded": 2},
    )
    assert half["status"]["completedIndexes"] == "0,2"
    for pod in await backend.pods():
        if pod["status"]["phase"] == "Running":
            await finish(backend, pod["metadata"]["name"], "Succeeded")
    done = await until(backend, "Complete")
    assert done["status"]["completedIndexes"] == "0-3"
    assert done["status"]["succeeded"] == 4


async def test_a_suspended_job_has_no_pods(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await backend.create(JOBS, job(completions=2, parallelism=2, suspend=True))
    await until(backend, "Suspended")
    assert await backend.pods() == []
    await backend.patch(JOBS, "w", {"spec": {"suspend": False}})
    await running(backend, 2)
    await backend.patch(JOBS, "w", {"spec": {"suspend": True}})
    found = await until(backend, "Suspended")
    await backend.until(backend.pods, lambda seen: not seen)
    assert "startTime" not in found["status"]


async def test_a_job_ends_at_its_deadline(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await backend.create(JOBS, job(activeDeadlineSeconds=1))
    failed = await until(backend, "Failed")
    assert conditions(failed) == {
        "FailureTarget": "DeadlineExceeded",
        "Failed": "DeadlineExceeded",
    }
    await backend.until(backend.pods, lambda seen: not seen)


async def test_the_pods_of_a_deleted_job_go(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    for policy in ("Background", "Foreground"):
        await backend.create(JOBS, job(completions=2, parallelism=2))
        await running(backend, 2)
        await delete(backend, JOBS, "w", policy)
        await backend.until(backend.pods, lambda seen: not seen)
        await backend.until(lambda: is_gone(backend, JOBS, "w"), bool)
