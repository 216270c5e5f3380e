"""New pods. What the real server does as well, tests/contract/test_new_pods.py holds."""

from typing import Any

import pytest

from intact.sandbox.api.new_pods import admit_pod, default_requests, first_status

Json = dict[str, Any]
HIGH = {"value": 7, "preemptionPolicy": "Never"}


def find(full_name: str, _namespace: str, name: str) -> Json | None:
    assert full_name == "priorityclasses.scheduling.k8s.io"
    return HIGH if name == "high" else None


@pytest.mark.parametrize(
    ("spec", "priority", "policy"),
    [
        ({}, 0, "PreemptLowerPriority"),
        ({"priorityClassName": "high"}, 7, "Never"),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000, "PreemptLowerPriority"),
        ({"priorityClassName": "gone", "priority": 5}, 5, "PreemptLowerPriority"),
        ({"priorityClassName": "gone"}, 0, "PreemptLowerPriority"),
    ],
)
def test_a_priority(spec: Json, priority: int, policy: str) -> None:
    pod = {"spec": spec}
    admit_pod(find, pod)
    assert (spec["priority"], spec["preemptionPolicy"]) == (priority, policy)


def test_a_pod_that_is_admitted_twice_is_the_same() -> None:
    pod: Json = {"spec": {}}
    admit_pod(find, pod)
    before = dict(pod["spec"])
    admit_pod(find, pod)
    assert pod["spec"] == before


def test_the_resources_of_a_pod_make_its_quality_of_service() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    resources = {"requests": both, "limits": both}
    spec = {"containers": [{"name": "main"}], "resources": resources}
    assert first_status({"spec": spec}, "now")["qosClass"] == "Guaranteed"


def test_requests_are_not_lowered_to_limits_nor_lists_shared() -> None:
    container = {"name": "main", "resources": {"limits": {"cpu": "1"}}}
    default_requests({"initContainers": [container]})
    assert container["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
