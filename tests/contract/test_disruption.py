"""PodDisruptionBudgets are counted, and evictions spend them."""

import pytest

from intact.kube.errors import TooManyRequests
from tests.contract.clusters import ClusterBackend
from tests.support.objects import (
    DEPLOYMENTS,
    PDBS,
    PODS,
    SLOW_PROBE,
    STATEFUL_SETS,
    Json,
    deployment,
    stateful_set,
)

UNREADY = "devcluster.intact.dev/unready"


def budget(**amount: int | str) -> Json:
    return {
        "metadata": {"name": "b"},
        "spec": {"selector": {"matchLabels": {"app": "w"}}, **amount},
    }


def counts(allowed: int, current: int, desired: int, expected: int) -> dict[str, int]:
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }


async def test_ready_pods_are_counted_against_what_their_controller_wants(
    cluster_backend: ClusterBackend,
) -> None:
    await cluster_backend.create(DEPLOYMENTS, deployment("w", 4))
    await cluster_backend.create(PDBS, budget(maxUnavailable="25%"))
    found = await cluster_backend.until_status(PDBS, "b", **counts(1, 4, 3, 4))
    [condition] = found["status"]["conditions"]
    told = condition["type"], condition["status"], condition["reason"]
    assert told == ("DisruptionAllowed", "True", "SufficientPods")
    assert not found["metadata"].get("annotations")
    name = (await cluster_backend.pods())[0]["metadata"]["name"]
    await cluster_backend.patch(PODS, name, {"metadata": {"annotations": {UNREADY: "true"}}})
    found = await cluster_backend.until_status(PDBS, "b", **counts(0, 3, 3, 4))
    assert found["status"]["conditions"][0]["reason"] == "InsufficientPods"


async def test_an_eviction_spends_the_budget_until_the_pod_is_back(
    cluster_backend: ClusterBackend,
) -> None:
    body = stateful_set("w", 3)
    body["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = SLOW_PROBE
    await cluster_backend.create(STATEFUL_SETS, body)
    await cluster_backend.create(PDBS, budget(minAvailable=2))
    await cluster_backend.until_status(PDBS, "b", **counts(1, 3, 2, 3))
    old = (await cluster_backend.get(PODS, "w-1"))["metadata"]["uid"]
    await cluster_backend.client.evict(PODS, "w-1", cluster_backend.namespace)
    with pytest.raises(TooManyRequests, match="disruption budget"):
        await cluster_backend.client.evict(PODS, "w-2", cluster_backend.namespace)
    found = await cluster_backend.until_status(PDBS, "b", **counts(1, 3, 2, 3))
    assert not found["status"].get("disruptedPods")
    assert (await cluster_backend.get(PODS, "w-1"))["metadata"]["uid"] != old
