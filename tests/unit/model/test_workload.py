"""How many pods workloads want that have no scale."""

from typing import Any

import msgspec
import pytest

from intact.model.workload import (
    DaemonSet,
    Job,
    LeaderWorkerSet,
    StatefulSet,
    Workload,
    ordinal_of,
    pods_per_group,
    salvaging,
    stated_pods,
    wanted_ordinals,
)

META = {"metadata": {"name": "w"}}


def job(*conditions: str, succeeded: int = 0, failed: str = "", **spec: Any) -> Job:
    status = {
        "succeeded": succeeded,
        "failedIndexes": failed,
        "conditions": [{"type": each, "status": "True"} for each in conditions],
    }
    return msgspec.convert({**META, "spec": spec, "status": status}, Job)


JOBS: dict[str, tuple[Job, int | None]] = {
    "one pod, if it does not say": (job(), 1),
    "a work queue": (job(parallelism=3), 3),
    "a work queue of which one pod has succeeded": (job(parallelism=3, succeeded=1), None),
    "as many as may run at once": (job(parallelism=3, completions=9), 3),
    "as many as are still to complete": (job(parallelism=3, completions=9, succeeded=7), 2),
    "indexes have failed for good": (job(parallelism=9, completions=9, failed="1,3-5"), 5),
    "some have failed and all others succeeded": (
        job(parallelism=3, completions=9, succeeded=5, failed="0-3"),
        0,
    ),
    "failed indexes that cannot be read": (job(parallelism=9, completions=9, failed="x,5-3,2"), 8),
    "all have completed": (job(parallelism=3, completions=9, succeeded=9), 0),
    "suspended": (job(parallelism=3, suspend=True), 0),
    "paused by its parallelism": (job(parallelism=0, completions=3), 0),
    "complete": (job("Complete", parallelism=3), 0),
    "failed": (job("Failed", parallelism=3), 0),
    "about to fail": (job("FailureTarget", parallelism=3), 0),
    "in some other condition": (job("Odd", parallelism=3), 3),
}


@pytest.mark.parametrize(("workload", "pods"), JOBS.values(), ids=JOBS)
def test_a_job_wants_its_parallelism_up_to_what_is_left(workload: Job, pods: int | None) -> None:
    assert stated_pods(workload) == pods


def test_a_condition_of_a_job_that_is_not_true_does_not_count() -> None:
    status = {"conditions": [{"type": "Complete", "status": "False"}]}
    assert stated_pods(msgspec.convert({**META, "status": status}, Job)) == 1


def test_a_daemon_set_wants_what_its_controller_says_once_it_has_said_it() -> None:
    wants = {"desiredNumberScheduled": 3, "observedGeneration": 1}
    assert stated_pods(msgspec.convert({**META, "status": wants}, DaemonSet)) == 3
    assert stated_pods(msgspec.convert(META, DaemonSet)) is None


def test_other_workloads_do_not_say_it_here() -> None:
    assert stated_pods(msgspec.convert({**META, "spec": {"replicas": 3}}, Workload)) is None


@pytest.mark.parametrize(
    ("template", "size"),
    [({"size": 4}, 4), ({}, None), ({"size": "4"}, None), ({"size": 0}, None)],
    ids=str,
)
def test_a_leader_worker_set_says_how_many_pods_a_group_has(
    template: dict[str, object], size: int | None
) -> None:
    spec = {"replicas": 2, "leaderWorkerTemplate": template}
    assert pods_per_group(msgspec.convert({**META, "spec": spec}, LeaderWorkerSet)) == size
    assert pods_per_group(msgspec.convert({**META, "spec": spec}, Workload)) is None


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"replicas": 3}, range(3)),
        ({}, range(1)),
        ({"replicas": 3, "ordinals": {"start": 1}}, range(1, 4)),
        ({"replicas": 0}, None),
    ],
    ids=str,
)
def test_a_stateful_set_says_which_ordinals_it_wants(
    spec: dict[str, object], wanted: range | None
) -> None:
    assert wanted_ordinals(msgspec.convert({**META, "spec": spec}, StatefulSet)) == wanted
    assert wanted_ordinals(msgspec.convert({**META, "spec": spec}, Workload)) is None
    assert wanted_ordinals(None) is None


@pytest.mark.parametrize(
    ("pod", "ordinal"),
    [("db-0", 0), ("db-12", 12), ("db-x", None), ("db", None), ("other-1", None), ("db-٣", None)],
)
def test_the_name_of_a_stateful_sets_pod_has_its_ordinal(pod: str, ordinal: int | None) -> None:
    assert ordinal_of(pod, "db") == ordinal


def test_an_ordinal_has_no_more_digits_than_a_number_of_replicas() -> None:
    assert ordinal_of("db-" + "9" * 5000, "db") is None


def test_what_can_be_read_of_a_workload_of_another_shape_counts() -> None:
    above = {"apiVersion": "v1", "kind": "K", "name": "top", "uid": "u", "controller": True}
    body = {
        "metadata": {"name": "w", "namespace": "ns", "uid": "1", "ownerReferences": [above]},
        "spec": {"replicas": "three", "template": {"metadata": {"labels": {"app": "a"}}}},
        "status": [],
    }
    found = salvaging(Workload)(msgspec.json.encode(body))
    assert (found.metadata.uid, found.metadata.owner_references[0].name) == ("1", "top")
    assert found.spec.replicas is None
    assert found.spec.template.metadata.labels == {"app": "a"}
    body["spec"] = {"replicas": 3, "template": "x", "leaderWorkerTemplate": 5}
    vendor = salvaging(LeaderWorkerSet)(msgspec.json.encode(body))
    assert (vendor.spec.replicas, vendor.spec.template.metadata.labels) == (3, {})
    assert pods_per_group(vendor) is None
    body["spec"] = "x"
    empty = Workload(metadata=found.metadata)
    assert salvaging(Workload)(msgspec.json.encode(body)).spec == empty.spec
