"""What can be read off one pod."""

import msgspec
import pytest

from intact.model.meta import OwnerReference
from intact.model.pod import Pod, PodCondition, PodMeta, PodStatus
from intact.model.pod_state import (
    condition_of,
    controller_among,
    controller_of,
    controller_uid,
    has_condition,
    is_finished,
    is_gone,
    is_ready,
    is_terminating,
)

RUNNING = Pod(
    metadata=PodMeta(name="p", namespace="ns"),
    status=PodStatus(phase="Running", conditions=[PodCondition(type="Ready", status="True")]),
)


def in_phase(phase: str) -> Pod:
    status = msgspec.structs.replace(RUNNING.status, phase=phase)
    return msgspec.structs.replace(RUNNING, status=status)


def with_ready(*statuses: str) -> Pod:
    conditions = [PodCondition(type="Ready", status=status) for status in statuses]
    return msgspec.structs.replace(
        RUNNING, status=PodStatus(phase="Running", conditions=conditions)
    )


def deleted(pod: Pod) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(pod, metadata=meta)


STATES = {
    # pod: ready, terminating, finished, gone
    "running and ready": (RUNNING, True, False, False, False),
    "running, not ready": (with_ready("False"), False, False, False, False),
    "running, readiness unknown": (with_ready("Unknown"), False, False, False, False),
    "running, no condition yet": (with_ready(), False, False, False, False),
    "ready, but still pending": (in_phase("Pending"), False, False, False, False),
    "succeeded": (in_phase("Succeeded"), False, False, True, True),
    "failed": (in_phase("Failed"), False, False, True, True),
    "terminating, still ready": (deleted(RUNNING), True, True, False, True),
    "failed and deleted": (deleted(in_phase("Failed")), False, True, True, True),
}


@pytest.mark.parametrize("name", STATES)
def test_the_state_of_a_pod(name: str) -> None:
    pod, *expected = STATES[name]
    assert [is_ready(pod), is_terminating(pod), is_finished(pod), is_gone(pod)] == expected


def test_a_condition_that_is_false_is_there_and_does_not_hold() -> None:
    pod = with_ready("False")
    assert condition_of(pod, "Ready") == PodCondition(type="Ready", status="False")
    assert not has_condition(pod, "Ready")
    assert condition_of(pod, "Initialized") is None


def test_of_several_owners_one_controls_the_pod() -> None:
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="1")
    controller = msgspec.structs.replace(owner, kind="ReplicaSet", uid="2", controller=True)
    meta = msgspec.structs.replace(RUNNING.metadata, owner_references=[owner, controller])
    owned = msgspec.structs.replace(RUNNING, metadata=meta)
    assert controller_of(owned) == controller
    assert controller_uid(owned) == "2"
    assert controller_among([owner]) is None


def test_a_pod_without_an_owner_has_no_controller() -> None:
    assert controller_of(RUNNING) is None
    assert controller_uid(RUNNING) == ""
