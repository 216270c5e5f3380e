"""The status that kubelets write."""

from datetime import UTC, datetime
from typing import Any

from intact.sandbox.api.objects import copied
from intact.sandbox.api.pod_state import condition, is_true
from intact.sandbox.kubelet import pod_status

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 0, 0, 700_000, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 12, 1, tzinfo=UTC)


def a_pod(**spec: Any) -> Json:
    main = {"name": "main", "image": "main:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [main, {"name": "other", "image": "other:1"}], **spec}
    return {
        "metadata": {"name": "p", "uid": "u", "generation": 3},
        "spec": spec,
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def started(*, ready: bool = True, **spec: Any) -> Json:
    pod = a_pod(**spec)
    return {**pod, "status": pod_status.started(pod, NOW, "10.64.0.1", "10.128.0.1", ready=ready)}


def test_a_started_pod_shows_what_a_kubelet_shows() -> None:
    status = started()["status"]
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    assert (status["phase"], status["podIP"], status["hostIP"]) == (
        "Running",
        "10.128.0.1",
        "10.64.0.1",
    )
    assert (status["startTime"], status["observedGeneration"]) == ("2026-01-01T12:00:00Z", 3)
    main, other = status["containerStatuses"]
    assert main["imageID"].startswith("main:1@sha256:")
    assert main["containerID"] != other["containerID"]
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert main["allocatedResources"] == {"cpu": "1"}
    assert status["qosClass"] == "BestEffort"


def test_init_containers_have_ended_and_sidecars_run() -> None:
    init = [{"name": "i", "image": "i:1"}, {"name": "s", "image": "s:1", "restartPolicy": "Always"}]
    first, second = started(initContainers=init)["status"]["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 0
    assert second["state"]["running"]


def test_a_pod_that_is_not_ready_says_which_containers_are_not() -> None:
    found = condition(started(ready=False), "Ready")
    assert found is not None
    assert found["reason"] == "ContainersNotReady"
    assert found["message"] == "containers with unready status: [main other]"


def test_readiness_gates_hold_a_pod_whose_containers_are_ready() -> None:
    pod = started(readinessGates=[{"conditionType": "example.com/gate"}])
    assert (is_true(pod, "ContainersReady"), is_true(pod, "Ready")) == (True, False)
    pod["status"]["conditions"].append({"type": "example.com/gate", "status": "True"})
    opened = {**pod, "status": pod_status.with_gates(pod, LATER)}
    assert is_true(opened, "Ready")


def test_a_transition_time_moves_with_the_status_alone() -> None:
    pod = started()
    same = {**pod, "status": pod_status.with_readiness(pod, LATER, ready=True)}
    lost = {**pod, "status": pod_status.with_readiness(pod, LATER, ready=False)}
    times = [(condition(each, "Ready") or {})["lastTransitionTime"] for each in (same, lost)]
    assert times == ["2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z"]
    assert not any(each["ready"] for each in lost["status"]["containerStatuses"])


def test_containers_that_restart_are_counted_and_keep_their_last_state() -> None:
    pod = started()
    stopping = {**pod, "status": pod_status.stopping(pod, LATER, ["main"])}
    assert [each["ready"] for each in stopping["status"]["containerStatuses"]] == [False, True]
    assert (condition(stopping, "Ready") or {})["message"].endswith("[main]")
    stopping["spec"] = {**pod["spec"]}
    stopping["spec"]["containers"] = [
        {"name": "main", "image": "main:2"},
        pod["spec"]["containers"][1],
    ]
    status = pod_status.restarted(stopping, LATER, ["main"])
    main, other = status["containerStatuses"]
    assert (main["image"], main["restartCount"], main["ready"]) == ("main:2", 1, False)
    assert main["containerID"] != pod["status"]["containerStatuses"][0]["containerID"]
    assert main["lastState"]["terminated"]["exitCode"] == 0
    assert other == pod["status"]["containerStatuses"][1]


def test_an_ended_pod_is_not_ready() -> None:
    for succeeded, phase, code in ((True, "Succeeded", 0), (False, "Failed", 1)):
        pod = started()
        over = {**pod, "status": pod_status.ended(pod, LATER, succeeded=succeeded)}
        assert over["status"]["phase"] == phase
        assert not is_true(over, "Ready")
        states = [each["state"] for each in over["status"]["containerStatuses"]]
        assert [state["terminated"]["exitCode"] for state in states] == [code, code]


def test_a_resize_is_shown_or_pending() -> None:
    pod = started()
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    waits = {**pod, "status": pod_status.resized(pod, LATER, ("Deferred", "no room"))}
    assert (condition(waits, "PodResizePending") or {})["reason"] == "Deferred"
    assert waits["status"]["containerStatuses"][0]["allocatedResources"] == {"cpu": "1"}
    done = {**waits, "status": pod_status.resized(waits, LATER, None)}
    assert condition(done, "PodResizePending") is None
    assert done["status"]["containerStatuses"][0]["allocatedResources"] == {"cpu": "2"}


def test_nothing_that_was_there_is_changed() -> None:
    pod = started()
    before = copied(pod)
    pod_status.with_readiness(pod, LATER, ready=False)
    pod_status.restarted(pod, LATER, ["main"])
    pod_status.ended(pod, LATER, succeeded=True)
    assert pod == before
