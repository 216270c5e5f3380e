"""What the pods of a Job have done."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from intact.sandbox.controllers.jobs.counting import (
    FINALIZER,
    INDEX,
    backoff,
    finished_at,
    free_indexes,
    has_failed,
    is_done,
    noted,
    read_indexes,
    restarts_too_often,
    tally,
    wanted,
    write_indexes,
)
from tests.support.objects import Json

CREATED = "2026-01-01T00:00:00Z"


def job(status: Json | None = None, **spec: Any) -> Json:
    template = {"spec": {"restartPolicy": spec.pop("restartPolicy", "Never")}}
    whole = {"completions": 3, "parallelism": 2, "template": template, **spec}
    return {"spec": whole, "status": status or {}}


def pod(uid: str, phase: str = "Running", *, index: int | None = None, **metadata: Any) -> Json:
    annotations = {INDEX: str(index)} if index is not None else {}
    meta = {"uid": uid, "finalizers": [FINALIZER], "annotations": annotations, **metadata}
    return {"metadata": {"creationTimestamp": CREATED, **meta}, "status": {"phase": phase}}


GOING: dict[str, Any] = {
    "deletionTimestamp": "2026-01-01T00:01:30Z",
    "deletionGracePeriodSeconds": 30,
}
ENDED: dict[str, Any] = {
    "deletionTimestamp": "2026-01-01T00:01:30Z",
    "deletionGracePeriodSeconds": 0,
}


@pytest.mark.parametrize(
    ("one", "policy", "failed"),
    [
        (pod("a"), "TerminatingOrFailed", False),
        (pod("a", "Failed"), "Failed", True),
        (pod("a", **GOING), "TerminatingOrFailed", True),
        (pod("a", **GOING), "Failed", False),
        (pod("a", **ENDED), "Failed", True),
        (pod("a", "Succeeded", **GOING), "TerminatingOrFailed", False),
    ],
)
def test_a_deleted_pod_has_failed_unless_only_failed_ones_are_replaced(
    one: Json, policy: str, failed: bool
) -> None:
    assert has_failed(one, job(podReplacementPolicy=policy)) is failed


def test_each_pod_is_counted_once() -> None:
    whole = job(
        {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"failed": ["written-down"]}}
    )
    counted = pod("counted", "Succeeded")
    counted["metadata"]["finalizers"] = ["another.io/one"]
    pods = [pod("a"), pod("b", "Succeeded"), pod("c", "Failed"), counted]
    found = tally(whole, [*pods, pod("written-down", "Failed")])
    assert found.totals(whole) == (2, 4)
    assert noted(whole, found) == {"succeeded": ["b"], "failed": ["written-down", "c"]}


def test_indexes_are_counted_once_however_many_pods_succeed() -> None:
    whole = job({"completedIndexes": "0"}, completionMode="Indexed")
    pods = [
        pod("a", "Succeeded", index=0),
        pod("b", "Succeeded", index=2),
        pod("c", "Succeeded", index=7),
        pod("d", "Failed", index=1),
    ]
    found = tally(whole, pods)
    assert found.indexes == [0, 2]
    assert found.totals(whole) == (2, 1)
    assert noted(whole, found) == {"failed": ["d"]}
    assert free_indexes(whole, pods, found.indexes) == [1]
    assert free_indexes(whole, [*pods, pod("e", index=1)], found.indexes) == []


@pytest.mark.parametrize(
    ("whole", "active", "succeeded", "goal", "done"),
    [
        (job(), 0, 0, 2, False),
        (job(), 2, 2, 1, False),
        (job(), 0, 3, 0, True),
        (job(suspend=True), 2, 0, 0, False),
        (job(completions=None), 0, 0, 2, False),
        (job(completions=None), 1, 1, 1, False),
        (job(completions=None), 0, 1, 0, True),
        (job(completions=0), 0, 0, 0, True),
    ],
)
def test_how_many_pods_are_to_run(
    whole: Json, active: int, succeeded: int, goal: int, done: bool
) -> None:
    assert wanted(whole, active, succeeded) == goal
    assert is_done(whole, active, succeeded) is done


@pytest.mark.parametrize(
    ("policy", "limit", "restarts", "too_often"),
    [
        ("OnFailure", 2, 1, False),
        ("OnFailure", 2, 2, True),
        ("OnFailure", 0, 0, False),
        ("OnFailure", 0, 1, True),
        ("Never", 0, 5, False),
    ],
)
def test_restarts_in_place_count_as_failures(
    policy: str, limit: int, restarts: int, too_often: bool
) -> None:
    one = pod("a")
    one["status"]["containerStatuses"] = [{"restartCount": restarts}]
    whole = job(restartPolicy=policy, backoffLimit=limit)
    assert restarts_too_often(whole, [one]) is too_often


def test_when_a_pod_failed() -> None:
    def at(minute: int, second: int = 0) -> datetime:
        return datetime(2026, 1, 1, 0, minute, second, tzinfo=UTC)

    one = pod("a")
    assert finished_at(one) == at(0)
    one["metadata"] |= GOING
    assert finished_at(one) == at(1)
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:02:00Z"}
    one["status"]["conditions"] = [ready]
    assert finished_at(one) == at(2)
    ended = {"terminated": {"finishedAt": "2026-01-01T00:03:00Z"}}
    one["status"]["containerStatuses"] = [{"state": ended}]
    assert finished_at(one) == at(3)
    one["status"]["containerStatuses"].append({"state": {"running": {}}})
    assert finished_at(one) == at(2)


def test_new_pods_wait_longer_with_each_failure() -> None:
    waits = [backoff(failures) for failures in (0, 1, 2, 3, 7, 100)]
    assert waits == [timedelta(seconds=each) for each in (0, 10, 20, 40, 600, 600)]


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([0], "0"), ([0, 1], "0,1"), ([0, 1, 2, 5, 7, 8], "0-2,5,7,8")]
)
def test_indexes_are_written_in_ranges(indexes: list[int], text: str) -> None:
    assert write_indexes(indexes) == text
    assert read_indexes(text) == indexes
