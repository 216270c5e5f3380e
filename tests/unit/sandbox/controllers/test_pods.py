"""What controllers read off a pod, and make of a template."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.model.times import timestamp
from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.controllers.pods import (
    is_active,
    is_available,
    next_availability,
    pod_of,
    ready_since,
    until_available,
)
from tests.support.objects import Json

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(phase: str = "Running", *, ready: int | None = None, deleted: bool = False) -> Json:
    """Ready since so many seconds."""
    conditions = [{"type": "Initialized", "status": "True"}]
    since = timestamp(NOW - timedelta(seconds=ready or 0))
    status = "False" if ready is None else "True"
    conditions.append({"type": "Ready", "status": status, "lastTransitionTime": since})
    return {
        "metadata": {"deletionTimestamp": "x"} if deleted else {},
        "status": {"phase": phase, "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("phase", "deleted", "active"),
    [
        ("Pending", False, True),
        ("Running", False, True),
        ("Running", True, False),
        ("Failed", False, False),
        ("Succeeded", False, False),
    ],
)
def test_a_pod_is_active_until_it_ends_or_goes(phase: str, deleted: bool, active: bool) -> None:
    assert is_active(pod(phase, deleted=deleted)) is active


def test_readiness_is_a_condition() -> None:
    assert is_ready(pod(ready=3))
    assert not is_ready(pod())
    assert not is_ready({"metadata": {}, "status": {"phase": "Pending"}})
    assert ready_since(pod(ready=3)) == "2025-12-31T23:59:57Z"


@pytest.mark.parametrize(
    ("ready", "min_ready", "wait"), [(3, 5, 2.0), (5, 5, 0.0), (9, 5, 0.0), (0, 0, 0.0)]
)
def test_a_ready_pod_is_available_after_a_while(ready: int, min_ready: int, wait: float) -> None:
    assert until_available(pod(ready=ready), min_ready, NOW) == wait
    assert is_available(pod(ready=ready), min_ready, NOW) is (wait == 0)


def test_a_pod_that_does_not_say_since_when_it_is_ready_is_not_available() -> None:
    silent = pod(ready=3)
    del silent["status"]["conditions"][1]["lastTransitionTime"]
    assert until_available(silent, 5, NOW) == 5
    assert until_available(silent, 0, NOW) == 0


def test_the_next_availability_is_that_of_the_pod_that_is_first() -> None:
    pods = [pod(ready=1), pod(ready=4), pod(ready=9), pod()]
    assert next_availability(pods, 5, NOW) == 1.0
    assert next_availability([pod(ready=9), pod()], 5, NOW) is None
    assert next_availability(pods, 0, NOW) is None


def test_a_pod_of_a_template_is_a_copy_with_an_owner() -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "w", "namespace": "n", "uid": "u"},
    }
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "creationTimestamp": None},
        "spec": {"containers": [{"name": "main"}]},
    }
    made = pod_of(template, owner)
    assert made["metadata"] == {
        "generateName": "w-",
        "namespace": "n",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "w",
                "uid": "u",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    made["spec"]["containers"][0]["name"] = "changed"
    assert template["spec"] == {"containers": [{"name": "main"}]}
