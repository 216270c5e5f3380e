"""While no operator runs: only disruptions of pods under a budget are refused."""

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
)
from tests.support.objects import DEPLOYMENTS, PODS, deployment, pod

REFUSED = 'failed calling webhook "{}.intact.dev"'


async def test_pods_without_a_budget_are_changed_and_deleted_while_intact_is_down(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    intact_cluster.stop()
    await ns.create(DEPLOYMENTS, deployment("web", replicas=2))
    await ns.pods("a", "b")
    await ns.running(4)
    assert (await ns.set_image("a", "registry.example/main:2")).code == 200
    marked = {"metadata": {"labels": {"unavailable-pod.kruise.io/x": "y"}}}
    assert (await ns.change("a", marked)).code == 200
    assert (await ns.delete("a")).code == 200
    assert (await ns.evict("b")).code == 201
    code, said = await ns.kubectl("scale", "deployment", "web", "--replicas=1")
    assert code == 0, said
    await ns.running(1)


async def test_only_disruptions_of_protected_pods_are_refused_while_intact_is_down(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    labels = {"app": "web", "test": ns.name}
    await ns.pods("a", "b", labels=labels)
    await ns.pods("going", labels=labels, annotations={TERMINATION_DELAY: "10m"})
    await ns.pods("done", labels=labels)
    await ns.annotate("done", {"devcluster.intact.dev/fail": "true"})
    await ns.until("a failed pod", lambda pods: pods["done"]["status"]["phase"] == "Failed")
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": "100%"}
    await ns.budget(spec, total_replicas=3, unavailable_allowed=3)
    assert (await ns.delete("going")).code == 200
    intact_cluster.stop()

    for answer, webhook in (
        (await ns.delete("a"), "pods.gate"),
        (await ns.delete("a", gracePeriodSeconds=0), "pods.gate"),
        (await ns.evict("a"), "evictions.pin"),
        (await ns.set_image("a", "registry.example/main:2"), "pods.gate"),
    ):
        assert answer.code == 500
        assert REFUSED.format(webhook) in answer.message
    async with ns.drain("node-0") as drain:
        assert await drain.ended() == 1
    assert REFUSED.format("evictions.pin") in drain.said
    assert (await ns.get("a"))["metadata"].get("deletionTimestamp") is None

    # The last delete of the kubelet, and requests that cannot disrupt anything.
    assert (await ns.delete("going", gracePeriodSeconds=0)).code == 200
    assert (await ns.delete("done")).code == 200
    assert (await ns.annotate("b", {UNREADY: "true"})).code == 200
    await ns.create(PODS, pod("new", node="node-0", labels=labels))
    await ns.ready("new")

    intact_cluster.restore()
    await ns.counted(total_replicas=3, current_available=2)
    assert (await ns.delete("a")).code == 200
