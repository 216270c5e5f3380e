"""Corners in which a budget must neither open nor stay shut, with real controllers."""

import asyncio
import functools
import os
import signal
from contextlib import suppress

import pytest

from devcluster.components import CONTROLLER_MANAGER
from intact.kube.client import PatchType
from intact.kube.errors import AlreadyExists
from intact.kube.resources import PUBS, untyped
from tests.cluster.pub.test_counting import (
    DAEMON_SETS,
    REPLICA_SETS,
    owned_by,
    selecting,
    stateful,
    targeting,
    workload,
)
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    UNREADY,
    NamespaceUnderTest,
    available_in,
    eventually,
)
from tests.support.objects import CRDS, DEPLOYMENTS, PODS, STATEFUL_SETS, Json, definition, pod
from tests.support.pub_cases import budget

JOBS = untyped("batch", "v1", "jobs", "Job")
PLANS = untyped("budgets.intact.dev", "v1", "plans", "Plan")
"""A kind without a scale."""
GADGETS = untyped("budgets.intact.dev", "v1", "gadgets", "Gadget")
"""Another one, whose spec has other types."""
FLEETS = untyped("budgets.intact.dev", "v1", "fleets", "Fleet", namespaced=False)
SQUADS = untyped("budgets.intact.dev", "v1", "squads", "Squad", namespaced=False)
"""Kinds without a namespace; the second has a scale."""
TOTAL = "pub.kruise.io/protect-total-replicas"
OPERATIONS = "kruise.io/pub-protect-operations"
POLICY = "intact.dev/unhealthy-policy"
FAIL = "devcluster.intact.dev/fail"


def sharded(need: int) -> Json:
    return {"groupLabelKey": "shard", "minReadyReplicas": need}


async def annotate(ns: NamespaceUnderTest, **annotations: str) -> None:
    change = {"metadata": {"annotations": annotations}}
    await ns.client.patch(PUBS, change, "budget", ns.name)


async def shown(ns: NamespaceUnderTest) -> dict[str, str]:
    """The conditions of the budget that are True, with their messages."""
    return {
        each.type: each.message for each in (await ns.status()).conditions if each.status == "True"
    }


async def test_an_edit_of_annotations_is_counted_before_another_pod_goes(
    ns: NamespaceUnderTest,
) -> None:
    await ns.pods(*"abcd", labels={"app": "web"})
    spec = selecting(maxUnavailable="50%")
    await ns.budget(spec, annotations={TOTAL: "4"}, unavailable_allowed=2)
    await annotate(ns, **{TOTAL: "8"})
    answers = await asyncio.gather(*(ns.delete(name) for name in "abcd"))
    assert [answer.code for answer in answers] == [429] * 4
    await ns.counted(total_replicas=8, desired_available=4, unavailable_allowed=0)
    await annotate(ns, **{OPERATIONS: "EVICT"})
    await ns.counted(unavailable_allowed=0)
    await annotate(ns, **{OPERATIONS: "EVICT,DELETE"})
    answers = await asyncio.gather(*(ns.delete(name) for name in "abcd"))
    assert [answer.code for answer in answers] == [429] * 4


async def test_a_need_that_no_group_can_reach_holds_pods_one_by_one(
    ns: NamespaceUnderTest,
) -> None:
    for shard in "xyz":
        body = workload(shard, 2, tier="llm", shard=shard)
        # No successor comes while the test looks.
        body["spec"]["template"]["metadata"]["annotations"][TERMINATION_DELAY] = "20s"
        await ns.create(STATEFUL_SETS, stateful(body))
    await ns.running(6)
    spec = {"selector": {"matchLabels": {"tier": "llm"}}, "maxUnavailable": 1}
    policy = {"podGroupPolicy": sharded(8)}
    answer = await ns.ask("POST", PUBS.path(ns.name), budget(spec | policy))
    assert any("8" in text and "2 pods" in text for text in answer.warnings), answer
    await ns.counted(
        total_replicas=6, current_available=6, desired_available=5, unavailable_allowed=1
    )
    conditions = await shown(ns)
    assert "minReadyReplicas is 8" in conditions["MinReadyReplicasUnreachable"]
    assert "one by one" in conditions["Working"]
    events = await ns.events("PodUnavailableBudget", "budget", "MinReadyReplicasUnreachable")
    assert [one["type"] for one in events] == ["Warning"]
    code, said = await ns.kubectl("delete", "pod", "--all", "--wait=false")
    assert (code, said.count("TooManyRequests")) == (1, 5)
    await ns.counted(total_replicas=6, current_available=5, unavailable_allowed=0)
    # A need that the groups reach: they count, and the one that has lost a pod is down.
    change = {"spec": {"podGroupPolicy": sharded(2)}}
    answer = await ns.ask("PATCH", PUBS.path(ns.name, "budget"), change, content=PatchType.MERGE)
    assert (answer.code, answer.warnings) == (200, ())
    await ns.counted(total_replicas=3, current_available=2, unavailable_allowed=0)
    assert "MinReadyReplicasUnreachable" not in await shown(ns)


