"""Which pods a budget counts, and its total, with real controllers."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from intact.kube.errors import AlreadyExists, NotFound
from intact.kube.resources import PUBS, Resource, untyped
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
    eventually,
    is_available,
)
from tests.support.objects import (
    CRDS,
    DEPLOYMENTS,
    NAMESPACES,
    STATEFUL_SETS,
    Json,
    definition,
    deployment,
)

REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")
REPLICATION_CONTROLLERS = untyped("", "v1", "replicationcontrollers", "ReplicationController")
DAEMON_SETS = untyped("apps", "v1", "daemonsets", "DaemonSet")
ROLLOUTS = untyped("budgets.intact.dev", "v1", "rollouts", "Rollout")
LEADER_WORKER_SETS = untyped(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
GROUP_KEY = "leaderworkerset.sigs.k8s.io/group-key"


def selecting(name: str = "web", **amounts: object) -> Json:
    return {"selector": {"matchLabels": {"app": name}}} | amounts


def targeting(resource: Resource[Any], name: str, **more: object) -> Json:
    target = {"apiVersion": resource.api_version, "kind": resource.kind, "name": name}
    return {"targetRef": target} | more


def template(**labels: str) -> Json:
    # Pods take a while to terminate, so that their successors do not come at once.
    return {
        "metadata": {"labels": labels, "annotations": {TERMINATION_DELAY: "2s"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
    }


def workload(name: str, replicas: int, **labels: str) -> Json:
    """A Deployment or ReplicaSet."""
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(app=name, **labels),
        },
    }


def stateful(body: Json) -> Json:
    """The same as a StatefulSet."""
    more = {"serviceName": body["metadata"]["name"], "podManagementPolicy": "Parallel"}
    return body | {"spec": body["spec"] | more}


def owned_by(owner: Json, api_version: str, kind: str) -> Json:
    meta = owner["metadata"]
    reference = {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {"ownerReferences": [reference | {"controller": True}]}


async def scalable(ns: NamespaceUnderTest, resource: Resource[Any]) -> None:
    """Define a kind that has replicas and a scale, unless it is defined."""
    with suppress(AlreadyExists):
        await ns.client.create(CRDS, definition(resource, scale=True))

    async def look() -> bytes:
        return await ns.client.raw(resource.path(ns.name), {"limit": "1"})

    await eventually(look, bool, f"{resource.full_name} to be served")


async def test_a_budget_by_selector_counts_by_the_scale_of_a_deployment(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    await ns.running(3)
    await ns.budget(selecting(maxUnavailable="30%"), total_replicas=3, unavailable_allowed=1)
    await ns.kubectl("scale", "deployment", "web", "--replicas=4")
    await ns.counted(total_replicas=4, desired_available=2, unavailable_allowed=2)


@pytest.mark.parametrize(
    "resource",
    [DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, REPLICATION_CONTROLLERS],
    ids=lambda r: r.kind,
)
async def test_a_budget_by_target_counts_the_pods_of_its_workload_only(
    ns: NamespaceUnderTest, resource: Resource[Any]
) -> None:
    body = workload("web", 3)
    if resource is REPLICATION_CONTROLLERS:
        body["spec"]["selector"] = {"app": "web"}
    await ns.create(resource, stateful(body) if resource is STATEFUL_SETS else body)
    await ns.pods("stranger", labels={"tier": "web"})
    first, second, *_ = [name for name in await ns.running(4) if name != "stranger"]
    spec = targeting(resource, "web", maxUnavailable=1)
    await ns.budget(spec, total_replicas=3, current_available=3, unavailable_allowed=1)
    assert (await ns.delete(first)).code == 200
    assert (await ns.delete(second)).code == 429
    assert (await ns.delete("stranger")).code == 200
    await ns.counted(total_replicas=3, current_available=3, unavailable_allowed=1)


async def test_a_budget_by_target_counts_by_a_custom_owner_of_a_replica_set(
    ns: NamespaceUnderTest,
) -> None:
    await scalable(ns, ROLLOUTS)
    rollout = await ns.create(
        ROLLOUTS,
        {
            "apiVersion": ROLLOUTS.api_version,
            "kind": ROLLOUTS.kind,
            "metadata": {"name": "web"},
            "spec": {"replicas": 4},
        },
    )
    body = workload("web-1", 3)
    body["metadata"] |= owned_by(rollout, ROLLOUTS.api_version, ROLLOUTS.kind)
    await ns.create(REPLICA_SETS, body)
    first, second, _ = await ns.running(3)
    spec = targeting(ROLLOUTS, "web", maxUnavailable=2)
    await ns.budget(spec, total_replicas=4, current_available=3, unavailable_allowed=1)
    assert (await ns.delete(first)).code == 200
    assert (await ns.delete(second)).code == 429


@pytest.mark.parametrize("by_name", [False, True], ids=["selected", "named"])
async def test_a_budget_in_groups_counts_by_the_scale_of_a_leader_worker_set(
    ns: NamespaceUnderTest, by_name: bool
) -> None:
    """As its controller creates it: a StatefulSet of leaders, and for each leader a StatefulSet of
    workers, owned by the leader's pod."""
    await scalable(ns, LEADER_WORKER_SETS)
    kind = LEADER_WORKER_SETS.kind
    lws = await ns.create(
        LEADER_WORKER_SETS,
        {
            "apiVersion": LEADER_WORKER_SETS.api_version,
            "kind": kind,
            "metadata": {"name": "llm"},
            "spec": {"replicas": 3},
        },
    )
    leaders = stateful(workload("llm", 2, tier="llm"))
    leaders["metadata"] |= owned_by(lws, LEADER_WORKER_SETS.api_version, kind)
    await ns.create(STATEFUL_SETS, leaders)
    for name in await ns.running(2):
        leader = await ns.get(name)
        await ns.change(name, {"metadata": {"labels": {GROUP_KEY: name}}})
        workers = stateful(workload(f"{name}-w", 2, tier="llm", **{GROUP_KEY: name}))
        workers["metadata"] |= owned_by(leader, "v1", "Pod")
        await ns.create(STATEFUL_SETS, workers)
    await ns.running(6)
    policy = {"groupLabelKey": GROUP_KEY, "minReadyReplicas": 3}
    spec: Json = {"selector": {"matchLabels": {"tier": "llm"}}}
    if by_name:
        spec = targeting(LEADER_WORKER_SETS, "llm")
    spec |= {"maxUnavailable": 1, "podGroupPolicy": policy}
    # One group of three is missing: no other may go.
    await ns.budget(spec, total_replicas=3, current_available=2, unavailable_allowed=0)
    answer = await ns.delete("llm-0-w-1")
    assert answer.code == 429
    assert "2 of 3 groups are available; the budget budget requires 2" in answer.message
    await ns.client.patch(LEADER_WORKER_SETS, {"spec": {"replicas": 2}}, "llm", ns.name)
    await ns.counted(total_replicas=2, current_available=2, unavailable_allowed=1)
    assert (await ns.delete("llm-0-w-1")).code == 200
    assert (await ns.delete("llm-1")).code == 429
    assert (await ns.delete("llm-0-w-0")).code == 200


