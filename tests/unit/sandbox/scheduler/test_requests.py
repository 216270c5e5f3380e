"""What a pod requests: the table of the module, line by line."""

from typing import Any

import pytest

from intact.sandbox.scheduler.requests import LEAST, pod_requests

Json = dict[str, Any]


def container(name: str, cpu: str = "", **more: Any) -> Json:
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {"name": name, **resources, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("a", "1"), container("b", "500m")]}, 1500),
        (
            {
                "containers": [container("a", "1")],
                "initContainers": [container("i", "3"), container("j", "2")],
            },
            3000,
        ),
        (
            {
                "containers": [container("a", "1")],
                "initContainers": [container("s", "1", **SIDECAR), container("i", "3")],
            },
            4000,
        ),
        (
            {
                "containers": [container("a", "1")],
                "initContainers": [container("i", "3"), container("s", "1", **SIDECAR)],
            },
            3000,
        ),
        (
            {
                "containers": [container("a", "1")],
                "resources": {"requests": {"cpu": "4"}},
            },
            4000,
        ),
        ({"containers": [container("a", "1")], "overhead": {"cpu": "100m"}}, 1100),
    ],
    ids=["sum", "init", "sidecar before init", "sidecar after init", "pod level", "overhead"],
)
def test_the_cpu_that_a_pod_requests(spec: Json, cpu: int) -> None:
    assert pod_requests({"spec": spec})["cpu"] == cpu


@pytest.mark.parametrize(
    ("wanted", "allocated", "infeasible", "cpu"),
    [("1", "2", False, 2000), ("3", "2", False, 3000), ("3", "2", True, 2000)],
)
def test_a_resize_counts_with_the_most_that_may_be_in_use(
    wanted: str, allocated: str, infeasible: bool, cpu: int
) -> None:
    status: Json = {
        "containerStatuses": [
            {
                "name": "a",
                "allocatedResources": {"cpu": allocated},
                "resources": {"requests": {"cpu": allocated}},
            }
        ]
    }
    if infeasible:
        status["conditions"] = [
            {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
        ]
    pod = {"spec": {"containers": [container("a", wanted)]}, "status": status}
    assert pod_requests(pod)["cpu"] == cpu


def test_scores_count_containers_without_requests() -> None:
    pod = {"spec": {"containers": [container("a"), container("b", "1")]}}
    assert pod_requests(pod, LEAST) == {"cpu": 1100, "memory": 2 * LEAST["memory"]}
    assert pod_requests(pod) == {"cpu": 1000}