async def test_a_total_that_no_scale_states_does_not_shrink_with_what_was_admitted(
    ns: NamespaceUnderTest,
) -> None:
    with suppress(AlreadyExists):
        await ns.client.create(CRDS, definition(PLANS))

    async def make_plan() -> Json:
        body = {"apiVersion": PLANS.api_version, "kind": PLANS.kind, "metadata": {"name": "plan"}}
        return await ns.create(PLANS, body)  # type: ignore[no-any-return]

    plan = await eventually(make_plan, bool, "the kind to be served")
    owned = owned_by(plan, PLANS.api_version, PLANS.kind)
    for number in range(4):
        await ns.create(PODS, pod(f"plan-{number}", node="node-0", labels={"app": "plan"}, **owned))
        await ns.create(PODS, pod(f"bare-{number}", node="node-0", labels={"app": "bare"}))
    agents = workload("agent", 0)
    del agents["spec"]["replicas"]
    await ns.create(DAEMON_SETS, agents)
    batch = workload("batch", 0)
    template = batch["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    job = {"parallelism": 3, "completions": 6, "template": template}
    await ns.create(JOBS, {"metadata": {"name": "batch"}, "spec": job})
    pods = await ns.running(4 + 4 + 3 + 3)
    await ns.budget(selecting("plan", maxUnavailable=1), "plan", unavailable_allowed=1)
    await ns.budget(selecting("bare", minAvailable="50%"), "bare", unavailable_allowed=2)
    agent = targeting(DAEMON_SETS, "agent", maxUnavailable="34%")
    await ns.budget(agent, "agent", total_replicas=3, unavailable_allowed=2)
    await ns.budget(selecting("batch", maxUnavailable=1), "batch", unavailable_allowed=1)

    first = {"plan": 1, "bare": 2, "agent": 2, "batch": 1}
    for name, number in first.items():
        mine = [one for one in pods if one.startswith(f"{name}-")]
        gone, kept = mine[:number], mine[number:]
        for one in gone:
            assert (await ns.delete(one)).code == 200
        await ns.counted(name, total_replicas=len(mine), unavailable_allowed=0, disrupted_pods={})
        for one in kept:
            assert (await ns.delete(one)).code == 429, one
    # Once they are gone for good, too: nobody makes them again.
    await ns.until("them to be gone", lambda left: not {"plan-0", "bare-0", "bare-1"} & set(left))
    for name, total in (("plan", 4), ("bare", 4)):
        await ns.counted(name, total_replicas=total, unavailable_allowed=0)
    assert (await ns.delete("plan-1")).code == 429
    denied = await ns.delete("bare-2")
    assert denied.code == 429
    assert "It waits for successors of pods that are gone; without any, it" in denied.message
    # A successor frees the place.
    await ns.pods("plan-new", labels={"app": "plan"}, **owned)
    await ns.counted("plan", total_replicas=4, unavailable_allowed=1)
    # The other two have controllers that make new pods.
    await ns.counted("agent", current_available=3, unavailable_allowed=2)
    await ns.counted("batch", current_available=3, unavailable_allowed=1)
    # A Job that wants no pods any more lets them go.
    await ns.client.patch(JOBS, {"spec": {"suspend": True}}, "batch", ns.name)
    await ns.until(
        "the pods of the Job to go",
        lambda left: not any(one.startswith("batch-") for one in left),
    )


async def test_pods_that_their_owner_leaves_behind_are_held(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    """`kubectl delete --cascade=orphan`, as for a field of a StatefulSet that cannot change."""
    body = stateful(workload("llm", 4))
    await ns.create(STATEFUL_SETS, body)
    names = await ns.running(4)
    await ns.budget(selecting("llm", maxUnavailable=1), total_replicas=4, unavailable_allowed=1)
    garbage_collector = intact_cluster.cluster.pid(CONTROLLER_MANAGER)
    os.kill(garbage_collector, signal.SIGSTOP)
    try:
        path, orphan = STATEFUL_SETS.path(ns.name, "llm"), {"propagationPolicy": "Orphan"}
        assert (await ns.ask("DELETE", path, orphan)).code == 200
        # A change that is counted after the deletion.
        await annotate(ns, **{POLICY: "IfHealthyBudget"})
        await eventually(ns.status, lambda status: bool(status.ledger.rules), "the recount")
        await eventually(lambda: ns.delete(names[0]), lambda found: found.code == 200, "one to go")
        answers = [await ns.delete(name) for name in names[1:]]
        assert [answer.code for answer in answers] == [429, 429, 429]
    finally:
        os.kill(garbage_collector, signal.SIGCONT)
    await ns.until(
        "the pods to be left behind",
        lambda pods: (
            names[0] not in pods
            and not any(one["metadata"].get("ownerReferences") for one in pods.values())
        ),
    )
    await eventually(ns.status, lambda status: "" in status.ledger.kept, "them to be counted so")


async def test_pods_of_owners_without_a_namespace_are_not_stuck(
    ns: NamespaceUnderTest,
) -> None:
    """Beside a budget that names a workload, for which the whole chain of owners matters."""
    for resource, scale in ((FLEETS, False), (SQUADS, True)):
        with suppress(AlreadyExists):
            body = definition(resource, scale=scale)
            body["spec"]["scope"] = "Cluster"
            await ns.client.create(CRDS, body)
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": {"replicas": 4}}
        body["metadata"] = {"name": ns.name}
        owner = await eventually(
            functools.partial(ns.client.create, resource, body), bool, "the kind to be served"
        )
        owned, name = owned_by(owner, resource.api_version, resource.kind), resource.kind.lower()
        for number in range(4):
            named = pod(f"{name}-{number}", node="node-0", labels={"app": name}, **owned)
            await ns.create(PODS, named)
    await ns.running(8)
    await ns.budget(selecting("fleet", maxUnavailable="25%"), "fleet", unavailable_allowed=1)
    target = {"apiVersion": SQUADS.api_version, "kind": SQUADS.kind, "name": ns.name}
    await ns.budget({"targetRef": target, "maxUnavailable": 1}, "squad", unavailable_allowed=1)
    for name in ("fleet", "squad"):
        answers = [await ns.evict(f"{name}-0"), await ns.delete(f"{name}-1")]
        assert [answer.code for answer in answers] == [201, 429], answers
    # A scale-in counts at once, and the end of an owner releases its pods.
    await ns.client.patch(SQUADS, {"spec": {"replicas": 2}}, ns.name)
    await ns.counted("squad", total_replicas=2, unavailable_allowed=2)
    for resource in (FLEETS, SQUADS):
        await ns.client.delete(resource, ns.name)
    await ns.until("the garbage collector to delete all pods", lambda left: not left)


async def test_what_a_scale_no_longer_wants_is_released_in_groups(ns: NamespaceUnderTest) -> None:
    body = stateful(workload("llm", 6))
    body["spec"]["template"]["metadata"]["annotations"][TERMINATION_DELAY] = "500ms"
    await ns.create(STATEFUL_SETS, body)
    for number, name in enumerate(await ns.running(6)):
        await ns.change(name, {"metadata": {"labels": {"shard": f"s{number // 2}"}}})
    spec = selecting("llm", maxUnavailable=0, podGroupPolicy=sharded(2))
    await ns.budget(spec, total_replicas=3, current_available=3, unavailable_allowed=0)
    code, said = await ns.kubectl("scale", "statefulset", "llm", "--replicas=4")
    assert code == 0, said
    await ns.until("four pods", lambda pods: len(pods) == 4, within=20)
    await ns.counted(total_replicas=2, current_available=2, unavailable_allowed=0)
    assert (await ns.delete("llm-3")).code == 429
    # The same while another group is broken, under a budget that this has spent.
    await ns.client.patch(PUBS, {"spec": {"maxUnavailable": 1}}, "budget", ns.name)
    await ns.annotate("llm-0", {UNREADY: "true"})
    await ns.counted(total_replicas=2, current_available=1, unavailable_allowed=0)
    code, said = await ns.kubectl("scale", "statefulset", "llm", "--replicas=2")
    assert code == 0, said
    await ns.until("two pods", lambda pods: set(pods) == {"llm-0", "llm-1"}, within=20)


async def test_a_budget_may_hold_the_pods_of_broken_groups(ns: NamespaceUnderTest) -> None:
    for shard in "wxyz":
        await ns.pods(f"{shard}-0", f"{shard}-1", labels={"app": "web", "shard": shard})
    spec = selecting(maxUnavailable=2, podGroupPolicy=sharded(2))
    refused = await ns.ask("POST", PUBS.path(ns.name), budget(spec, annotations={POLICY: "Maybe"}))
    assert refused.code == 422
    assert POLICY in refused.message
    await ns.budget(spec, annotations={POLICY: "IfHealthyBudget"}, unavailable_allowed=2)
    # The budget lets w go. Its other pod is free, whatever becomes of the others.
    assert (await ns.delete("w-0")).code == 200
    for shard in "xy":
        await ns.annotate(f"{shard}-0", {UNREADY: "true"})
    await ns.counted(total_replicas=4, current_available=1, desired_available=2)
    assert (await ns.delete("w-1")).code == 200
    for name in ("x-1", "y-0"):
        for answer in (await ns.delete(name), await ns.evict(name)):
            assert answer.code == 429
            assert f"{POLICY}: IfHealthyBudget" in answer.message

    # A change in place may be what mends the pod. A recount just then makes the gate ask to retry.
    async def mend() -> int:
        return (await ns.set_image("x-0", "registry.example/main:2")).code

    await eventually(mend, lambda code: code == 200, "the pod to be mended", within=10)
    await annotate(ns, **{POLICY: "AlwaysAllow"})
    await eventually(ns.status, lambda now: not now.ledger.rules, "the policy to be counted")
    assert (await ns.delete("x-1")).code == 200
    assert (await ns.delete("z-0")).code == 429


async def test_pods_that_a_scale_wants_again_are_not_free(ns: NamespaceUnderTest) -> None:
    body = stateful(workload("llm", 4))
    body["spec"]["podManagementPolicy"] = "OrderedReady"  # it scales in one pod after the other
    body["spec"]["template"]["metadata"]["annotations"][TERMINATION_DELAY] = "20s"
    await ns.create(STATEFUL_SETS, body)
    await ns.running(4)
    await ns.budget(selecting("llm", maxUnavailable=1), total_replicas=4, unavailable_allowed=1)

    async def scale(replicas: int) -> None:
        await ns.client.patch(STATEFUL_SETS, {"spec": {"replicas": replicas}}, "llm", ns.name)

    await scale(0)
    await eventually(ns.status, lambda status: bool(status.ledger.released), "the recount")
    await scale(4)
    answers = await asyncio.gather(*(ns.delete(f"llm-{number}") for number in range(3)))
    # One may go if the recount was faster; without it all of them were free.
    codes = [answer.code for answer in answers]
    assert codes.count(200) <= 1 < codes.count(429), answers
    await ns.counted(total_replicas=4, desired_available=3)


@pytest.mark.parametrize("by_target", [False, True], ids=["selector", "targetRef"])
async def test_a_replica_set_that_is_deleted_does_not_release_pods_of_its_deployment(
    ns: NamespaceUnderTest, by_target: bool
) -> None:
    body = workload("web", 4)
    probe = {"initialDelaySeconds": 4, "tcpSocket": {"port": 1}}
    body["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe
    await ns.create(DEPLOYMENTS, body)
    names = await ns.running(4)
    spec = targeting(DEPLOYMENTS, "web") if by_target else selecting("web")
    await ns.budget(spec | {"maxUnavailable": 1}, total_replicas=4, unavailable_allowed=1)
    [replica_set] = (await ns.client.list(REPLICA_SETS, ns.name)).items
    async with ns.watched() as watched:
        code, said = await ns.kubectl("delete", "replicaset", replica_set["metadata"]["name"])
        assert code == 0, said
        await ns.until("the pods to be replaced", lambda pods: not set(names) & set(pods))
    assert min(len(available_in(state)) for state in watched.states) == 3


async def test_an_index_that_has_failed_for_good_is_not_expected(ns: NamespaceUnderTest) -> None:
    body = workload("batch", 0)
    template = body["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    job = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template}
    job |= {"backoffLimitPerIndex": 0}
    await ns.create(JOBS, {"metadata": {"name": "batch"}, "spec": job})
    names = await ns.running(4)
    await ns.budget(selecting("batch", maxUnavailable=1), total_replicas=4, unavailable_allowed=1)
    await ns.annotate(names[0], {FAIL: "true"})
    await ns.counted(total_replicas=3, current_available=3, unavailable_allowed=1)
    answers = [await ns.delete(name) for name in names[1:]]
    assert [answer.code for answer in answers] == [200, 429, 429], answers


async def test_an_owner_whose_spec_has_another_shape_does_not_block_its_pods(
    ns: NamespaceUnderTest,
) -> None:
    with suppress(AlreadyExists):
        await ns.client.create(CRDS, definition(GADGETS))
    body: Json = {"apiVersion": GADGETS.api_version, "kind": GADGETS.kind}
    body |= {"metadata": {"name": "gadget"}, "spec": {"replicas": "three", "template": "small"}}
    gadget = await eventually(
        functools.partial(ns.create, GADGETS, body), bool, "the kind to be served"
    )
    owned = owned_by(gadget, GADGETS.api_version, GADGETS.kind)
    await ns.pods(*"abcd", labels={"app": "gadget"}, **owned)
    spec = targeting(GADGETS, "gadget", maxUnavailable=1)
    await ns.budget(spec, total_replicas=4, unavailable_allowed=1)
    answers = [await ns.delete(name) for name in "abcd"]
    assert [answer.code for answer in answers] == [200, 429, 429, 429], answers
