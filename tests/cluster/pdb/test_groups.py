"""Native PodDisruptionBudgets in groups: the stories and the e2e plan of KEP-5682, on a server
without it, beside all controllers of kube-controller-manager."""

import asyncio
import json
from contextlib import suppress

import pytest

from intact.kube.resources import untyped
from intact.model.pdb import PodDisruptionBudget
from tests.cluster.pub import test_counting as counting
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    UNREADY,
    NamespaceUnderTest,
    Watched,
    eventually,
    groups_down,
)
from tests.support.objects import DEPLOYMENTS, PDBS, PODS, pod
from tests.support.pdb_groups import (
    LABELS,
    NEEDS_POD_GROUPS,
    SCOPE,
    Groups,
    condition,
    replicas,
    spread,
)

QUOTAS = untyped("", "v1", "resourcequotas", "ResourceQuota")


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


async def test_a_drain_takes_one_of_two_groups_as_in_the_e2e_plan_of_the_kep(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    need = await groups.red_and_blue()
    await groups.budget(minAvailable=1)
    found = await groups.counted(allowed=1, healthy=2)
    assert replicas(found) == {
        "disruptionsAllowedReplicas": 1,
        "currentHealthyReplicas": 2,
        "desiredHealthyReplicas": 1,
        "expectedReplicas": 2,
    }
    status = found.status
    assert (status.current_healthy, status.desired_healthy, status.expected_pods) == (6, 3, 6)
    assert status.disruptions_allowed == 3
    assert condition(found, "DisruptionAllowed")[:2] == ("True", "SufficientReplicas")
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")

    async with ns.watched() as watched:
        async with ns.drain("node-0") as drain:
            await drain.says(r"(?s)will retry.*will retry")
            found = await groups.counted(allowed=0, healthy=1)
            assert condition(found, "DisruptionAllowed")[:2] == ("False", "InsufficientReplicas")
            [down] = await seen_down(watched, need)
            # Both pods of the group that is down are gone, and no pod of the other group.
            gone = {f"{down}-0", f"{down}-2"}
            await ns.until(f"{gone} to be gone", gone.isdisjoint)
            assert len(await ns.on_node("node-0")) == 2
            await groups.edit(spec={"minAvailable": 0})
            assert await drain.ended() == 0, drain.said
        assert await ns.on_node("node-0") == []
    assert "cannot go now: 1 of 2 groups are available; the disruption budget llm" in drain.said


async def seen_down(watched: Watched, need: dict[str, int]) -> set[str]:
    """The groups that are down, once the watch of the test shows any: it may be behind."""
    await watched.until(lambda state: bool(groups_down(state, "group", need)))
    return groups_down(watched.states[-1], "group", need)


async def test_story_1_evictions_cost_groups_and_surplus_pods_are_free(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.workload(need=8)
    names = [f"g{number}" for number in range(10)]
    async with asyncio.TaskGroup() as making:
        for name in names:
            making.create_task(groups.group(name, need=8, pods=9 if name == "g0" else 8))
    await groups.budget(minAvailable=9)
    found = await groups.counted(allowed=1, healthy=10, current_healthy=81)
    assert found.status.desired_healthy == 72
    # One surplus pod, and one whole group.
    assert found.status.disruptions_allowed == 1 + 8

    # A surplus pod costs nothing.
    assert (await ns.evict("g0-0")).code == 201
    await groups.counted(allowed=1, healthy=10, disruptions_allowed=8)
    # The next pod costs its group. Then the rest of that group is free.
    assert (await ns.evict("g0-1")).code == 201
    await groups.counted(allowed=0, healthy=9, disruptions_allowed=7)
    assert (await ns.evict("g0-2")).code == 201
    # Every other group must stay.
    denied = await ns.evict("g1-0")
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))
    assert "Pod g1-0 of group 'g1' cannot go now" in denied.message
    has = "9 of 10 groups are available; the disruption budget llm requires 9. It waits for g0"
    assert has in denied.message
    assert (await ns.evict("g0-3")).code == 201


