"""A node that must be empty lets its pods go over a budget when its time has come: with kubectl,
with the rights of the manifests, and with a NodeClaim as Karpenter keeps it."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from intact.kube.errors import NotFound
from intact.kube.resources import untyped
from intact.model.times import timestamp
from tests.support.batch_nodes import nodes, remove_nodes
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import EVENTS, NamespaceUnderTest, eventually
from tests.support.objects import CRDS, NODES, Json

WEB = {"app": "web"}
NONE: Json = {"selector": {"matchLabels": WEB}, "maxUnavailable": 0}
OURS = "intact.dev/drain-deadline"
KARPENTERS = "karpenter.sh/nodeclaim-termination-timestamp"
CLAIMS = untyped("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)


@pytest.fixture
def intact_cluster(cluster_with_account: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_account


@pytest.fixture
def node(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[str]:
    """A node for this test alone."""
    runner.run(nodes(ns, 8))
    yield f"{ns.name[-6:]}-0"
    runner.run(remove_nodes(ns))


def after(seconds: float) -> str:
    return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


async def annotate(ns: NamespaceUnderTest, node: str, **annotations: str) -> None:
    await ns.client.patch(NODES, {"metadata": {"annotations": annotations}}, node)


async def protected(ns: NamespaceUnderTest, node: str, **annotations: str) -> None:
    """Three pods on the node, none of which may go."""
    await ns.pods("a", "b", "c", node=node, labels=WEB | {"test": ns.name})
    await ns.budget(NONE, annotations=annotations, total_replicas=3)


async def told_of_node(ns: NamespaceUnderTest, node: str, reason: str) -> list[Json]:
    async def look() -> list[Json]:
        fields = f"involvedObject.kind=Node,involvedObject.name={node},reason={reason}"
        return list((await ns.client.list(EVENTS, "default", fields=fields)).items)

    return await eventually(look, bool, f"an event {reason} of the node")


async def test_a_drain_waits_for_the_deadline_and_ends(ns: NamespaceUnderTest, node: str) -> None:
    await protected(ns, node)
    at = after(12)
    await annotate(ns, node, **{OURS: at})
    async with ns.drain(node, "--timeout=60s") as drain:
        await drain.says(f"Its node {node} must be empty by {at}")
        assert await drain.ended() == 0
    assert datetime.now(UTC) >= datetime.fromisoformat(at)
    for name in ("a", "b", "c"):
        await ns.events("Pod", name, "NodeDeadlinePassed")
    await ns.events("PodUnavailableBudget", "budget", "NodeDeadlinePassed")
    await told_of_node(ns, node, "NodeDeadlinePassed")


async def test_what_holds_a_node_is_seen_at_the_node(ns: NamespaceUnderTest, node: str) -> None:
    await protected(ns, node)
    assert (await ns.evict("a")).code == 429
    assert (await ns.evict("b")).code == 429
    [event] = await told_of_node(ns, node, "DisruptionDenied")
    assert f"EVICT of pod {ns.name}/" in event["message"]

    async def described() -> str:
        return (await ns.kubectl("describe", "node", node))[1]

    await eventually(described, lambda said: "DisruptionDenied" in said, "kubectl to show it")


async def test_a_plain_deletion_is_no_news_for_the_node(ns: NamespaceUnderTest, node: str) -> None:
    await protected(ns, node)
    assert (await ns.delete("a")).code == 429
    assert (await ns.evict("b")).code == 429
    [event] = await told_of_node(ns, node, "DisruptionDenied")
    assert event["message"].startswith("EVICT of")
    assert event["count"] == 1


async def test_a_node_claim_has_the_deadline(ns: NamespaceUnderTest, node: str) -> None:
    await install_claims(ns)
    claim: Json = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "spec": {}}
    claim["metadata"] = {"name": node, "annotations": {KARPENTERS: after(8)}}
    made = await ns.client.create(CLAIMS, claim)
    owner: Json = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": node}
    owner |= {"uid": made["metadata"]["uid"], "blockOwnerDeletion": True}
    await ns.client.patch(NODES, {"metadata": {"ownerReferences": [owner]}}, node)
    await protected(ns, node)
    denied = await ns.delete("a", gracePeriodSeconds=1)
    assert denied.code == 429
    assert "then it may go in any case" in denied.message
    await eventually(
        lambda: ns.delete("a", gracePeriodSeconds=1), lambda one: one.code == 200, "a to go"
    )
    await ns.client.delete(CLAIMS, node)


async def install_claims(ns: NamespaceUnderTest) -> None:
    names = {"plural": "nodeclaims", "singular": "nodeclaim", "kind": "NodeClaim"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": schema}}
    spec = {"group": "karpenter.sh", "scope": "Cluster", "names": names, "versions": [version]}
    body = {"metadata": {"name": "nodeclaims.karpenter.sh"}, "spec": spec}
    await ns.client.create(CRDS, body)

    async def served() -> bool:
        try:
            await ns.client.list(CLAIMS)
        except NotFound:
            return False
        return True

    await eventually(served, bool, "NodeClaims to be served")


async def test_a_deadline_that_is_taken_back_lets_nothing_go(
    ns: NamespaceUnderTest, node: str
) -> None:
    """Although Intact has read it a moment before it would have come."""
    await protected(ns, node)
    at = after(3)
    await annotate(ns, node, **{OURS: at})
    assert f"must be empty by {at}" in (await ns.evict("a")).message
    assert (await ns.kubectl("annotate", "node", node, f"{OURS}-"))[0] == 0
    await asyncio.sleep(3)
    assert [(await ns.evict("a")).code, (await ns.delete("b")).code] == [429, 429]


async def test_a_budget_ignores_deadlines(ns: NamespaceUnderTest, node: str) -> None:
    await protected(ns, node, **{"intact.dev/node-deadlines": "Ignore"})
    await annotate(ns, node, **{OURS: after(-60)})
    answer = await ns.delete("a")
    assert answer.code == 429
    assert "which this budget ignores" in answer.message


async def test_a_bad_deadline_is_named(ns: NamespaceUnderTest, node: str) -> None:
    await protected(ns, node)
    await annotate(ns, node, **{OURS: "tomorrow"})
    answer = await ns.evict("a")
    assert answer.code == 429
    assert f"{OURS} of the node {node} is 'tomorrow', not a time" in answer.message


async def test_a_bad_setting_is_refused(ns: NamespaceUnderTest) -> None:
    body = {
        "apiVersion": "policy.kruise.io/v1alpha1",
        "kind": "PodUnavailableBudget",
        "metadata": {"name": "b", "annotations": {"intact.dev/node-deadlines": "ignore"}},
        "spec": NONE,
    }
    code, said = await ns.kubectl("create", "-f", "-", stdin=body)
    assert code != 0
    assert "metadata.annotations[intact.dev/node-deadlines]" in said
    assert "'ignore' is not one of Respect, Ignore" in said
