"""Whether a pod is available to its budgets, and whether they hold it at all."""

from typing import Any

import pytest

from intact.budget.pub.availability import is_available, is_exempt
from intact.model.pod import Pod, PodAnnotations, PodCondition, PodMeta, PodStatus


def pod(
    phase: str = "Running", ready: str | None = "True", no_protect: str = "", **meta: Any
) -> Pod:
    conditions = [PodCondition(type="Initialized", status="True")]
    if ready is not None:
        conditions.append(PodCondition(type="Ready", status=ready))
    return Pod(
        metadata=PodMeta(
            name="p", namespace="ns", annotations=PodAnnotations(no_protect=no_protect), **meta
        ),
        status=PodStatus(phase=phase, conditions=conditions),
    )


AVAILABLE = {
    "running and ready": (pod(), True),
    "running, not ready": (pod(ready="False"), False),
    "running, readiness unknown": (pod(ready="Unknown"), False),
    "running, no condition yet": (pod(ready=None), False),
    "pending": (pod("Pending"), False),
    "succeeded, still said to be ready": (pod("Succeeded"), False),
    "failed, still said to be ready": (pod("Failed"), False),
    "terminating": (pod(deletion_timestamp="2026-01-01T00:00:00Z"), False),
    "taken out of service by a label": (pod(labels={"unavailable-pod.kruise.io/x": ""}), False),
    "with another label": (pod(labels={"pod.kruise.io/x": "", "unavailable": "true"}), True),
    "exempt from protection, and counted all the same": (pod(no_protect="true"), True),
}


@pytest.mark.parametrize(("one", "expected"), AVAILABLE.values(), ids=AVAILABLE)
def test_a_pod_is_available_if_it_serves(one: Pod, expected: bool) -> None:
    assert is_available(one) == expected


@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
def test_a_pod_is_exempt_by_its_annotation(value: str) -> None:
    assert is_exempt(pod(no_protect=value))


@pytest.mark.parametrize("value", ["", "0", "false", "yes", "tRuE", " true"])
def test_a_pod_is_not_exempt_by_any_other_value(value: str) -> None:
    assert not is_exempt(pod(no_protect=value))
