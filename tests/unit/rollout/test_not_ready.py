"""Why a pod is not ready, as a table."""

from typing import Any

import msgspec
import pytest

from intact.model.pod import RolePod
from intact.rollout.not_ready import LONGEST, why_not_ready

Json = dict[str, Any]
NODES = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."


def pod(*, node: str = "n", meta: Json | None = None, **status: Any) -> RolePod:
    containers = [{"name": "engine", "image": "engine:9"}, {"name": "proxy", "image": "proxy:1"}]
    body = {
        "metadata": {"name": "p", "namespace": "ns", **(meta or {})},
        "spec": {"nodeName": node, "containers": containers},
        "status": {"phase": "Pending", **status},
    }
    return msgspec.convert(body, RolePod)


def condition(kind: str, reason: str = "", message: str = "") -> Json:
    return {"type": kind, "status": "False", "reason": reason, "message": message}


def container(
    state: Json, *, name: str = "engine", restarts: int = 0, last: Json | None = None
) -> Json:
    return {"name": name, "state": state, "restartCount": restarts, "lastState": last or {}}


def waiting(reason: str) -> Json:
    return {"waiting": {"reason": reason}}


def ended(reason: str, code: int) -> Json:
    return {"terminated": {"reason": reason, "exitCode": code}}


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
STARTED = container({"running": {}}, name="proxy") | {"ready": True}
CREATING = container(waiting("ContainerCreating"), name="proxy")

CASES = {
    "no room": (
        pod(node="", conditions=[condition("PodScheduled", "Unschedulable", NODES)]),
        f"Unschedulable: {NODES}",
    ),
    "a gate": (
        pod(node="", conditions=[condition("PodScheduled", "SchedulingGated", "gated by x")]),
        "SchedulingGated: gated by x",
    ),
    "not looked at": (pod(node=""), "waits for the scheduler"),
    "an image": (
        pod(containerStatuses=[CREATING, container(waiting("ImagePullBackOff"))]),
        "container engine: ImagePullBackOff: image engine:9",
    ),
    "an image at first": (
        pod(containerStatuses=[container(waiting("ErrImagePull"))]),
        "container engine: ErrImagePull: image engine:9",
    ),
    "a missing ConfigMap": (
        pod(containerStatuses=[container(waiting("CreateContainerConfigError"))]),
        "container engine: CreateContainerConfigError",
    ),
    "a crash loop": (
        pod(
            phase="Running",
            containerStatuses=[
                STARTED,
                container(waiting("CrashLoopBackOff"), restarts=5, last=ended("Error", 1)),
            ],
        ),
        "container engine: CrashLoopBackOff (exit code 1, 5 restarts)",
    ),
    "out of memory": (
        pod(
            phase="Running",
            containerStatuses=[
                container(waiting("CrashLoopBackOff"), restarts=1, last=ended("OOMKilled", 137))
            ],
        ),
        "container engine: CrashLoopBackOff (OOMKilled, exit code 137, 1 restart)",
    ),
    "just crashed": (
        pod(phase="Running", containerStatuses=[container(ended("Error", 2))]),
        "container engine: Error (exit code 2)",
    ),
    "restarted and not ready yet": (
        pod(
            phase="Running",
            containerStatuses=[container({"running": {}}, restarts=2, last=ended("Error", 2))],
        ),
        "container engine: not ready (exit code 2, 2 restarts)",
    ),
    "a probe": (
        pod(phase="Running", containerStatuses=[STARTED, container({"running": {}})]),
        "container engine: not ready",
    ),
    "an init container that fails": (
        pod(
            initContainerStatuses=[
                container(ended("Completed", 0), name="fetch"),
                container(
                    waiting("CrashLoopBackOff"), name="load", restarts=3, last=ended("Error", 7)
                ),
            ],
            containerStatuses=[container(waiting("PodInitializing"))],
        ),
        "init container load: CrashLoopBackOff (exit code 7, 3 restarts)",
    ),
    "an init container that runs": (
        pod(
            initContainerStatuses=[container({"running": {}}, name="load")],
            containerStatuses=[container(waiting("PodInitializing"))],
        ),
        "init container load: running",
    ),
    "a readiness gate": (
        pod(
            phase="Running",
            containerStatuses=[STARTED],
            conditions=[condition("Ready", "ReadinessGatesNotReady", "x.y/z is not there")],
        ),
        "ReadinessGatesNotReady: x.y/z is not there",
    ),
    "silent kubelet": (pod(), "waits for the kubelet"),
    "evicted": (pod(phase="Failed", reason="Evicted"), "Failed: Evicted"),
    "going": (pod(meta=GOING), "is being deleted"),
    "a finalizer": (
        pod(meta={**GOING, "finalizers": ["example.com/x"]}),
        "is being deleted and waits for the finalizer example.com/x",
    ),
    "finalizers": (
        pod(meta={**GOING, "finalizers": ["example.com/x", "intact.dev/rollout"]}),
        "is being deleted and waits for the finalizers example.com/x, intact.dev/rollout",
    ),
}
PASSING = {
    "not looked at",
    "a probe",
    "an init container that runs",
    "silent kubelet",
    "going",
}


@pytest.mark.parametrize("name", CASES)
def test_a_pod_says_why_it_is_not_ready(name: str) -> None:
    found, text = CASES[name]
    assert why_not_ready(found).text == text
    assert why_not_ready(found).passing is (name in PASSING)


def test_a_long_message_is_cut() -> None:
    found = pod(node="", conditions=[condition("PodScheduled", "Unschedulable", "x" * 5000)])
    text = why_not_ready(found).text
    assert len(text) == LONGEST
    assert text.endswith("...")
