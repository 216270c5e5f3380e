"""With no replica of Intact running: in the way only of what a budget protects."""

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact, shared_house
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
    open_space,
)
from tests.support.objects import DEPLOYMENTS, PODS, deployment, pod

house = pytest.fixture(scope="module")(shared_house)
space = pytest.fixture(open_space)
REFUSED = 'failed calling webhook "{}.gate.intact.dev"'


async def test_without_a_budget_nothing_is_different(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    house.stop()
    await space.create(DEPLOYMENTS, deployment("web", replicas=2))
    await space.pods("a", "b")
    await space.running(4)
    assert (await space.set_image("a", "registry.example/main:2")).code == 200
    marked = {"metadata": {"labels": {"unavailable-pod.kruise.io/x": "y"}}}
    assert (await space.change("a", marked)).code == 200
    assert (await space.delete("a")).code == 200
    assert (await space.evict("b")).code == 201
    code, said = await space.kubectl("scale", "deployment", "web", "--replicas=1")
    assert code == 0, said
    await space.running(1)


async def test_under_a_budget_pods_are_held_and_all_else_goes_on(
    house: ClusterWithIntact, space: NamespaceUnderTest
) -> None:
    labels = {"app": "web", "space": space.namespace}
    await space.pods("a", "b", labels=labels)
    await space.pods("going", labels=labels, annotations={TERMINATION_DELAY: "10m"})
    await space.pods("done", labels=labels)
    await space.annotate("done", {"devcluster.intact.dev/fail": "true"})
    await space.until("a failed pod", lambda pods: pods["done"]["status"]["phase"] == "Failed")
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": "100%"}
    await space.budget(spec, total_replicas=3, unavailable_allowed=3)
    assert (await space.delete("going")).code == 200
    house.stop()

    for answer, webhook in (
        (await space.delete("a"), "pods"),
        (await space.delete("a", gracePeriodSeconds=0), "pods"),
        (await space.evict("a"), "evictions"),
        (await space.set_image("a", "registry.example/main:2"), "pods"),
    ):
        assert answer.code == 500
        assert REFUSED.format(webhook) in answer.message
    async with space.drain("node-0") as drain:
        assert await drain.ended() == 1
    assert REFUSED.format("evictions") in drain.said
    assert (await space.get("a"))["metadata"].get("deletionTimestamp") is None

    # What the kubelet does at the end of a pod, and what cannot disrupt anything.
    assert (await space.delete("going", gracePeriodSeconds=0)).code == 200
    assert (await space.delete("done")).code == 200
    assert (await space.annotate("b", {UNREADY: "true"})).code == 200
    await space.create(PODS, pod("new", node="node-0", labels=labels))
    await space.ready("new")

    house.restore()
    await space.counted(total_replicas=3, current_available=2)
    assert (await space.delete("a")).code == 200