async def test_a_total_by_annotation_overrides_the_scale(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=2))
    await ns.running(2)
    await ns.budget(
        selecting(maxUnavailable="50%"),
        annotations={"pub.kruise.io/protect-total-replicas": "4"},
        total_replicas=4,
        desired_available=2,
        unavailable_allowed=0,
    )


async def test_a_total_by_annotation_is_in_groups_where_groups_count(
    ns: NamespaceUnderTest,
) -> None:
    for group in "xyz":
        await ns.pods(f"{group}-0", f"{group}-1", labels={"app": "web", "shard": group})
    policy = {"groupLabelKey": "shard", "minReadyReplicas": 2}
    await ns.budget(
        selecting(maxUnavailable="25%", podGroupPolicy=policy),
        annotations={"pub.kruise.io/protect-total-replicas": "4"},
        total_replicas=4,
        desired_available=3,
        unavailable_allowed=0,
    )
    assert (await ns.delete("x-0")).code == 429
    total = "pub.kruise.io/protect-total-replicas=3"
    code, said = await ns.kubectl("annotate", "--overwrite", "pub", "budget", total)
    assert code == 0, said
    await ns.counted(total_replicas=3, desired_available=2, unavailable_allowed=1)
    assert (await ns.delete("x-0")).code == 200
    assert (await ns.delete("y-0")).code == 429
    assert (await ns.delete("x-1")).code == 200


