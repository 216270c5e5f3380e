"""What happens to a pod next, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from intact.sandbox.api.pod_state import condition, is_ready
from intact.sandbox.kubelet.pod_life import PodLife, next_step
from intact.sandbox.kubelet.times import Times

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 0, 0, 700_000, tzinfo=UTC)
PREFIX = "devcluster.intact.dev"


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def a_pod(*, probe: int = 0, annotations: Json | None = None, **spec: Any) -> Json:
    main: Json = {"name": "main", "image": "main:1"}
    if probe:
        main["readinessProbe"] = {"initialDelaySeconds": probe}
    named = {f"{PREFIX}/{key}": value for key, value in (annotations or {}).items()}
    return {
        "metadata": {"name": "p", "uid": "u", "generation": 1, "annotations": named},
        "spec": {"containers": [main], **spec},
        "status": {"phase": "Pending"},
    }


def life(**more: Any) -> PodLife:
    times = more.pop("times", Times())
    return PodLife(NOW, times, host_ip="10.64.0.1", pod_ip="10.128.0.1", **more)


def take(pod: Json, known: PodLife, now: datetime = NOW) -> Json:
    """The pod after its next step, which is due."""
    step = next_step(pod, known, now)
    assert step is not None
    assert step.at <= now
    return {**pod, "status": step.status}


def running(known: PodLife | None = None, **pod: Any) -> Json:
    return take(a_pod(**pod), known or life())


def test_a_pod_without_probes_is_ready_at_once() -> None:
    pod = running()
    assert is_ready(pod)
    assert next_step(pod, life(), NOW) is None


def test_a_probe_delays_readiness_as_kwok_counts_it() -> None:
    pod = running(probe=3)
    assert not is_ready(pod)
    step = next_step(pod, life(), after(1))
    assert step is not None
    assert step.at == NOW.replace(microsecond=0) + timedelta(seconds=4)
    assert is_ready(take(pod, life(), step.at))


def test_fixed_times_and_observed_times() -> None:
    slow = life(times=Times(start=2, ready=3))
    step = next_step(a_pod(), slow, NOW)
    assert step is not None
    assert step.at == after(2)
    pod = take(a_pod(), slow, after(2))
    step = next_step(pod, slow, after(2))
    assert step is not None
    assert step.at == after(5)
    observed = life(ready_after=40.0)
    pod = running(observed, probe=3)
    step = next_step(pod, observed, NOW)
    assert step is not None
    assert step.at == after(40)


@pytest.mark.parametrize("trouble", ["annotation", "switch"])
def test_a_held_pod_is_not_ready_until_it_is_released(trouble: str) -> None:
    held = life(is_held=trouble == "switch")
    annotations = {"unready": "true"} if trouble == "annotation" else {}
    pod = running()
    pod["metadata"]["annotations"] = {f"{PREFIX}/{key}": "true" for key in annotations}
    lost = take(pod, held)
    assert not is_ready(lost)
    assert next_step(lost, held, NOW) is None
    lost["metadata"]["annotations"] = {}
    assert is_ready(take(lost, life()))
    fresh = running(held, annotations=annotations)
    assert not is_ready(fresh)


def test_a_new_image_restarts_its_container_in_two_steps() -> None:
    pod = running(probe=1)
    pod = take(pod, life(), after(5))
    assert is_ready(pod)
    pod["metadata"]["generation"] = 2
    pod["spec"] = {"containers": [{**pod["spec"]["containers"][0], "image": "main:2"}]}
    stopped = take(pod, life(), after(10))
    assert not is_ready(stopped)
    assert stopped["status"]["containerStatuses"][0]["image"] == "main:1"
    step = next_step(stopped, life(), after(10))
    assert step is not None
    assert step.restarts
    again = {**stopped, "status": step.status}
    assert again["status"]["containerStatuses"][0]["image"] == "main:2"
    assert again["status"]["observedGeneration"] == 2
    step = next_step(again, life(), after(10))
    assert step is not None
    assert step.at == after(10).replace(microsecond=0) + timedelta(seconds=2)


def test_an_image_that_another_kubelet_names_differently_is_no_new_image() -> None:
    pod = running()
    pod["status"]["containerStatuses"][0] |= {
        "image": "docker.io/library/main:1",
        "containerID": "containerd://1",
    }
    assert next_step(pod, life(), NOW) is None
    pod["metadata"]["generation"] = 2
    assert not is_ready(take(pod, life()))


@pytest.mark.parametrize(("policy", "phase"), [("Always", "Running"), ("Never", "Failed")])
def test_a_crash(policy: str, phase: str) -> None:
    crashed = take(running(restartPolicy=policy), life(must_crash=True))
    assert (crashed["status"]["phase"], is_ready(crashed)) == (phase, False)
    (container,) = crashed["status"]["containerStatuses"]
    state = container["lastState"] if phase == "Running" else container["state"]
    assert state["terminated"]["exitCode"] == 1


def test_a_pod_fails_by_annotation_or_switch() -> None:
    for pod, known in (
        (running(annotations={"fail": "true"}), life()),
        (running(), life(must_fail=True)),
    ):
        failed = take(pod, known)
        assert failed["status"]["phase"] == "Failed"
        assert next_step(failed, known, NOW) is None


def test_a_pod_succeeds_by_annotation_or_as_a_job() -> None:
    for pod, known in (
        (running(annotations={"complete-after": "2s"}), life()),
        (running(), life(is_job=True, times=Times(completion=2))),
    ):
        step = next_step(pod, known, NOW)
        assert step is not None
        assert step.at == NOW.replace(microsecond=0) + timedelta(seconds=3)
        assert take(pod, known, step.at)["status"]["phase"] == "Succeeded"
    assert next_step(running(), life(is_job=True), NOW) is None


@pytest.mark.parametrize(
    ("annotations", "times", "seconds"),
    [
        ({}, Times(), 0),
        ({}, Times(termination=5), 5),
        ({}, Times(termination=90), 30),
        ({"termination-delay": "5s"}, Times(termination=20), 5.3),
        ({"termination-delay": "60s"}, Times(), 60.3),
    ],
)
def test_a_deleted_pod_ends(annotations: Json, times: Times, seconds: float) -> None:
    pod = running(annotations=annotations)
    pod["metadata"] |= {
        "deletionTimestamp": "2026-01-01T12:00:30Z",
        "deletionGracePeriodSeconds": 30,
    }
    step = next_step(pod, life(times=times, terminating_since=NOW), NOW)
    assert step is not None
    assert (step.at, step.status) == (after(seconds), None)


def test_a_pod_that_was_ended_by_force_is_left_to_its_finalizers() -> None:
    pod = running()
    pod["metadata"] |= {
        "deletionTimestamp": "2026-01-01T12:00:00Z",
        "deletionGracePeriodSeconds": 0,
    }
    assert next_step(pod, life(), NOW) is None


def resizing(policy: str = "NotRequired") -> Json:
    pod = a_pod()
    container = pod["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    container["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": policy}]
    pod = take(pod, life())
    pod["metadata"]["generation"] = 2
    pod["spec"] = {"containers": [{**container, "resources": {"requests": {"cpu": "2"}}}]}
    return pod


def test_a_resize_without_a_restart() -> None:
    done = take(resizing(), life())
    (container,) = done["status"]["containerStatuses"]
    assert (container["allocatedResources"], container["restartCount"]) == ({"cpu": "2"}, 0)
    assert is_ready(done)
    assert next_step(done, life(), NOW) is None


def test_a_resize_with_a_restart() -> None:
    stopped = take(resizing("RestartContainer"), life())
    assert not is_ready(stopped)
    (container,) = take(stopped, life())["status"]["containerStatuses"]
    assert (container["allocatedResources"], container["restartCount"]) == ({"cpu": "2"}, 1)


def test_a_resize_that_has_to_wait() -> None:
    for policy in ("NotRequired", "RestartContainer"):
        known = life(resize_pending=("Deferred", "no room"))
        waits = take(resizing(policy), known)
        assert is_ready(waits)
        assert next_step(waits, known, NOW) is None
        done = take(waits, life())
        if policy == "RestartContainer":
            done = take(done, life())
        assert condition(done, "PodResizePending") is None
        assert done["status"]["containerStatuses"][0]["allocatedResources"] == {"cpu": "2"}


def test_any_other_change_is_observed() -> None:
    pod = running()
    pod["metadata"]["generation"] = 2
    seen = take(pod, life())
    assert seen["status"]["observedGeneration"] == 2
    assert next_step(seen, life(), NOW) is None
