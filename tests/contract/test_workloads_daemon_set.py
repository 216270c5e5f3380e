"""DaemonSets have a pod on each node that they select and tolerate."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.contract.clusters import ClusterBackend
from tests.contract.test_workloads import fail, images, names, new_image, slow, uids
from tests.contract.test_workloads_deployment import extremes
from tests.support.objects import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, Json, daemon_set


def here(body: Json) -> Json:
    """On the nodes that have kubelets."""
    body["spec"]["template"]["spec"]["nodeSelector"] = {"type": "kwok"}
    return body


def placed(pods: list[Json]) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in pods)


async def up(backend: ClusterBackend, body: Json) -> Json:
    await backend.create(DAEMON_SETS, here(body))
    return await settled(backend, len(backend.nodes))


async def settled(backend: ClusterBackend, count: int) -> Json:
    return await backend.until_status(
        DAEMON_SETS,
        "w",
        desiredNumberScheduled=count,
        currentNumberScheduled=count,
        updatedNumberScheduled=count,
        numberAvailable=count,
        numberMisscheduled=0,
    )


@asynccontextmanager
async def changed(
    backend: ClusterBackend, node: str, change: Json, back: Json
) -> AsyncGenerator[None, None]:
    """A node that is otherwise for a while: other tests use it, too."""
    await backend.client.patch(NODES, change, node)
    try:
        yield
    finally:
        await backend.client.patch(NODES, back, node)


async def test_each_node_has_a_pod_that_is_pinned_to_it(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    found = await up(backend, daemon_set("w"))
    pods = await backend.pods()
    assert placed(pods) == sorted(backend.nodes)
    (revision,) = await backend.all(CONTROLLER_REVISIONS)
    suffix = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"w-{suffix}"
    for pod in pods:
        assert pod["metadata"]["labels"]["controller-revision-hash"] == suffix
        assert pod["metadata"]["name"].startswith("w-")
        fields = {
            "key": "metadata.name",
            "operator": "In",
            "values": [pod["spec"]["nodeName"]],
        }
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        assert affinity["requiredDuringSchedulingIgnoredDuringExecution"] == {
            "nodeSelectorTerms": [{"matchFields": [fields]}]
        }
        assert [(each["key"], each["effect"]) for each in pod["spec"]["tolerations"]] == [
            ("node.kubernetes.io/not-ready", "NoExecute"),
            ("node.kubernetes.io/unreachable", "NoExecute"),
            ("node.kubernetes.io/disk-pressure", "NoSchedule"),
            ("node.kubernetes.io/memory-pressure", "NoSchedule"),
            ("node.kubernetes.io/pid-pressure", "NoSchedule"),
            ("node.kubernetes.io/unschedulable", "NoSchedule"),
        ]
    count = len(backend.nodes)
    assert found["status"] == {
        "observedGeneration": 1,
        "currentNumberScheduled": count,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": count,
        "numberReady": count,
        "updatedNumberScheduled": count,
        "numberAvailable": count,
    }


async def test_a_cordon_does_not_count_and_a_pod_comes_back(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    node = backend.nodes[0]
    cordon = {"spec": {"unschedulable": True}}
    async with changed(backend, node, cordon, {"spec": {"unschedulable": None}}):
        await up(backend, daemon_set("w"))
        (pod,) = [pod for pod in await backend.pods() if pod["spec"]["nodeName"] == node]
        await backend.client.delete(PODS, pod["metadata"]["name"], backend.namespace)
        await backend.until(backend.pods, lambda seen: pod["metadata"]["name"] not in names(seen))
        await settled(backend, len(backend.nodes))
        assert placed(await backend.pods()) == sorted(backend.nodes)


async def test_taints_and_labels_decide_where_pods_are(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    first, second = backend.nodes[:2]
    key = backend.namespace[:40].strip("-")
    body = here(daemon_set("w"))
    selector = body["spec"]["template"]["spec"]["nodeSelector"]
    selector[key] = "yes"
    taint = {"key": key, "effect": "NoSchedule"}
    labelled = {"metadata": {"labels": {key: "yes"}}}
    bare = {"metadata": {"labels": {key: None}}}
    async with (
        changed(backend, first, labelled, bare),
        changed(backend, second, {**labelled, "spec": {"taints": [taint]}}, bare),
        changed(backend, second, {}, {"spec": {"taints": None}}),
    ):
        await backend.create(DAEMON_SETS, body)
        await settled(backend, 1)
        assert placed(await backend.pods()) == [first]
        await backend.client.patch(NODES, {"spec": {"taints": None}}, second)
        await settled(backend, 2)
        # A pod that is there stays, and counts as misplaced when the set is looked at again.
        await backend.client.patch(NODES, {"spec": {"taints": [taint]}}, second)
        await backend.patch(DAEMON_SETS, "w", {"spec": {"minReadySeconds": 1}})
        found = await backend.until_status(
            DAEMON_SETS, "w", desiredNumberScheduled=1, numberMisscheduled=1
        )
        assert found["status"]["currentNumberScheduled"] == 1
        assert len(await backend.pods()) == 2
        # Where the label is gone, the pod goes.
        await backend.client.patch(NODES, bare, first)
        await backend.until(backend.pods, lambda seen: placed(seen) == [second])
    await backend.until(backend.pods, lambda seen: not seen)


async def test_an_update_takes_as_many_pods_as_may_be_unavailable(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await up(backend, daemon_set("w"))
    before = await backend.pods()
    async with backend.recorded() as events:
        await backend.patch(DAEMON_SETS, "w", slow(new_image()))
        await settled(backend, len(before))
        most, fewest = extremes(before, events)
    assert (most, fewest) == (len(before), len(before) - 1)
    after = await backend.pods()
    assert images(after) == ["2"] * len(before)
    assert not uids(before).items() & uids(after).items()


async def test_a_surge_brings_new_pods_before_old_ones_go(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    limits = {"maxSurge": 1, "maxUnavailable": 0}
    strategy: dict[str, Any] = {"type": "RollingUpdate", "rollingUpdate": limits}
    await up(backend, daemon_set("w", updateStrategy=strategy))
    before = await backend.pods()
    async with backend.recorded() as events:
        await backend.patch(DAEMON_SETS, "w", slow(new_image()))
        await settled(backend, len(before))
        most, fewest = extremes(before, events)
    assert (most, fewest) == (len(before) + 1, len(before))
    after = await backend.until(backend.pods, lambda seen: len(seen) == len(before))
    assert images(after) == ["2"] * len(before)


async def test_on_delete_an_update_waits_for_each_deletion(
    cluster_backend: ClusterBackend,
) -> None:
    backend = cluster_backend
    await up(backend, daemon_set("w", updateStrategy={"type": "OnDelete"}))
    count = len(backend.nodes)
    await backend.patch(DAEMON_SETS, "w", new_image())
    await backend.until_status(DAEMON_SETS, "w", updatedNumberScheduled=0, numberReady=count)
    name = names(await backend.pods())[0]
    await backend.client.delete(PODS, name, backend.namespace)
    await backend.until_status(DAEMON_SETS, "w", updatedNumberScheduled=1, numberReady=count)
    assert sorted(images(await backend.pods())) == ["1"] * (count - 1) + ["2"]


async def test_a_failed_pod_is_replaced(cluster_backend: ClusterBackend) -> None:
    backend = cluster_backend
    await up(backend, daemon_set("w"))
    name = names(await backend.pods())[0]
    await fail(backend, name)
    await backend.until(backend.pods, lambda seen: name not in names(seen))
    await settled(backend, len(backend.nodes))
