"""What kwok's stages do to pods, on a real API server."""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devcluster import ApiError, Cluster
from devcluster.api import STRATEGIC_MERGE_PATCH, Api
from devcluster.certificates import KeyPair
from devcluster.waiting import wait_for

OBSERVES_GENERATIONS = pytest.mark.kubernetes_version(
    "since", "1.34", "the status of a pod has an observedGeneration since 1.34"
)
PREFIX = "devcluster.intact.dev"
Pod = dict[str, Any]


class Pods:
    """The pods of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.api = cluster.api
        self.path = f"/api/v1/namespaces/{namespace}/pods"

    def create(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
        metadata: dict[str, Any] = {"name": name, "annotations": annotations or {}}
        finalizers = spec.pop("finalizers", None)
        if finalizers:
            metadata["finalizers"] = finalizers
        spec.setdefault("containers", [{"name": "main", "image": "example.test/app:1"}])
        pod: Pod = self.api.create(
            self.path, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        return pod

    def get(self, name: str) -> Pod | None:
        try:
            pod: Pod = self.api.get(f"{self.path}/{name}")
        except ApiError as error:
            if error.status != 404:
                raise
            return None
        return pod

    def wait(self, name: str, condition: Callable[[Pod], bool], what: str) -> Pod:
        def found() -> Pod | None:
            pod = self.get(name)
            return pod if pod is not None and condition(pod) else None

        return wait_for(found, f"pod {name} to be {what}")

    def wait_ready(self, name: str) -> Pod:
        return self.wait(name, ready, "Ready")

    def annotate(self, name: str, **values: str | None) -> Pod:
        annotations = {f"{PREFIX}/{key}": value for key, value in values.items()}
        pod: Pod = self.api.patch(f"{self.path}/{name}", {"metadata": {"annotations": annotations}})
        return pod

    def set_image(self, name: str, container: str, image: str) -> Pod:
        pod: Pod = self.api.patch(
            f"{self.path}/{name}",
            {"spec": {"containers": [{"name": container, "image": image}]}},
            STRATEGIC_MERGE_PATCH,
        )
        return pod

    def delete(self, name: str) -> None:
        self.api.delete(f"{self.path}/{name}")

    def history(self, since: Pod, until: Callable[[Pod], bool]) -> list[Pod]:
        """Every version of a pod after `since`, up to the first for which `until` holds."""
        versions: list[Pod] = []
        for event in self._events(since):
            versions.append(event["object"])
            if until(event["object"]):
                return versions
        raise AssertionError(f"no version matched; seen: {[summary(pod) for pod in versions]}")

    def _events(self, since: Pod) -> Iterator[Any]:
        metadata = since["metadata"]
        return self.api.watch(
            f"{self.path}?watch=1&timeoutSeconds=120&fieldSelector=metadata.name%3D"
            f"{metadata['name']}&resourceVersion={metadata['resourceVersion']}"
        )


@pytest.fixture
def pods(cluster: Cluster, namespace: str) -> Pods:
    return Pods(cluster, namespace)


def condition(pod: Pod, kind: str) -> dict[str, Any]:
    found = [each for each in pod["status"].get("conditions", []) if each["type"] == kind]
    return found[0] if found else {}


def ready(pod: Pod) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def running(pod: Pod) -> bool:
    return bool(pod["status"]["phase"] == "Running")


def unready(pod: Pod) -> bool:
    return running(pod) and not ready(pod)


def summary(pod: Pod) -> tuple[str, bool, list[tuple[str, bool, int]]]:
    return (
        pod["status"]["phase"],
        ready(pod),
        [
            (each["image"].rpartition("/")[2], each["ready"], each["restartCount"])
            for each in pod["status"].get("containerStatuses", [])
        ],
    )


def version(pod: Pod) -> int:
    return int(pod["metadata"]["resourceVersion"])


def seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def delayed(initial: int, image: str = "example.test/app:1") -> dict[str, Any]:
    probe = {"tcpSocket": {"port": 80}, "initialDelaySeconds": initial}
    return {"name": "main", "image": image, "readinessProbe": probe}


def ready_after(pod: Pod) -> float:
    started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    return seconds(condition(pod, "Ready")["lastTransitionTime"]) - seconds(started)


@OBSERVES_GENERATIONS
def test_a_scheduled_pod_runs_and_is_ready(pods: Pods) -> None:
    created = pods.create("one")
    versions = pods.history(created, ready)
    status = versions[-1]["status"]

    assert [unready(each) for each in versions] == [False] * len(versions), "no detour"
    assert status["podIP"].startswith("10.")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"]
    assert status["startTime"]
    assert status["observedGeneration"] == versions[-1]["metadata"]["generation"]
    true = {each["type"] for each in status["conditions"] if each["status"] == "True"}
    assert true == {
        "PodScheduled",
        "PodReadyToStartContainers",
        "Initialized",
        "ContainersReady",
        "Ready",
    }
    (container,) = status["containerStatuses"]
    assert container["name"] == "main"
    assert container["image"] == "example.test/app:1"
    assert container["imageID"].startswith("example.test/app:1@sha256:")
    assert container["containerID"].startswith("kwok://")
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)


def test_two_pods_have_different_addresses(pods: Pods) -> None:
    for name in ("one", "two"):
        pods.create(name)
    assert pods.wait_ready("one")["status"]["podIP"] != pods.wait_ready("two")["status"]["podIP"]


def test_init_containers_complete_and_sidecars_run(pods: Pods) -> None:
    pods.create(
        "one",
        initContainers=[
            {"name": "init", "image": "example.test/init:1"},
            {"name": "sidecar", "image": "example.test/sidecar:1", "restartPolicy": "Always"},
        ],
    )
    init, sidecar = pods.wait_ready("one")["status"]["initContainerStatuses"]
    assert init["state"]["terminated"]["exitCode"] == 0
    assert sidecar["state"]["running"]["startedAt"]
    assert sidecar["started"]


def test_a_pod_held_from_its_creation_is_never_ready_until_released(pods: Pods) -> None:
    created = pods.create("one", {f"{PREFIX}/unready": "true"})
    held = pods.wait("one", unready, "running and not ready")
    released = pods.annotate("one", unready=None)
    versions = pods.history(created, ready)

    assert condition(held, "ContainersReady")["status"] == "False"
    assert not held["status"]["containerStatuses"][0]["ready"]
    assert version(versions[-1]) > version(released)


@pytest.mark.parametrize("release", [None, "false"])
def test_a_ready_pod_can_be_held_and_released(pods: Pods, release: str | None) -> None:
    pods.create("one")
    pods.wait_ready("one")
    pods.annotate("one", unready="true")
    held = pods.wait("one", unready, "running and not ready")
    pods.annotate("one", unready=release)
    again = pods.wait_ready("one")

    assert summary(held) == ("Running", False, [("app:1", False, 0)])
    assert summary(again) == ("Running", True, [("app:1", True, 0)])


def test_a_pod_is_ready_after_the_longest_initial_delay_of_its_containers(pods: Pods) -> None:
    quick = {"name": "quick", "image": "example.test/quick:1"}
    versions = pods.history(pods.create("one", containers=[delayed(1), quick]), ready)

    assert any(unready(each) for each in versions)
    assert ready_after(versions[-1]) >= 1


def test_a_pod_held_during_its_initial_delay_stays_unready(pods: Pods) -> None:
    created = pods.create("one", containers=[delayed(5)])
    pods.wait("one", unready, "running and not ready")
    pods.annotate("one", unready="true")
    # Once a pod that was created later is ready, the delay of the first is over too.
    pods.create("later", containers=[delayed(5)])
    pods.wait_ready("later")
    released = pods.annotate("one", unready="false")
    versions = pods.history(created, ready)

    assert version(versions[-1]) > version(released)


def test_a_readiness_gate_holds_a_pod_until_its_condition_is_true(pods: Pods) -> None:
    def set_gate(value: str) -> None:
        gate = {"type": "example.test/gate", "status": value}
        pods.api.patch(
            f"{pods.path}/one/status", {"status": {"conditions": [gate]}}, STRATEGIC_MERGE_PATCH
        )

    pods.create("one", readinessGates=[{"conditionType": "example.test/gate"}])
    waiting = pods.wait("one", unready, "running and not ready")
    set_gate("True")
    pods.wait_ready("one")
    set_gate("False")
    pods.wait("one", unready, "not ready")

    assert condition(waiting, "ContainersReady")["status"] == "True"


def test_a_deleted_pod_goes_and_one_with_a_termination_delay_stays(pods: Pods) -> None:
    pods.create("prompt")
    pods.create("slow", {f"{PREFIX}/termination-delay": "5s"})
    for name in ("prompt", "slow"):
        pods.wait_ready(name)
    asked = time.monotonic()
    pods.delete("slow")
    pods.delete("prompt")
    wait_for(lambda: pods.get("prompt") is None, "the pod without a delay to go")
    slow = pods.get("slow")
    # Another write must not restart the delay.
    pods.annotate("slow", touched="yes")
    wait_for(lambda: pods.get("slow") is None, "the pod with a delay to go")
    elapsed = time.monotonic() - asked

    assert slow is not None
    assert slow["metadata"]["deletionTimestamp"]
    assert elapsed >= 5


def test_kwok_may_not_delete_a_pod_that_is_not_terminating(cluster: Cluster, pods: Pods) -> None:
    layout = cluster.layout
    client = KeyPair(layout.directory / "pki" / "kwok.crt", layout.directory / "pki" / "kwok.key")
    kwok = Api(cluster.server, layout.ca.certificate, client)

    def refusal(name: str) -> str:
        try:
            kwok.delete(f"{pods.path}/{name}?dryRun=All&gracePeriodSeconds=0")
        except ApiError as error:
            return error.message
        return ""

    pods.create("live")
    pods.create("leaving", {f"{PREFIX}/termination-delay": "1h"})
    for name in ("live", "leaving"):
        pods.wait_ready(name)
    pods.delete("leaving")

    message = wait_for(lambda: refusal("live"), "the refusal of the deletion")
    allowed = refusal("leaving")
    pods.annotate("leaving", **{"termination-delay": None})

    assert "the pod is not terminating" in message
    assert allowed == ""


def test_a_deleted_pod_stays_until_its_finalizers_are_removed(pods: Pods) -> None:
    pods.create("one", finalizers=["example.test/hold"])
    pods.wait_ready("one")
    pods.delete("one")
    left = pods.wait(
        "one",
        lambda pod: pod["metadata"].get("deletionGracePeriodSeconds") == 0,
        "left by kwok to its finalizers",
    )
    pods.api.patch(f"{pods.path}/one", {"metadata": {"finalizers": None}})
    wait_for(lambda: pods.get("one") is None, "the pod to go")

    assert left["metadata"]["finalizers"] == ["example.test/hold"]


@OBSERVES_GENERATIONS
def test_a_new_image_restarts_its_container(pods: Pods) -> None:
    other = {"name": "other", "image": "example.test/other:1"}
    pods.create("one", containers=[delayed(1), other])
    before = pods.wait_ready("one")
    changed = pods.set_image("one", "main", "example.test/app:2")
    versions = pods.history(changed, ready)

    assert [summary(each) for each in versions] == [
        ("Running", False, [("app:1", False, 0), ("other:1", True, 0)]),
        ("Running", False, [("app:2", False, 1), ("other:1", True, 0)]),
        ("Running", True, [("app:2", True, 1), ("other:1", True, 0)]),
    ]
    after = versions[-1]
    assert ready_after(after) >= 1
    assert after["status"]["observedGeneration"] == before["metadata"]["generation"] + 1
    old, new = (pod["status"]["containerStatuses"][0] for pod in (before, after))
    assert new["imageID"] != old["imageID"]
    assert new["containerID"] != old["containerID"]
    assert new["lastState"]["terminated"]["containerID"] == old["containerID"]


def test_a_new_image_of_a_held_pod_runs_but_is_not_ready(pods: Pods) -> None:
    pods.create("one", {f"{PREFIX}/unready": "true"})
    pods.wait("one", unready, "running and not ready")
    changed = pods.set_image("one", "main", "example.test/app:2")
    pods.wait(
        "one",
        lambda pod: summary(pod) == ("Running", False, [("app:2", False, 1)]),
        "running the new image",
    )
    pods.annotate("one", unready=None)
    versions = pods.history(changed, ready)

    assert [ready(each) for each in versions] == [False] * (len(versions) - 1) + [True]


@OBSERVES_GENERATIONS
def test_the_observed_generation_follows_any_other_change_of_the_spec(pods: Pods) -> None:
    pods.create("one")
    pods.wait_ready("one")
    changed = pods.api.patch(f"{pods.path}/one", {"spec": {"activeDeadlineSeconds": 3600}})
    versions = pods.history(
        changed,
        lambda pod: pod["status"]["observedGeneration"] == changed["metadata"]["generation"],
    )

    assert changed["metadata"]["generation"] == 2
    assert all(ready(each) for each in versions)


def test_a_pod_with_the_fail_annotation_fails(pods: Pods) -> None:
    pods.create("one")
    pods.wait_ready("one")
    pods.annotate("one", fail="true")
    failed = pods.wait("one", lambda pod: pod["status"]["phase"] == "Failed", "Failed")

    assert not ready(failed)
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


def test_a_pod_with_the_complete_after_annotation_completes(pods: Pods) -> None:
    created = pods.create("one", {f"{PREFIX}/complete-after": "10ms"}, restartPolicy="Never")
    versions = pods.history(created, lambda pod: pod["status"]["phase"] == "Succeeded")

    assert any(ready(each) for each in versions)
    assert not ready(versions[-1])


def test_nothing_happens_to_pods_of_a_bare_node(cluster: Cluster, pods: Pods) -> None:
    node = f"bare-{uuid.uuid4().hex[:8]}"
    cluster.api.create(
        "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
    )
    try:
        pods.create("bare", nodeName=node)
        pods.create("deleted", nodeName=node)
        pods.delete("deleted")
        pods.create("managed")
        pods.wait_ready("managed")
        pods.delete("managed")
        wait_for(lambda: pods.get("managed") is None, "the pod of kwok's node to go")
        bare, deleted = pods.get("bare"), pods.get("deleted")
    finally:
        cluster.api.delete(f"/api/v1/nodes/{node}")

    assert bare is not None
    assert bare["status"]["phase"] == "Pending"
    assert "podIP" not in bare["status"]
    assert deleted is not None
    assert deleted["metadata"]["deletionTimestamp"]
