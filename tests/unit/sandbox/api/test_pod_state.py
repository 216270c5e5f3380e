"""What can be read off a pod as the server keeps it."""

from intact.sandbox.api.pod_state import condition, is_finished, is_ready, is_unschedulable
from intact.sandbox.snapshot.document import Json


def pod(node: str = "", phase: str = "Running", **conditions: str) -> Json:
    shown = [{"type": kind, "status": status} for kind, status in conditions.items()]
    spec = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": "a"},
        "spec": spec,
        "status": {"phase": phase, "conditions": shown},
    }


def test_readiness_is_a_condition() -> None:
    assert is_ready(pod(Ready="True"))
    assert not is_ready(pod(Ready="False"))
    assert not is_ready({"metadata": {}, "spec": {}})
    assert condition(pod(Ready="True"), "PodScheduled") is None


def test_a_pod_without_a_node_waits_once_the_scheduler_says_so() -> None:
    assert is_unschedulable(pod(PodScheduled="False"))
    assert not is_unschedulable(pod())
    assert not is_unschedulable(pod(node="node-0", PodScheduled="True"))


def test_finished_pods() -> None:
    assert is_finished(pod(phase="Failed"))
    assert not is_finished(pod())
