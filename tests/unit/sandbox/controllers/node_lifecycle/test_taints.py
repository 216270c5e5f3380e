"""The state of a node is in its taints. What the real controller does is in tests/contract."""

import pytest

from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.node_lifecycle.taints import NodeTaintController
from tests.support.objects import NODES, Json

FOREIGN = {"key": "gpu", "effect": "NoSchedule", "value": "yes"}
OTHER_EFFECT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoExecute"}


async def look(shared: Shared) -> Json:
    """One look of the controller. Returns the node as it was before."""
    node = shared.api.peek("nodes", "", "n")
    assert node is not None
    await NodeTaintController(shared).reconcile(node)
    return node


async def taints(shared: Shared, spec: Json, *conditions: tuple[str, str]) -> list[tuple[str, str]]:
    """Of a node, after two looks of the controller: the second one must change nothing."""
    body = {"metadata": {"name": "n"}, "spec": spec}
    await shared.client.create(NODES, body)
    found = [{"type": kind, "status": status} for kind, status in conditions]
    status = {"status": {"conditions": found}}
    await shared.client.patch(NODES, status, "n", subresource="status")
    await look(shared)
    revision = shared.api.revision
    node = await look(shared)
    assert shared.api.revision == revision
    return [(each["key"], each["effect"]) for each in node["spec"].get("taints", ())]


@pytest.mark.parametrize(
    ("condition", "key"),
    [
        (("Ready", "True"), None),
        (("Ready", "False"), "not-ready"),
        (("Ready", "Unknown"), "unreachable"),
        (("MemoryPressure", "True"), "memory-pressure"),
        (("MemoryPressure", "False"), None),
        (("DiskPressure", "True"), "disk-pressure"),
        (("PIDPressure", "True"), "pid-pressure"),
        (("NetworkUnavailable", "True"), "network-unavailable"),
    ],
)
async def test_a_condition_is_a_taint(
    shared: Shared, condition: tuple[str, str], key: str | None
) -> None:
    effects = ["NoSchedule", "NoExecute"] if condition[0] == "Ready" else ["NoSchedule"]
    expected = [(f"node.kubernetes.io/{key}", effect) for effect in effects] if key else []
    assert await taints(shared, {}, condition) == expected


async def test_other_taints_stay(shared: Shared) -> None:
    spec = {"unschedulable": True, "taints": [FOREIGN, OTHER_EFFECT]}
    assert await taints(shared, spec, ("Ready", "True")) == [
        ("gpu", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoExecute"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]


async def test_a_taint_goes_with_its_reason(shared: Shared) -> None:
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert await taints(shared, {"taints": [cordoned, FOREIGN]}) == [("gpu", "NoSchedule")]
