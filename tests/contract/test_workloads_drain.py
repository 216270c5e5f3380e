"""Pods that a drain evicts come back elsewhere, within their budget."""

import asyncio

import pytest

from intact.kube.errors import TooManyRequests
from intact.kube.resources import Resource
from tests.contract.clusters import ClusterBackend
from tests.contract.test_workloads import names, slow, uids
from tests.contract.test_workloads_deployment import extremes
from tests.support.objects import (
    DEPLOYMENTS,
    NODES,
    PDBS,
    PODS,
    STATEFUL_SETS,
    Json,
    deployment,
    stateful_set,
)


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        (DEPLOYMENTS, deployment("w", 6)),
        (STATEFUL_SETS, stateful_set("w", 6, podManagementPolicy="Parallel")),
    ],
    ids=["Deployment", "StatefulSet"],
)
async def test_a_drained_node_is_left_one_pod_after_the_other(
    cluster_backend: ClusterBackend, resource: Resource[Json], body: Json
) -> None:
    backend = cluster_backend
    node = backend.nodes[0]
    budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": _selector()}}
    await backend.create(PDBS, budget)
    await backend.create(resource, slow(body))
    await backend.until_status(resource, "w", readyReplicas=6)
    await backend.until_status(PDBS, "b", disruptionsAllowed=1, expectedPods=6)
    before = await backend.pods()
    leaving = [pod for pod in before if pod["spec"]["nodeName"] == node]
    assert leaving
    gone = uids(leaving).items()
    await backend.client.patch(NODES, {"spec": {"unschedulable": True}}, node)
    try:
        async with backend.recorded() as events:
            for pod in leaving:
                await evict(backend, pod["metadata"]["name"])
            await backend.until(
                backend.pods, lambda seen: len(seen) == 6 and not gone & uids(seen).items()
            )
            await backend.until_status(resource, "w", readyReplicas=6)
            after = await backend.pods()
            most, fewest = extremes(before, events)
    finally:
        await backend.client.patch(NODES, {"spec": {"unschedulable": None}}, node)
    assert (most, fewest) == (6, 5)
    assert node not in [pod["spec"]["nodeName"] for pod in after]
    assert uids(before).items() - uids(after).items() == set(gone)
    if resource is STATEFUL_SETS:
        assert names(after) == names(before)


def _selector() -> Json:
    return {"matchLabels": {"app": "w"}}


async def evict(backend: ClusterBackend, name: str) -> None:
    """Again and again, as a drain does."""
    while True:
        try:
            await backend.client.evict(PODS, name, backend.namespace)
        except TooManyRequests:
            await asyncio.sleep(0.1)
        else:
            return