async def test_a_budget_protects_pods_that_were_there_before_it(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", labels={"app": "web"})
    await ns.budget(selecting(maxUnavailable=0), total_replicas=1)
    assert (await ns.delete("a")).code == 429


async def test_a_new_budget_protects_the_pods_of_a_deleted_one(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", "c", labels={"app": "web"})
    await ns.budget(selecting(maxUnavailable=0), "one", total_replicas=3)
    assert (await ns.delete("a")).code == 429
    await ns.client.delete(PUBS, "one", ns.name)

    async def delete() -> int:
        return (await ns.delete("a")).code

    await eventually(delete, lambda code: code == 200, "the pod to be free")
    await ns.budget(selecting(maxUnavailable=0), "two")
    assert (await ns.delete("b")).code == 429


async def test_a_group_whose_pods_are_gone_counts_as_unavailable(ns: NamespaceUnderTest) -> None:
    for name in ("x", "y"):
        body = stateful(workload(name, 2, tier="llm", shard=name))
        body["spec"]["updateStrategy"] = {"type": "OnDelete"}
        await ns.create(STATEFUL_SETS, body)
    await ns.running(4)
    # The next pods of x stay unready until the test releases them.
    held = {"spec": {"template": {"metadata": {"annotations": {UNREADY: "true"}}}}}
    await ns.client.patch(STATEFUL_SETS, held, "x", ns.name)

    async def status() -> Json:
        found: Json = await ns.client.get(STATEFUL_SETS, "x", ns.name)
        return dict(found["status"])

    await eventually(
        status,
        lambda one: (
            one["observedGeneration"] == 2 and one["updateRevision"] != one["currentRevision"]
        ),
        "the controller to observe the change",
    )
    old = {name: (await ns.get(name))["metadata"]["uid"] for name in ("x-0", "x-1")}
    spec = {
        "selector": {"matchLabels": {"tier": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": "shard", "minReadyReplicas": 2},
    }
    await ns.budget(spec, total_replicas=2, current_available=2, unavailable_allowed=1)
    for name in ("x-0", "x-1"):
        assert (await ns.delete(name)).code == 200
    await ns.counted(total_replicas=2, current_available=1, disrupted_pods={})
    assert (await ns.delete("y-0")).code == 429
    await ns.until(
        "x to be back, held",
        lambda pods: all(
            name in pods and pods[name]["metadata"]["uid"] != uid for name, uid in old.items()
        ),
    )
    for name in old:
        await ns.annotate(name, {UNREADY: None})
    await ns.counted(total_replicas=2, current_available=2, unavailable_allowed=1)


async def test_pods_without_the_group_label_are_units_of_their_own(
    ns: NamespaceUnderTest,
) -> None:
    await ns.pods("x-0", "x-1", labels={"app": "web", "shard": "x"})
    await ns.pods("lone", labels={"app": "web"})
    policy = {"groupLabelKey": "shard", "minReadyReplicas": 2}
    spec = selecting(minAvailable=1, podGroupPolicy=policy)
    found = await ns.budget(spec, total_replicas=2, current_available=2, unavailable_allowed=1)
    conditions = {each.type: each.message for each in found.status.conditions}
    assert "lone" in conditions["GroupLabelsMissing"]
    assert (await ns.delete("lone")).code == 200
    assert (await ns.delete("x-0")).code == 429


async def test_scaling_to_zero_releases_the_pods(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    await ns.running(3)
    await ns.budget(selecting(minAvailable=3), total_replicas=3)
    code, said = await ns.kubectl("scale", "deployment", "web", "--replicas=0")
    assert code == 0, said
    await ns.until("no pods", lambda pods: not pods)


async def test_a_deleted_workload_releases_its_pods(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    await ns.running(3)
    spec = targeting(DEPLOYMENTS, "web", minAvailable=3)
    await ns.budget(spec, total_replicas=3)
    code, said = await ns.kubectl("delete", "deployment", "web")
    assert code == 0, said
    await ns.until("no pods", lambda pods: not pods)


async def test_a_namespace_with_a_spent_budget_can_be_deleted(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    await ns.pods("bare", labels={"app": "web"})
    await ns.running(4)
    await ns.budget(selecting(maxUnavailable=0), total_replicas=4)
    await ns.client.delete(NAMESPACES, ns.name)
    # The namespace controller takes long if many namespaces terminate at once.
    async with asyncio.timeout(300):
        while True:
            try:
                await ns.client.get(NAMESPACES, ns.name)
            except NotFound:
                break
            await asyncio.sleep(0.1)


async def test_a_pod_that_becomes_unready_closes_the_budget(ns: NamespaceUnderTest) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    first, second, _ = await ns.running(3)
    await ns.budget(selecting(maxUnavailable=1), total_replicas=3, unavailable_allowed=1)
    await ns.annotate(first, {UNREADY: "true"})
    await ns.until("an unready pod", lambda pods: not is_available(pods[first]))
    await ns.counted(current_available=2, unavailable_allowed=0)
    assert (await ns.delete(second)).code == 429
    await ns.annotate(first, {UNREADY: None})
    await ns.counted(current_available=3, unavailable_allowed=1)
