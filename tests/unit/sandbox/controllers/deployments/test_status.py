"""The status of a Deployment."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.sandbox.controllers.deployments.status import (
    condition,
    pause_seen,
    status_of,
    until_deadline,
    with_condition,
    with_progress,
)
from tests.support.objects import Json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)


def deployment(replicas: int = 2, status: Json | None = None, **spec: object) -> Json:
    return {
        "metadata": {"name": "d", "generation": 3},
        "spec": {"replicas": replicas, "progressDeadlineSeconds": 20, **spec},
        "status": status or {},
    }


def one(name: str, size: int, ready: int, available: int, conditions: list[Json]) -> Json:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": size},
        "status": {
            "replicas": size,
            "readyReplicas": ready,
            "availableReplicas": available,
            "terminatingReplicas": 1,
            "conditions": conditions,
        },
    }


def progressing(conditions: list[Json]) -> tuple[str, str, str]:
    found = condition(conditions, "Progressing")
    assert found is not None
    return found["status"], found["reason"], found["lastUpdateTime"]


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    first = with_condition([], NOW, "A", "True", "Since", "text")
    assert with_condition(first, LATER, "A", "True", "Since", "other text") is first
    (again,) = with_condition(first, LATER, "A", "True", "Because", "text")
    assert again["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert again["lastUpdateTime"] == "2026-01-01T00:00:30Z"
    (other,) = with_condition(first, LATER, "A", "False", "Since", "text")
    assert other["lastTransitionTime"] == "2026-01-01T00:00:30Z"


def test_the_counters_are_those_of_the_replica_sets() -> None:
    sets = [one("o", 2, 2, 1, []), one("n", 3, 1, 0, [])]
    found = status_of(deployment(4), sets, sets[1], [], 2, NOW)
    assert {name: value for name, value in found.items() if name != "conditions"} == {
        "observedGeneration": 3,
        "replicas": 5,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 1,
        "unavailableReplicas": 4,
        "terminatingReplicas": 2,
        "collisionCount": 2,
    }
    assert found["conditions"][0]["reason"] == "MinimumReplicasUnavailable"


def status(before: Json, sets: list[Json], now: datetime = NOW) -> Json:
    conditions = before.get("status", {}).get("conditions", [])
    found = status_of(before, sets, sets[-1], conditions, 0, now)
    return with_progress(before, sets, sets[-1], found, now)


def test_progress_is_told_until_the_rollout_is_complete() -> None:
    begun = status(deployment(), [one("n", 2, 0, 0, [])])
    assert progressing(begun["conditions"])[:2] == ("True", "ReplicaSetUpdated")
    more = status(deployment(2, begun), [one("n", 2, 1, 1, [])], LATER)
    assert progressing(more["conditions"])[1:] == ("ReplicaSetUpdated", "2026-01-01T00:00:30Z")
    whole = status(deployment(2, more), [one("n", 2, 2, 2, [])], LATER)
    assert progressing(whole["conditions"])[:2] == ("True", "NewReplicaSetAvailable")
    # A complete rollout stays one, though a pod fails.
    less = status(deployment(2, whole), [one("n", 2, 1, 1, [])], LATER)
    assert progressing(less["conditions"])[:2] == ("True", "NewReplicaSetAvailable")


def test_a_rollout_that_does_not_move_is_late() -> None:
    begun = status(deployment(), [one("n", 2, 0, 0, [])])
    assert until_deadline(deployment(), begun["conditions"], NOW) == 20
    late = status(deployment(2, begun), [one("n", 2, 0, 0, [])], LATER)
    assert progressing(late["conditions"])[:2] == ("False", "ProgressDeadlineExceeded")
    assert until_deadline(deployment(), late["conditions"], LATER) is None
    for none in (None, 2**31 - 1):
        patient = deployment(2, begun, progressDeadlineSeconds=none)
        found = status(patient, [one("n", 2, 0, 0, [])], LATER)
        assert condition(found["conditions"], "Progressing") is None


def test_the_failure_of_a_replica_set_is_shown_while_it_lasts() -> None:
    why = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no"}
    failing = status(deployment(), [one("n", 2, 0, 0, [why])])
    found = condition(failing["conditions"], "ReplicaFailure")
    assert found is not None
    assert (found["reason"], found["message"]) == ("FailedCreate", "no")
    mended = status(deployment(2, failing), [one("n", 2, 0, 0, [])])
    assert condition(mended["conditions"], "ReplicaFailure") is None


@pytest.mark.parametrize(
    ("paused", "reason", "wanted"),
    [
        (True, "NewReplicaSetAvailable", "DeploymentPaused"),
        (True, "DeploymentPaused", "DeploymentPaused"),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, "ReplicaSetUpdated", "ReplicaSetUpdated"),
        (True, "ProgressDeadlineExceeded", "ProgressDeadlineExceeded"),
    ],
)
def test_a_pause_stops_the_clock(paused: bool, reason: str, wanted: str) -> None:
    before = with_condition([], NOW, "Progressing", "True", reason, "")
    after = pause_seen(deployment(paused=paused), before, LATER)
    assert progressing(after)[1] == wanted