async def test_story_3_pods_without_a_workload_reference_are_not_evicted(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await ns.pods("a", "b", labels=groups.labels)
    await groups.budget(minAvailable=1)
    found = await groups.counted(allowed=0, healthy=0, disruptions_allowed=0)
    assert replicas(found)["expectedReplicas"] == 0
    assert condition(found, "BudgetConfigured") == (
        "False",
        "MissingWorkloadReference",
        "The PDB scope is set to 'Workload', but pods are missing the workload reference: a, b",
    )
    assert condition(found, "DisruptionAllowed")[:2] == ("False", "InsufficientReplicas")
    assert (await ns.evict("a")).code == 429
    # Beside a correct group they stay protected, and the group may go.
    await groups.workload()
    await groups.group("red", need=3, pods=3, nodes=("node-0",))
    await groups.edit(spec={"minAvailable": 0})
    await groups.counted(allowed=1, healthy=1, current_healthy=3, expected_pods=5)
    denied = await ns.evict("b")
    assert denied.code == 429
    assert "Pod b belongs to no group" in denied.message
    assert (await ns.evict("red-0")).code == 201


@NEEDS_POD_GROUPS
async def test_a_group_without_its_pod_group_object_is_not_evicted(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.pods_of("red", spread("red", 2, "node-0"))
    await groups.budget(scope="PodGroup", minAvailable=0)
    found = await groups.counted(allowed=0, disruptions_allowed=0)
    status, reason, message = condition(found, "DisruptionAllowed")
    assert (status, reason) == ("False", "WorkloadResolutionFailed")
    assert message.endswith("red")
    assert (await ns.evict("red-0")).code == 429
    # Once its PodGroup exists, the group counts.
    await groups.pod_group("red", need=2, workload="")
    found = await groups.counted(allowed=1, healthy=1, disruptions_allowed=2)
    assert condition(found, "DisruptionAllowed")[1] == "SufficientReplicas"
    assert (await ns.evict("red-0")).code == 201


async def test_a_drain_takes_one_group_of_a_leader_worker_set(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    need = {}
    for number in range(4):
        name = f"key{number}"
        need[name] = 3
        await groups.lws_pods(name, spread(name, 3, "node-0", "node-1"), size=3)
    await groups.budget(maxUnavailable="25%")
    found = await groups.counted(allowed=1, healthy=4, disruptions_allowed=3)
    assert found.status.desired_healthy == 9
    async with ns.watched() as watched, ns.drain("node-0") as drain:
        await drain.says(r"(?s)(will retry.*){6}")
        await groups.counted(allowed=0, healthy=3)
        [down] = await seen_down(watched, need)
        stay = {f"{name}-{number}" for name in need for number in (0, 2) if name != down}
        # The other pod of the group may have been refused before the first was stored: kubectl
        # retries, and it goes.
        await eventually(
            lambda: ns.on_node("node-0"),
            lambda names: set(names) == stay,
            f"both pods of {down} to go, and no others",
        )


@NEEDS_POD_GROUPS
async def test_several_workloads_are_summed_with_a_warning(groups: Groups) -> None:
    for workload, need in (("one", 1), ("two", 2)):
        await groups.workload(workload, need)
        await groups.group(f"{workload}-a", need=need, pods=need, workload=workload)
    await groups.pod_group("two-b", 2, "two")
    await groups.budget(maxUnavailable=2)
    found = await groups.counted(allowed=1, healthy=2, disruptions_allowed=2)
    # Two PodGroups of one workload, one of them without pods, and one of the other workload.
    assert replicas(found)["expectedReplicas"] == 3
    status, reason, message = condition(found, "BudgetConfigured")
    assert (status, reason) == ("True", "MultipleWorkloadsDetected")
    assert message.endswith("one, two")


async def test_annotations_set_the_group_label_key_the_need_and_the_total(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    for name in ("a", "b"):
        labels = {**groups.labels, "shard": name}
        await ns.pods(*spread(name, 3, "node-0"), labels=labels)
    settings = {
        "intact.dev/group-label-key": "shard",
        "intact.dev/min-ready-replicas": "2",
        "intact.dev/expected-replicas": "4",
    }
    await groups.budget(annotations=settings, maxUnavailable="50%")
    found = await groups.counted(allowed=0, healthy=2, disruptions_allowed=2)
    assert replicas(found)["expectedReplicas"] == 4
    assert replicas(found)["desiredHealthyReplicas"] == 2
    # A change of annotations leaves the generation as it is, and counts at once all the same.
    await groups.annotate(**{"intact.dev/expected-replicas": None})
    await groups.counted(allowed=1, healthy=2, disruptions_allowed=2 + 2)
    await groups.annotate(**{"intact.dev/min-ready-replicas": "3"})
    await groups.counted(allowed=1, healthy=2, disruptions_allowed=3, desired_healthy=3)


@NEEDS_POD_GROUPS
async def test_groups_that_are_not_selected_or_finished_are_not_expected(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    await groups.edit(spec={"minAvailable": None, "maxUnavailable": 1})
    found = await groups.counted(allowed=1, healthy=2)
    assert replicas(found)["expectedReplicas"] == 2
    # A group of the same template whose pods the budget does not select.
    await groups.pod_group("green")
    await groups.counted(allowed=0, healthy=2)
    body = pod("green-0", node="node-2", labels={"app": "other"})
    body["spec"]["schedulingGroup"] = {"podGroupName": "green"}
    await ns.create(PODS, body)
    found = await groups.counted(allowed=1, healthy=2)
    assert replicas(found)["expectedReplicas"] == 2
    # One that has done its work: its PodGroup stays.
    await groups.pod_group("gold", need=1)
    done = {"devcluster.intact.dev/complete-after": "1s"}
    body = pod("gold-0", node="node-2", labels=groups.labels, annotations=done)
    body["spec"] |= {"schedulingGroup": {"podGroupName": "gold"}, "restartPolicy": "Never"}
    await ns.create(PODS, body)
    found = await groups.counted(allowed=1, healthy=2, expected_pods=7)
    assert replicas(found)["expectedReplicas"] == 2
    assert condition(found, "BudgetConfigured")[:2] == ("True", "ValidConfig")


BAD = [
    ({SCOPE: "Groups"}, {}, "metadata.labels[intact.dev/budget-scope]"),
    ({SCOPE: ""}, {}, "metadata.labels[intact.dev/budget-scope]"),
    ({}, {"intact.dev/group-label-key": "a b"}, "intact.dev/group-label-key"),
    ({}, {"intact.dev/min-ready-replicas": "0"}, "intact.dev/min-ready-replicas"),
    ({}, {"intact.dev/expected-replicas": "some"}, "intact.dev/expected-replicas"),
]


async def test_a_deployment_wants_its_group_back_while_it_cannot_make_its_pods(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """It has scaled its old ReplicaSet to 0, and the new one is out of quota."""
    for name in ("red", "blue", "green"):
        body = counting.workload(name, 2, group=name)
        body["spec"]["template"]["metadata"]["labels"] |= LABELS
        body["spec"]["selector"] = {"matchLabels": {"group": name}}
        body["spec"]["strategy"] = {"type": "Recreate"}
        await ns.create(DEPLOYMENTS, body)
    await ns.running(6)
    by_label = {"intact.dev/group-label-key": "group", "intact.dev/min-ready-replicas": "2"}
    await groups.budget(annotations=by_label, maxUnavailable=1)
    await groups.counted(allowed=1, healthy=3)
    quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": "4"}}}
    await ns.create(QUOTAS, quota)
    await eventually(
        lambda: ns.client.get(QUOTAS, "full", ns.name),
        lambda found: found.get("status", {}).get("used", {}).get("pods") == "6",
        "the quota to be counted",
    )
    code, said = await ns.kubectl("rollout", "restart", "deployment", "red")
    assert code == 0, said
    names = list(
        await ns.until(
            "the old pods to be gone",
            lambda pods: not any(name.startswith("red-") for name in pods),
        )
    )
    await groups.counted(allowed=0, healthy=2)
    denied = await ns.evict(next(name for name in names if name.startswith("blue-")))
    assert denied.code == 429
    assert "2 of 3 groups are available" in denied.message
    assert "It waits for red to be ready again" in denied.message
    # Once it can make them, the group is back.
    await ns.client.delete(QUOTAS, "full", ns.name)
    await ns.kubectl("rollout", "restart", "deployment", "red")
    await groups.counted(allowed=1, healthy=3)


@pytest.mark.parametrize(("labels", "annotations", "field"), BAD, ids=lambda each: str(each)[:20])
async def test_bad_labels_and_annotations_are_refused_on_budgets_in_groups_only(
    ns: NamespaceUnderTest,
    groups: Groups,
    labels: dict[str, str],
    annotations: dict[str, str],
    field: str,
) -> None:
    meta = {"name": "llm", "labels": {SCOPE: "Workload"} | labels, "annotations": annotations}
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {"minAvailable": 1, "selector": {}},
    }
    code, said = await ns.kubectl("create", "-f", "-", stdin=body)
    assert code != 0
    assert field in said
    assert next(iter((labels or annotations).values())) in said
    # Without the label the annotations mean nothing and are not validated.
    if annotations:
        body["metadata"] = {"name": "llm", "annotations": annotations}
        code, said = await ns.kubectl("create", "-f", "-", stdin=body)
        assert code == 0, said


async def test_without_the_label_the_stock_controller_counts_the_budget_again(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    assert (await ns.evict("red-0")).code == 201
    found = await groups.counted(allowed=0, healthy=1, current_healthy=5)
    # The number that the budget has for groups ends with the label, not after it: a client that
    # sends the version that it knows is told to read again, a patch is applied once more.
    assert found.status.disruptions_allowed == 2
    version = {"resourceVersion": found.metadata.resource_version}
    late = await groups.edit(metadata={"labels": {SCOPE: None}, **version})
    assert late.code == 409
    await groups.counted(disruptions_allowed=0)
    await groups.edit(metadata={"labels": {"x": "y"}})
    await asyncio.sleep(1)  # no recount puts it back
    assert (await groups.stored()).status.disruptions_allowed == 0
    without = {"metadata": {"labels": {SCOPE: None}}}
    patched = await ns.client.patch(PDBS, without, "llm", ns.name)
    assert patched["status"]["disruptionsAllowed"] == 0

    def is_stock(found: PodDisruptionBudget) -> bool:
        reasons = [each.reason for each in found.status.conditions]
        return reasons == ["SufficientPods"] and not found.metadata.annotations

    found = await eventually(groups.stored, is_stock, "the stock controller's numbers", 25)
    status = found.status
    assert (status.current_healthy, status.desired_healthy, status.expected_pods) == (5, 1, 5)
    assert status.disruptions_allowed == 4
    assert (await ns.evict("blue-0")).code == 201
    # With the label, Intact counts it again.
    await groups.pods_of("red", {"red-0": "node-0"})
    await groups.edit(metadata={"labels": {SCOPE: "PodGroup"}}, spec={"minAvailable": 0})
    await groups.counted(allowed=1, healthy=1, disruptions_allowed=3 + 2)
    # A plain patch, as kubectl label sends it, is stored from 0 as well; so is another scope.
    change = {"metadata": {"labels": {SCOPE: "Pod"}}}
    patched = await ns.client.patch(PDBS, change, "llm", ns.name)
    assert patched["metadata"]["labels"][SCOPE] == "Pod"
    assert patched["status"]["disruptionsAllowed"] == 0


async def test_pods_that_are_not_ready_are_evicted_as_the_policy_says(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.group("red", need=2, pods=2, workload="")
    await groups.budget(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow")
    await groups.counted(allowed=0, healthy=1)
    await ns.annotate("red-0", {UNREADY: "true"})
    await groups.counted(allowed=0, healthy=0, current_healthy=1)
    assert (await ns.evict("red-0")).code == 201
    await ns.annotate("red-1", {UNREADY: "true"})
    await groups.edit(spec={"unhealthyPodEvictionPolicy": "IfHealthyBudget"})
    await groups.counted(allowed=0, healthy=0, current_healthy=0)
    assert (await ns.evict("red-1")).code == 429


async def test_pods_of_broken_groups_stay_while_too_few_groups_are_available(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    names = ("red", "blue", "green")
    for name in names:
        await ns.pods(*spread(name, 4, "node-0"), labels={**groups.labels, "shard": name})
    shards = {"intact.dev/group-label-key": "shard", "intact.dev/min-ready-replicas": "4"}
    await groups.budget(annotations=shards, maxUnavailable=1)
    await groups.counted(allowed=1, healthy=3)

    # One pod of each group fails: no group serves, and nothing may make it worse.
    for name in names:
        await ns.annotate(f"{name}-0", {UNREADY: "true"})
    await groups.counted(allowed=0, healthy=0, disruptions_allowed=0, current_healthy=9)
    answers = {
        f"{name}-{each}": await ns.evict(f"{name}-{each}") for name in names for each in (0, 1)
    }
    assert {answer.code for answer in answers.values()} == {429}
    # They go all the same where the budget says so.
    await groups.edit(spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    await groups.counted(allowed=0, healthy=0, disruptions_allowed=9)
    assert (await ns.evict("red-1")).code == 201
    await groups.edit(spec={"unhealthyPodEvictionPolicy": "IfHealthyBudget"})

    # Two groups serve again: enough, so that the rest of the broken one is free.
    for name in ("blue-0", "green-0"):
        await ns.annotate(name, {UNREADY: None})
    await groups.counted(allowed=0, healthy=2, disruptions_allowed=2)
    assert (await ns.evict("red-2")).code == 201
    # A group that the budget lets go stays free when another one breaks after it.
    await ns.until("red-1 and red-2 to be gone", {"red-1", "red-2"}.isdisjoint)
    await ns.pods("red-1", "red-2", labels={**groups.labels, "shard": "red"})
    await ns.annotate("red-0", {UNREADY: None})
    await groups.counted(allowed=1, healthy=3)
    assert (await ns.evict("red-0")).code == 201
    await ns.annotate("blue-0", {UNREADY: "true"})
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=3)
    # The rest of it often fails, too.
    await ns.annotate("red-3", {UNREADY: "true"})
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=3, current_healthy=4 + 3 + 2)
    denied = await ns.evict("blue-1")
    assert denied.code == 429
    assert "its group is unavailable" in denied.message
    assert "It waits for blue, red to be ready again" in denied.message
    assert (await ns.evict("blue-0")).code == 429
    assert [(await ns.evict(f"red-{each}")).code for each in (1, 2, 3)] == [201, 201, 201]


async def test_the_api_server_refuses_a_pod_of_two_budgets_and_spends_none(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.red_and_blue()
    await groups.budget(maxUnavailable=1)
    await groups.budget(scope=None, name="pods", maxUnavailable=1)
    await groups.counted(allowed=1, healthy=2)
    answer = await ns.evict("red-0")
    assert answer.code == 500
    assert "more than one PodDisruptionBudget" in answer.message
    found = await groups.counted(allowed=1, healthy=2)
    assert found.status.disrupted_pods == {}
    stock = await ns.client.get(PDBS, "pods", ns.name)
    assert "annotations" not in stock["metadata"]


async def test_the_stock_controller_and_ours_do_not_write_against_each_other(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    before = after = await groups.stored()
    # The stock controller writes at every pod event; its writes store nothing.
    for _ in range(5):
        await ns.annotate("red-0", {UNREADY: "true"})
        await groups.counted(allowed=0, healthy=1)
        await ns.annotate("red-0", {UNREADY: None})
        after = await groups.counted(allowed=1, healthy=2)
    assert after.status.disruptions_allowed == before.status.disruptions_allowed == 3
    assert [each.manager for each in after.metadata.managed_fields] == ["intact", "intact-groups"]
    # At rest: a watch of two seconds brings no event.
    version = after.metadata.resource_version
    seen = []
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(2),
            ns.client.watch(PDBS, ns.name, resource_version=version) as events,
        ):
            seen += [event async for event in events]
    assert seen == []


async def test_other_writers_keep_their_conditions_and_cannot_claim_to_be_intact(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    before = await groups.protected_red_and_blue()
    theirs = {
        "type": "Reviewed",
        "status": "True",
        "reason": "ByHand",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = {"status": {"disruptionsAllowed": 6, "conditions": [theirs]}}
    no_label = {"metadata": {"labels": {SCOPE: None}}, **body}
    for manager, patch in (("reviewer", body), ("intact-groups", body), ("reviewer", no_label)):
        code, said = await ns.kubectl(
            "--as=mallory", "--as-group=system:masters", "patch", "pdb", "llm", "--type=merge",
            "--subresource=status", f"--field-manager={manager}", "-p", json.dumps(patch),
        )  # fmt: skip
        assert code == 0, said
        found = await groups.stored()
        assert found.metadata.labels == before.metadata.labels
        assert found.status.disruptions_allowed == 3
        assert found.status.conditions[:2] == before.status.conditions
        assert [each.type for each in found.status.conditions[2:]] == ["Reviewed"]
    # An eviction, recounts and the stock controller keep it as well.
    assert (await ns.evict("red-0")).code == 201
    await ns.until("red-0 to be gone", {"red-0"}.isdisjoint)
    found = await groups.counted(
        allowed=0, healthy=1, current_healthy=5, matches=lambda one: not one.status.disrupted_pods
    )
    assert [each.type for each in found.status.conditions[2:]] == ["Reviewed"]
