"""Why units are down: down to the pod, in the words of the scheduler and the kubelet."""

from typing import Any

import pytest

from intact.model.pod import DetailedPod
from intact.picture.causes import cause_of, waited
from intact.picture.units import UnitPicture, unit_picture
from tests.support.pictures import Json, ago, pod, unschedulable


def container(**state: Any) -> Json:
    return {"containerStatuses": [{"name": "main", "ready": False, **state}]}


CRASHED = container(
    state={"waiting": {"reason": "CrashLoopBackOff"}},
    lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    restartCount=4,
)
PULLING = container(state={"waiting": {"reason": "ImagePullBackOff"}})
IMAGES = {"nodeName": "n", "containers": [{"name": "main", "image": "registry.example/llm:2"}]}
HELD = pod("a", deleted=ago(minutes=1))
FINALIZED = pod(
    "a",
    metadata={
        "name": "a",
        "namespace": "llm",
        "finalizers": ["example.com/x"],
        "deletionTimestamp": ago(minutes=1),
    },
)
MARKED = pod("a", labels={"unavailable-pod.kruise.io/repair": "1"})
CASES: dict[str, tuple[DetailedPod, str, str]] = {
    "the scheduler finds no node": (
        unschedulable("a", ago(minutes=4)),
        "Pending",
        "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu",
    ),
    "an image cannot be pulled": (
        pod("a", ready=False, phase="Pending", status=PULLING, spec=IMAGES),
        "Running",
        "container main: ImagePullBackOff: image registry.example/llm:2",
    ),
    "a container crashes": (
        pod("a", ready=False, status=CRASHED),
        "Running",
        "container main: CrashLoopBackOff (OOMKilled, exit code 137, 4 restarts)",
    ),
    "a readiness probe fails": (
        pod("a", ready=False, status=container()),
        "Running",
        "container main: not ready",
    ),
    "it is being deleted": (HELD, "Terminating", "is being deleted"),
    "a finalizer holds it": (FINALIZED, "Terminating", "waits for the finalizer example.com/x"),
    "a label takes it out of service": (MARKED, "Running", "a label takes it out of service"),
}


@pytest.mark.parametrize(("found", "phase", "text"), CASES.values(), ids=list(CASES))
def test_the_cause_is_named(found: DetailedPod, phase: str, text: str) -> None:
    cause = cause_of(found)
    assert cause is not None
    assert cause.text == text
    if "pulled" not in text:
        assert cause.phase in (phase, "Pending")


def test_an_available_pod_has_no_cause() -> None:
    assert cause_of(pod("a")) is None


def unit(*pods: DetailedPod, need: int | None = 2, **more: dict[str, str]) -> UnitPicture:
    return unit_picture("llm", "shard-0", need, pods, is_group=True, **more)


def test_what_does_not_pass_by_itself_comes_first() -> None:
    found = waited(unit(HELD, unschedulable("b", ago(seconds=5)), pod("c")))
    assert [one.name for one in found.causes] == ["b", "a"]
    assert [one.since for one in found.causes] == [ago(seconds=5), ago(minutes=1)]


def test_a_pod_that_was_let_go_is_a_cause() -> None:
    found = waited(unit(pod("a"), pod("b"), let_go={"uid-a": ago(seconds=9)}))
    [cause] = found.causes
    assert (cause.name, cause.text) == ("a", "was let go and is still here")
    assert cause.since == ago(seconds=9)


def test_pods_that_do_not_exist_are_counted() -> None:
    assert waited(unit(pod("a"), need=3)).lacking == 2
    assert waited(unit(pod("a"), pod("b"))).lacking == 0


def test_of_a_group_whose_need_is_unknown_no_pod_is_to_blame() -> None:
    assert waited(unit(pod("a", ready=False), need=None)).causes == ()
