"""How long a pod stays on a node with NoExecute taints."""

import asyncio
from typing import Any

import pytest

from intact.kube.errors import NotFound
from intact.sandbox import run
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.node_lifecycle.taint_eviction import stays
from tests.support.objects import NODES, PODS
from tests.support.scheduling import a_pod

Json = dict[str, Any]
TAINT = {"key": "k", "value": "", "effect": "NoExecute"}
OTHER = {"key": "o", "value": "", "effect": "NoExecute"}


def tolerating(key: str, seconds: int | None = None) -> Json:
    found: Json = {"key": key, "operator": "Exists"}
    return found if seconds is None else {**found, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        ([TAINT], [], 0),
        ([TAINT], [tolerating("k")], None),
        ([TAINT], [tolerating("k", 60)], 60),
        ([TAINT], [tolerating("k", -1)], 0),
        ([TAINT], [tolerating("k", 60), tolerating("k")], 60),
        ([TAINT, OTHER], [tolerating("k", 60)], 0),
        ([TAINT, OTHER], [tolerating("k", 60), tolerating("o", 30)], 30),
    ],
)
def test_how_long_a_pod_stays(
    taints: list[Json], tolerations: list[Json], seconds: float | None
) -> None:
    assert stays(taints, tolerations) == seconds


def test_pods_leave_in_their_time_and_stay_if_the_taint_goes() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running():
            await sandbox.add_node("x")
            client = sandbox.client()
            kinds = {"now": [], "later": [tolerating("k", 60)], "never": [tolerating("k")]}
            for name, tolerations in kinds.items():
                pod = a_pod(name, namespace="default", tolerations=tolerations)
                await client.create(PODS, pod, "default")
            await asyncio.sleep(1)

            async def there() -> list[str]:
                found = (await client.list(PODS, "default")).items
                return [each["metadata"]["name"] for each in found]

            await client.patch(NODES, {"spec": {"taints": [TAINT]}}, "x")
            await asyncio.sleep(59)
            assert await there() == ["later", "never"]
            await client.patch(NODES, {"spec": {"taints": None}}, "x")
            await asyncio.sleep(10)
            await client.patch(NODES, {"spec": {"taints": [TAINT]}}, "x")
            await asyncio.sleep(59)
            assert await there() == ["later", "never"]
            await asyncio.sleep(2)
            assert await there() == ["never"]
            with pytest.raises(NotFound):
                await client.get(PODS, "later", "default")

    run(main(), seed=1)
