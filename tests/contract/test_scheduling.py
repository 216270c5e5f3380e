"""Where pods go, and why they wait."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from intact.kube.resources import untyped
from tests.contract.clusters import ClusterBackend
from tests.contract.own_nodes import OwnNodes, settle
from tests.support.objects import (
    NODES,
    PDBS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Json,
    replica_set,
    stateful_set,
)
from tests.support.scheduling import ZONE, near, spread, term

A = {"app": "a"}
EVENTS = untyped("", "v1", "events", "Event")
CLASSES = untyped("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


@pytest.fixture
def nodes(cluster_backend: ClusterBackend, runner: asyncio.Runner) -> Iterator[OwnNodes]:
    found = OwnNodes(cluster_backend)
    yield found
    runner.run(found.remove())


async def test_pods_take_what_they_request_and_wait_for_room(nodes: OwnNodes) -> None:
    await nodes.add("a", "b", allocatable={"cpu": "2"})
    for number in range(4):
        await nodes.pod(f"p{number}", requests={"cpu": "1"}, meta={"labels": A})
    assert await nodes.spread("app=a", 4) == {"a": 2, "b": 2}
    await nodes.pod("more", requests={"cpu": "1"})
    assert await nodes.why("more") == ({"Insufficient cpu": 2}, {NO_VICTIMS: 2})
    (event,) = [
        each
        for each in await nodes.backend.until(lambda: nodes.backend.all(EVENTS), _failed)
        if each["reason"] == "FailedScheduling" and each["involvedObject"]["name"] == "more"
    ]
    assert event["type"] == "Warning"
    await nodes.backend.client.delete(PODS, "p0", nodes.backend.namespace)
    assert await nodes.where("more") in ("a", "b")


def _failed(events: list[Json]) -> bool:
    return any(each["reason"] == "FailedScheduling" for each in events)


async def test_each_lack_is_told_and_more_than_a_node_has_cannot_be_preempted(
    nodes: OwnNodes,
) -> None:
    await nodes.add("a", allocatable={"cpu": "2", "example.com/gpu": "1"})
    await nodes.add("b", allocatable={"cpu": "8", "pods": "0"})
    await nodes.pod("p", requests={"cpu": "4", "example.com/gpu": "2"})
    assert await nodes.why("p") == (
        {"Insufficient cpu": 1, "Insufficient example.com/gpu": 2, "Too many pods": 1},
        {NOT_HELPFUL: 2},
    )


async def test_init_containers_and_overheads_count(nodes: OwnNodes) -> None:
    await nodes.add("a", allocatable={"cpu": "4"})
    resources = {"resources": {"requests": {"cpu": "2"}}}
    main = {"name": "main", "image": "registry.example/main:1", **resources}
    sidecar = {**main, "name": "sidecar", "restartPolicy": "Always"}
    await nodes.pod("fits", containers=[main], initContainers=[sidecar])
    assert await nodes.where("fits") == "a"
    await nodes.pod("waits", requests={"cpu": "1m"})
    assert await nodes.why("waits") == ({"Insufficient cpu": 1}, {NO_VICTIMS: 1})


async def test_a_cordoned_node_takes_no_pods_until_it_is_uncordoned(nodes: OwnNodes) -> None:
    await nodes.add("a")
    await nodes.patch("a", unschedulable=True)
    await nodes.pod("p")
    assert await nodes.why("p") == ({"node(s) were unschedulable": 1}, {NOT_HELPFUL: 1})
    await nodes.patch("a", unschedulable=None)
    assert await nodes.where("p") == "a"


async def test_a_taint_keeps_pods_away_that_do_not_tolerate_it(nodes: OwnNodes) -> None:
    await nodes.add("a", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    await nodes.pod("p")
    assert await nodes.why("p") == ({"node(s) had untolerated taint(s)": 1}, {NOT_HELPFUL: 1})
    await nodes.pod("q", tolerations=[{"key": "gpu", "value": "yes"}])
    assert await nodes.where("q") == "a"
    await nodes.patch("a", taints=None)
    assert await nodes.where("p") == "a"


async def test_a_taint_that_is_only_to_be_avoided(nodes: OwnNodes) -> None:
    await nodes.add("a", taints=[{"key": "old", "effect": "PreferNoSchedule"}])
    await nodes.add("b", allocatable={"cpu": "2"})
    for number in range(3):
        await nodes.pod(f"p{number}", requests={"cpu": "1"})
        assert await nodes.where(f"p{number}") == ("b" if number < 2 else "a")


def _affinity(*expressions: tuple[str, str, list[str]], fields: str = "") -> Json:
    term: Json = {
        "matchExpressions": [
            {"key": key, "operator": operator, "values": values}
            for key, operator, values in expressions
        ]
    }
    if fields:
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [fields]}]
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


async def test_node_affinity(nodes: OwnNodes) -> None:
    await nodes.add("a", labels={"cores": "8"})
    await nodes.add("b", labels={"cores": "64", "disk": "ssd"})
    cases = {
        "in": (_affinity(("cores", "In", ["8"])), "a"),
        "notin": (_affinity(("cores", "NotIn", ["8"])), "b"),
        "exists": (_affinity(("disk", "Exists", [])), "b"),
        "missing": (_affinity(("disk", "DoesNotExist", [])), "a"),
        "greater": (_affinity(("cores", "Gt", ["8"])), "b"),
        "less": (_affinity(("cores", "Lt", ["64"])), "a"),
        "named": (_affinity(fields=nodes.full("b")), "b"),
    }
    for name, (affinity, _) in cases.items():
        await nodes.pod(name, affinity=affinity)
    found = {name: await nodes.where(name) for name in cases}
    assert found == {name: node for name, (_, node) in cases.items()}
    await nodes.pod("none", affinity=_affinity(("cores", "Gt", ["64"])))
    reason = "node(s) didn't match Pod's node affinity/selector"
    assert await nodes.why("none") == ({reason: 2}, {NOT_HELPFUL: 2})


async def test_a_pod_whose_affinity_names_its_node_does_not_ask_the_others(
    nodes: OwnNodes,
) -> None:
    await nodes.add("a", allocatable={"cpu": "1"})
    await nodes.pod("p", requests={"cpu": "2"}, affinity=_affinity(fields=nodes.full("a")))
    found = await nodes.backend.until(
        lambda: nodes.backend.get(PODS, "p"), lambda pod: pod["status"].get("conditions")
    )
    message = found["status"]["conditions"][0]["message"]
    others = len(nodes.backend.nodes)
    assert "1 Insufficient cpu" in message
    assert "node(s) didn't satisfy plugin(s) [NodeAffinity]" in message
    assert others >= 3


async def test_preferred_node_affinity(nodes: OwnNodes) -> None:
    await nodes.add("a")
    await nodes.add("b", labels={"disk": "ssd"})
    preference = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    preferred = [{"weight": 50, "preference": preference}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    for number in range(3):
        await nodes.pod(f"p{number}", affinity=affinity, meta={"labels": A})
    assert await nodes.spread("app=a", 3) == {"b": 3}


async def test_pods_that_repel_each_other_are_on_nodes_of_their_own(nodes: OwnNodes) -> None:
    await nodes.add("a", "b")
    away = {"podAntiAffinity": near(term(A))}
    for number in range(3):
        await nodes.pod(f"p{number}", affinity=away, meta={"labels": A})
        if number < 2:
            await nodes.where(f"p{number}")
    reason = "node(s) didn't match pod anti-affinity rules"
    assert await nodes.why("p2") == ({reason: 2}, {NO_VICTIMS: 2})
    await nodes.pod("other", meta={"labels": A})
    reason = "node(s) didn't satisfy existing pods anti-affinity rules"
    assert await nodes.why("other") == ({reason: 2}, {NO_VICTIMS: 2})
    await nodes.backend.client.delete(PODS, "p1", nodes.backend.namespace)
    await nodes.where("p2")


async def test_pods_that_attract_each_other_are_in_one_zone(nodes: OwnNodes) -> None:
    await nodes.add("a", labels={ZONE: "1"})
    await nodes.add("b", "c", labels={ZONE: "2"})
    to_each_other = {"podAffinity": near(term(A, ZONE))}
    await nodes.pod("lone", affinity={"podAffinity": near(term({"app": "none"}, ZONE))})
    reason = "node(s) didn't match pod affinity rules"
    assert await nodes.why("lone") == ({reason: 3}, {NOT_HELPFUL: 3})
    await nodes.pod("first", affinity=to_each_other, meta={"labels": A})
    zone = "1" if await nodes.where("first") == "a" else "2"
    for number in range(4):
        await nodes.pod(f"p{number}", affinity=to_each_other, meta={"labels": A})
    found = await nodes.spread("app=a", 5)
    assert set(found) <= ({"a"} if zone == "1" else {"b", "c"})
    await nodes.pod("none", meta={"labels": {"app": "none"}})
    assert await nodes.where("lone") in (("a",) if await nodes.where("none") == "a" else ("b", "c"))


async def test_preferred_anti_affinity_spreads_pods(nodes: OwnNodes) -> None:
    await nodes.add("a", "b", "c")
    away = {"podAntiAffinity": near(term(A), weight=100)}
    for number in range(3):
        await nodes.pod(f"p{number}", affinity=away, meta={"labels": A})
        await nodes.where(f"p{number}")
    assert await nodes.spread("app=a", 3) == {"a": 1, "b": 1, "c": 1}


async def test_a_spread_constraint_holds_pods_back(nodes: OwnNodes) -> None:
    await nodes.add("a", "b", "c", labels={"pool": "x"})
    for number in range(6):
        await nodes.pod(f"p{number}", topologySpreadConstraints=[spread(A)], meta={"labels": A})
    assert await nodes.spread("app=a", 6) == {"a": 2, "b": 2, "c": 2}
    await nodes.patch("c", unschedulable=True)
    for name in ("p6", "p7", "p8"):
        await nodes.pod(name, topologySpreadConstraints=[spread(A)], meta={"labels": A})
    reasons = {
        "node(s) didn't match pod topology spread constraints": 2,
        "node(s) were unschedulable": 1,
    }
    assert await nodes.why("p8") == (reasons, {NO_VICTIMS: 2, NOT_HELPFUL: 1})
    await nodes.patch("c", unschedulable=None)
    assert await nodes.where("p8") == "c"


async def test_nodes_that_are_closed_count_for_a_spread_by_policy(nodes: OwnNodes) -> None:
    await nodes.add("a", "b")
    await nodes.patch("b", unschedulable=True)

    await nodes.backend.until(
        lambda: nodes.backend.client.get(NODES, nodes.full("b")),
        lambda node: node["spec"].get("taints"),
    )
    honored = spread(A, nodeTaintsPolicy="Honor")
    for number in range(2):
        await nodes.pod(f"p{number}", topologySpreadConstraints=[honored], meta={"labels": A})
        assert await nodes.where(f"p{number}") == "a"
    await nodes.pod("ignoring", topologySpreadConstraints=[spread(A)], meta={"labels": A})
    assert await nodes.why("ignoring") == (
        {
            "node(s) didn't match pod topology spread constraints": 1,
            "node(s) were unschedulable": 1,
        },
        {NO_VICTIMS: 1, NOT_HELPFUL: 1},
    )


async def test_a_node_without_the_key_of_a_spread(nodes: OwnNodes) -> None:
    await nodes.add("a")
    await nodes.pod("p", topologySpreadConstraints=[spread(A, "rack")], meta={"labels": A})
    reason = "node(s) didn't match pod topology spread constraints (missing required label)"
    assert await nodes.why("p") == ({reason: 1}, {NOT_HELPFUL: 1})


@pytest.mark.parametrize(
    ("resource", "body"),
    [(REPLICA_SETS, replica_set("w", 6)), (STATEFUL_SETS, stateful_set("w", 6))],
    ids=["ReplicaSet", "StatefulSet"],
)
async def test_pods_of_one_owner_are_spread_over_nodes_without_being_told(
    nodes: OwnNodes, resource: Any, body: Json
) -> None:
    await nodes.add("a", "b", "c", allocatable={"cpu": "64", "memory": "256Gi"})
    template = body["spec"]["template"]
    template["spec"] = {**template["spec"], "nodeSelector": nodes.spec()["nodeSelector"]}
    await nodes.backend.create(resource, body)
    await nodes.backend.until_status(resource, "w", readyReplicas=6)
    assert await nodes.spread("app=w", 6) == {"a": 2, "b": 2, "c": 2}


async def test_the_emptiest_node_is_taken_first(nodes: OwnNodes) -> None:
    await nodes.add("a", "b", allocatable={"cpu": "10", "memory": "10Gi"})
    name = [{"key": "metadata.name", "operator": "In", "values": [nodes.full("a")]}]
    required = {"nodeSelectorTerms": [{"matchFields": name}]}
    pinned = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    await nodes.pod("load", requests={"cpu": "3", "memory": "3Gi"}, affinity=pinned)
    await nodes.where("load")
    for number in range(3):
        await nodes.pod(f"p{number}", requests={"cpu": "1", "memory": "1Gi"})
        assert await nodes.where(f"p{number}") == "b"


async def test_a_host_port_is_taken_once_on_a_node(nodes: OwnNodes) -> None:
    await nodes.add("a")
    ports = [{"containerPort": 80, "hostPort": 8080}]
    container = {"name": "main", "image": "registry.example/main:1", "ports": ports}
    await nodes.pod("p", containers=[container])
    await nodes.where("p")
    await nodes.pod("q", containers=[container])
    reason = "node(s) didn't have free ports for the requested pod ports"
    assert await nodes.why("q") == ({reason: 1}, {NO_VICTIMS: 1})


async def test_a_gated_pod_waits_for_its_gates(nodes: OwnNodes) -> None:
    await nodes.add("a")
    await nodes.pod("p", schedulingGates=[{"name": "example.com/gate"}])
    await settle()
    found = await nodes.backend.get(PODS, "p")
    assert "nodeName" not in found["spec"]
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"
    assert condition["message"] == "Scheduling is blocked due to non-empty scheduling gates"
    await nodes.backend.patch(PODS, "p", {"spec": {"schedulingGates": []}})
    assert await nodes.where("p") == "a"


async def test_a_higher_priority_is_served_first(nodes: OwnNodes) -> None:
    await nodes.add("a", allocatable={"cpu": "1"})
    high = f"high-{nodes.backend.namespace[-8:]}"
    made = {"metadata": {"name": high}, "value": 1000, "preemptionPolicy": "Never"}
    await nodes.backend.client.create(CLASSES, made)
    try:
        await nodes.pod("first", requests={"cpu": "1"})
        await nodes.where("first")
        await nodes.pod("low", requests={"cpu": "1"})
        await nodes.why("low")
        await nodes.pod("high", requests={"cpu": "1"}, priorityClassName=high)
        found = await nodes.backend.until(
            lambda: nodes.backend.get(PODS, "high"), lambda pod: pod["status"].get("conditions")
        )
        message = found["status"]["conditions"][0]["message"]
        assert message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
        await nodes.backend.client.delete(PODS, "first", nodes.backend.namespace)
        assert await nodes.where("high") == "a"
        await nodes.why("low")
    finally:
        await nodes.backend.client.delete(CLASSES, high)


async def test_a_drained_node_comes_back(nodes: OwnNodes) -> None:
    backend = nodes.backend
    await nodes.add("a", "b", allocatable={"cpu": "3"})
    body = stateful_set("w", 4, podManagementPolicy="Parallel")
    spec = body["spec"]["template"]["spec"]
    spec["nodeSelector"] = nodes.spec()["nodeSelector"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    await backend.create(STATEFUL_SETS, body)
    await backend.until_status(STATEFUL_SETS, "w", readyReplicas=4)
    assert await nodes.spread("app=w", 4) == {"a": 2, "b": 2}
    await nodes.patch("a", unschedulable=True)
    for pod in await backend.pods("app=w"):
        if pod["spec"]["nodeName"] == nodes.full("a"):
            await backend.client.evict(PODS, pod["metadata"]["name"], backend.namespace)

    def one_waits(pods: list[Json]) -> bool:
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        return len(pods) == 4 and len(waiting) == 1 and "conditions" in waiting[0]["status"]

    pods = await backend.until(lambda: backend.pods("app=w"), one_waits)
    (waiting,) = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
    assert await nodes.why(waiting) == (
        {"Insufficient cpu": 1, "node(s) were unschedulable": 1},
        {NO_VICTIMS: 1, NOT_HELPFUL: 1},
    )
    await nodes.patch("a", unschedulable=None)
    await backend.until_status(STATEFUL_SETS, "w", readyReplicas=4)
    assert await nodes.spread("app=w", 4) == {"a": 1, "b": 3}


@pytest.fixture
def high(nodes: OwnNodes, runner: asyncio.Runner) -> Iterator[str]:
    """The name of a priority class above the default."""
    name = f"above-{nodes.backend.namespace[-8:]}"
    made = {"metadata": {"name": name}, "value": 1000}
    runner.run(nodes.backend.client.create(CLASSES, made))
    yield name
    runner.run(nodes.backend.client.delete(CLASSES, name))


def condition(pod: Json, kind: str) -> Json:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == kind]
    return found[0] if found else {}


SLOW_END = {"annotations": {"devcluster.intact.dev/termination-delay": "2s"}}


async def test_a_pod_of_a_higher_priority_takes_the_place_of_the_youngest_below_it(
    nodes: OwnNodes, high: str
) -> None:
    backend = nodes.backend
    await nodes.add("a", allocatable={"cpu": "2"})
    for name in ("old", "young"):
        await nodes.pod(name, requests={"cpu": "1"}, meta=SLOW_END)
        await _until_ready(backend, name)
        await asyncio.sleep(1.1)
    await nodes.pod("high", requests={"cpu": "1"}, priorityClassName=high)
    waiting = await backend.until(
        lambda: backend.get(PODS, "high"), lambda pod: pod["status"].get("nominatedNodeName")
    )
    assert waiting["status"]["nominatedNodeName"] == nodes.full("a")
    message = condition(waiting, "PodScheduled")["message"]
    victim = await backend.until(
        lambda: backend.get(PODS, "young"), lambda pod: "deletionTimestamp" in pod["metadata"]
    )
    assert condition(victim, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    await nodes.pod("low", requests={"cpu": "1"})
    assert await nodes.where("high") == "a"
    assert "deletionTimestamp" not in (await backend.get(PODS, "old"))["metadata"]
    assert not (await backend.get(PODS, "low"))["spec"].get("nodeName")
    assert re.fullmatch(
        r"0/\d+ nodes are available: 1 Insufficient cpu, .*affinity/selector\.", message
    ), message


async def test_budgets_are_spared_if_another_pod_will_do(nodes: OwnNodes, high: str) -> None:
    backend = nodes.backend
    await nodes.add("a", "b", allocatable={"cpu": "1"})
    for name in ("kept", "free"):
        await nodes.pod(name, requests={"cpu": "1"}, meta={"labels": {"app": name}})
        await _until_ready(backend, name)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    await backend.create(PDBS, {"metadata": {"name": "b"}, "spec": spec})
    await backend.until(
        lambda: backend.get(PDBS, "b"), lambda found: found["status"].get("currentHealthy") == 1
    )
    await nodes.pod("high", requests={"cpu": "1"}, priorityClassName=high)
    await nodes.where("high")
    assert [pod["metadata"]["name"] for pod in await backend.pods()] == ["high", "kept"]


async def _until_ready(backend: ClusterBackend, name: str) -> None:
    await backend.until(
        lambda: backend.get(PODS, name), lambda pod: condition(pod, "Ready").get("status") == "True"
    )
