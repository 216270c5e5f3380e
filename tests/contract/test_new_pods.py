"""What the server gives a new pod, and how a pod gets its node."""

from typing import Any

import pytest

from intact.kube.errors import Conflict, NotFound
from tests.contract.backends import Backend
from tests.support.objects import PODS, Json, pod

LOST = [
    {
        "key": f"node.kubernetes.io/{why}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for why in ("not-ready", "unreachable")
]


async def create(backend: Backend, name: str = "p", **spec: Any) -> Json:
    made = pod(name)
    made["spec"] |= {"schedulerName": "none", **spec}
    return await backend.client.create(PODS, made, backend.namespace)


async def test_a_new_pod_has_a_priority_and_stays_for_a_while_on_a_lost_node(
    backend: Backend,
) -> None:
    spec = (await create(backend))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == LOST
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    spec = (await create(backend, "own", tolerations=[own]))["spec"]
    assert spec["tolerations"] == [own, LOST[1]]
    spec = (await create(backend, "all", tolerations=[{"operator": "Exists"}]))["spec"]
    assert spec["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("resources", "requests", "quality"),
    [
        ({}, None, "BestEffort"),
        ({"requests": {"cpu": "1"}}, {"cpu": "1"}, "Burstable"),
        ({"limits": {"cpu": "1"}}, {"cpu": "1"}, "Burstable"),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}},
            {"cpu": "1", "memory": "1Gi"},
            "Guaranteed",
        ),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            {"cpu": "500m", "memory": "1Gi"},
            "Burstable",
        ),
    ],
)
async def test_limits_are_requests_and_both_make_the_quality_of_service(
    backend: Backend, resources: Json, requests: Json | None, quality: str
) -> None:
    container = {"name": "main", "image": "registry.example/main:1", "resources": resources}
    made = await create(backend, containers=[container])
    assert made["status"]["qosClass"] == quality
    assert made["spec"]["containers"][0]["resources"].get("requests") == requests


async def test_a_gated_pod_says_so(backend: Backend) -> None:
    made = await create(backend, schedulingGates=[{"name": "example.com/gate"}])
    (condition,) = made["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert {key: value for key, value in condition.items() if value} == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    with pytest.raises(Conflict, match=r"pod p has non-empty \.spec\.schedulingGates"):
        await bind(backend)


async def bind(backend: Backend, node: str = "n", **metadata: Any) -> None:
    body = {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}
    await backend.client.create_subresource(PODS, "p", backend.namespace, "binding", body)


async def test_a_binding_gives_a_pod_its_node(backend: Backend) -> None:
    made = await create(backend)
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition"):
        await bind(backend, uid="11111111-2222-3333-4444-555555555555")
    annotations = {"example.com/a": "b"}
    await bind(backend, backend.node, uid=made["metadata"]["uid"], annotations=annotations)
    found = await backend.client.get(PODS, "p", backend.namespace)
    assert (found["spec"]["nodeName"], found["metadata"]["generation"]) == (backend.node, 1)
    assert found["metadata"]["annotations"] == annotations
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"]
    why = f'pod p is already assigned to node "{backend.node}"'
    with pytest.raises(Conflict, match=f'Operation cannot be fulfilled on pods/binding "p": {why}'):
        await bind(backend, "m")


async def test_a_pod_that_is_being_deleted_gets_no_node(backend: Backend) -> None:
    with pytest.raises(NotFound):
        await bind(backend)
    made = pod("p", finalizers=["example.com/hold"])
    made["spec"]["schedulerName"] = "none"
    await backend.client.create(PODS, made, backend.namespace)
    await backend.client.delete(PODS, "p", backend.namespace)
    with pytest.raises(Conflict, match="pod p is being deleted, cannot be assigned to a host"):
        await bind(backend)
    await backend.client.patch(PODS, {"metadata": {"finalizers": None}}, "p", backend.namespace)
