"""The life of pods: on kwok's nodes and on the sandbox's."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from intact.kube.client import PatchType
from tests.contract.clusters import ClusterBackend
from tests.contract.own_nodes import OwnNodes
from tests.support.objects import PODS, SLOW_PROBE, Json

PREFIX = "devcluster.intact.dev"
MAIN = {"name": "main", "image": "registry.example/main:1"}


@pytest.fixture
def nodes(cluster_backend: ClusterBackend, runner: asyncio.Runner) -> Iterator[OwnNodes]:
    found = OwnNodes(cluster_backend)
    runner.run(found.add("a"))
    yield found
    runner.run(found.remove())


def annotated(**values: str) -> Json:
    return {
        "annotations": {f"{PREFIX}/{key.replace('_', '-')}": text for key, text in values.items()}
    }


def condition(pod: Json, kind: str) -> Json:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == kind]
    return found[0] if found else {}


def ready(pod: Json) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def summary(pod: Json) -> tuple[str, bool, list[tuple[str, bool, int]]]:
    containers = pod["status"].get("containerStatuses", ())
    return (
        pod["status"]["phase"],
        ready(pod),
        [(each["image"][-1], each["ready"], each["restartCount"]) for each in containers],
    )


def seconds(since: str, until: str) -> float:
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds()


async def until_ready(nodes: OwnNodes, name: str = "p") -> Json:
    return await nodes.backend.until(lambda: nodes.backend.get(PODS, name), ready)


async def test_a_pod_runs_and_is_ready(nodes: OwnNodes) -> None:
    init = [
        {"name": "init", "image": "registry.example/init:1"},
        {"name": "side", "image": "registry.example/side:1", "restartPolicy": "Always"},
    ]
    await nodes.pod("p", initContainers=init)
    pod = await until_ready(nodes)
    status = pod["status"]
    assert {each["type"]: each["status"] for each in status["conditions"]} == dict.fromkeys(
        ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"),
        "True",
    )
    assert all(each["lastTransitionTime"] for each in status["conditions"])
    assert (status["phase"], status["observedGeneration"]) == ("Running", 1)
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"]
    assert status["startTime"]
    (main,) = status["containerStatuses"]
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert main["imageID"].startswith("registry.example/main:1@sha256:")
    ended, side = status["initContainerStatuses"]
    assert ended["state"]["terminated"]["exitCode"] == 0
    assert side["state"]["running"]


async def test_a_probe_delays_readiness(nodes: OwnNodes) -> None:
    await nodes.pod("p", containers=[{**MAIN, "readinessProbe": SLOW_PROBE}])
    waiting = await nodes.backend.until(
        lambda: nodes.backend.get(PODS, "p"), lambda pod: pod["status"]["phase"] == "Running"
    )
    assert condition(waiting, "Ready")["reason"] == "ContainersNotReady"
    assert condition(waiting, "Ready")["message"] == "containers with unready status: [main]"
    pod = await until_ready(nodes)
    started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert 1 <= seconds(started, condition(pod, "Ready")["lastTransitionTime"]) <= 3


async def test_a_new_image_restarts_its_container_in_place(nodes: OwnNodes) -> None:
    other = {"name": "other", "image": "registry.example/other:1"}
    await nodes.pod("p", containers=[{**MAIN, "readinessProbe": SLOW_PROBE}, other])
    before = await until_ready(nodes)
    async with nodes.backend.recorded() as events:
        await nodes.backend.client.patch(
            PODS,
            {"spec": {"containers": [{"name": "main", "image": "registry.example/main:2"}]}},
            "p",
            nodes.backend.namespace,
            type=PatchType.STRATEGIC,
        )
        after = await nodes.backend.until(
            lambda: nodes.backend.get(PODS, "p"),
            lambda pod: summary(pod) == ("Running", True, [("2", True, 1), ("1", True, 0)]),
        )
        await nodes.backend.until(lambda: _seen(events), lambda seen: ready(seen[-1]))
    assert [summary(each) for each in (await _seen(events))[1:]] == [
        ("Running", False, [("1", False, 0), ("1", True, 0)]),
        ("Running", False, [("2", False, 1), ("1", True, 0)]),
        ("Running", True, [("2", True, 1), ("1", True, 0)]),
    ]
    old, new = (pod["status"]["containerStatuses"][0] for pod in (before, after))
    assert new["containerID"] != old["containerID"]
    assert new["lastState"]["terminated"]["containerID"] == old["containerID"]
    assert after["status"]["observedGeneration"] == 2


async def _seen(events: list[Any]) -> list[Json]:
    return [each.object for each in events]


async def test_a_pod_is_held_released_and_failed_by_annotations(nodes: OwnNodes) -> None:
    backend = nodes.backend
    await nodes.pod("p", meta=annotated(unready="true"))
    held = await backend.until(
        lambda: backend.get(PODS, "p"), lambda pod: pod["status"]["phase"] == "Running"
    )
    assert summary(held) == ("Running", False, [("1", False, 0)])
    await backend.patch(PODS, "p", {"metadata": annotated(unready="false")})
    await until_ready(nodes)
    await backend.patch(PODS, "p", {"metadata": annotated(unready="true")})
    await backend.until(lambda: backend.get(PODS, "p"), lambda pod: not ready(pod))
    await backend.patch(PODS, "p", {"metadata": annotated(fail="true")})
    failed = await backend.until(
        lambda: backend.get(PODS, "p"), lambda pod: pod["status"]["phase"] == "Failed"
    )
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


async def test_a_readiness_gate_holds_a_pod(nodes: OwnNodes) -> None:
    backend = nodes.backend

    async def gate(value: str) -> None:
        body = {"status": {"conditions": [{"type": "example.com/gate", "status": value}]}}
        await backend.client.patch(
            PODS, body, "p", backend.namespace, subresource="status", type=PatchType.STRATEGIC
        )

    await nodes.pod("p", readinessGates=[{"conditionType": "example.com/gate"}])
    waiting = await backend.until(
        lambda: backend.get(PODS, "p"), lambda pod: pod["status"]["phase"] == "Running"
    )
    assert condition(waiting, "ContainersReady")["status"] == "True"
    assert condition(waiting, "Ready")["reason"] == "ReadinessGatesNotReady"
    await gate("True")
    await until_ready(nodes)
    await gate("False")
    await backend.until(lambda: backend.get(PODS, "p"), lambda pod: not ready(pod))


async def test_a_deleted_pod_goes_at_once_or_after_its_delay(nodes: OwnNodes) -> None:
    backend = nodes.backend
    await nodes.pod("p")
    await nodes.pod("slow", meta=annotated(termination_delay="3s"))
    for name in ("p", "slow"):
        await until_ready(nodes, name)
    begun = asyncio.get_running_loop().time()
    for name in ("slow", "p"):
        await backend.client.delete(PODS, name, backend.namespace)
    await backend.until(backend.pods, lambda pods: len(pods) == 1)
    assert asyncio.get_running_loop().time() - begun < 3
    await backend.until(backend.pods, lambda pods: not pods)
    assert 3 <= asyncio.get_running_loop().time() - begun < 7


async def test_a_pod_completes_after_its_time(nodes: OwnNodes) -> None:
    await nodes.pod("p", meta=annotated(complete_after="1s"), restartPolicy="Never")
    done = await nodes.backend.until(
        lambda: nodes.backend.get(PODS, "p"), lambda pod: pod["status"]["phase"] == "Succeeded"
    )
    assert condition(done, "Ready")["reason"] == "PodCompleted"


async def test_pods_leave_a_node_with_a_taint_that_they_do_not_tolerate(nodes: OwnNodes) -> None:
    backend = nodes.backend
    exists = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    await nodes.pod("now", meta=annotated(termination_delay="1h"))
    await nodes.pod("later", tolerations=[{**exists, "tolerationSeconds": 2}])
    await nodes.pod("never", tolerations=[exists])
    for name in ("now", "later", "never"):
        await until_ready(nodes, name)
    begun = asyncio.get_running_loop().time()
    await nodes.patch("a", taints=[{"key": "k", "effect": "NoExecute"}])
    leaving = await backend.until(
        lambda: backend.get(PODS, "now"), lambda pod: "deletionTimestamp" in pod["metadata"]
    )
    assert condition(leaving, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    await backend.until(backend.pods, lambda pods: len(pods) == 2)
    assert asyncio.get_running_loop().time() - begun >= 2
    assert [pod["metadata"]["name"] for pod in await backend.pods()] == ["never", "now"]
