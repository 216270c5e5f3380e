"""Budgets in groups together with dry runs, preconditions, a PodUnavailableBudget on the same pods,
other writers of the status, and values that bypassed validation."""

import asyncio

import msgspec
import pytest

from intact.kube.client import PatchType
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest
from tests.support.objects import PDBS, PODS
from tests.support.pdb_groups import Groups, condition


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_of_an_eviction_spends_no_group(
    ns: NamespaceUnderTest, groups: Groups, where: str
) -> None:
    before = await groups.protected_red_and_blue()
    asked = {"dry_run": "All"} if where == "query" else {"dryRun": ["All"]}
    for name in ("red-0", "blue-0"):
        assert (await ns.evict(name, **asked)).code == 201
    after = await groups.stored()
    assert after.metadata.resource_version == before.metadata.resource_version
    await groups.edit(spec={"minAvailable": 2})
    await groups.counted(allowed=0, healthy=2)
    denied = await ns.evict("red-0", **asked)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))


async def test_a_dry_run_of_a_drain_spends_no_group(ns: NamespaceUnderTest, groups: Groups) -> None:
    before = await groups.protected_red_and_blue()
    async with ns.drain("node-0", "--dry-run=server") as drain:
        assert await drain.ended() == 0, drain.said
    assert len(await ns.on_node("node-0")) == 4
    assert (await groups.stored()).metadata.resource_version == before.metadata.resource_version


async def test_an_eviction_refused_by_a_precondition_costs_its_group_for_a_while(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.protected_red_and_blue()
    path = PODS.path(ns.name, "red-0", "eviction")
    for verb in ("GET", "PATCH"):
        assert (await ns.ask(verb, path, {}, {}, PatchType.MERGE)).code == 405
    other = await ns.evict("red-0", preconditions={"uid": "another"})
    assert other.code == 409
    # The server spends a group before it checks the precondition. Intact gives it back later.
    await groups.counted(allowed=0, healthy=1)
    body = {
        "apiVersion": "policy/v1beta1",
        "kind": "Eviction",
        "metadata": {"name": "red-0", "namespace": ns.name},
    }
    assert (await ns.ask("POST", path, body)).code == 201
    assert (await ns.evict("blue-0")).code == 429


async def test_repeated_evictions_of_one_pod_cost_one_group(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.red_and_blue()
    await groups.group("green", need=3, pods=3, nodes=("node-2",))
    await groups.budget(minAvailable=1)
    await groups.counted(allowed=2, healthy=3)
    answers = await asyncio.gather(*(ns.evict("red-0") for _ in range(4)))
    assert {answer.code for answer in answers} <= {201, 404, 429}
    await groups.counted(allowed=1, healthy=2)


async def test_a_pod_of_a_native_and_a_pod_unavailable_budget_needs_both(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.red_and_blue()
    await groups.budget(minAvailable=2)
    await groups.counted(allowed=0, healthy=2)
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1}
    # The pods have no owner: without the annotation the total would follow the evicted pod down.
    six = {"pub.kruise.io/protect-total-replicas": "6"}
    await ns.budget(spec, annotations=six, total_replicas=6, unavailable_allowed=1)
    denied = await ns.evict("red-0")
    assert denied.code == 429
    # The unit that the PodUnavailableBudget gave comes back.
    await ns.counted(unavailable_allowed=1, current_available=6)
    await groups.edit(spec={"minAvailable": 1})
    await groups.counted(allowed=1, healthy=2)
    assert (await ns.evict("red-0")).code == 201
    # The second pod of the group is free for the native budget, and too much for the other.
    await ns.counted(unavailable_allowed=0)
    assert (await ns.evict("red-1")).code == 429
    found = await groups.counted(allowed=0, healthy=1)
    assert "red-1" not in found.status.disrupted_pods


async def test_a_refusal_of_the_native_budget_costs_the_other_one_nothing(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """The numbers of the native one alone do not tell: they leave room for the rest of red."""
    await groups.protected_red_and_blue()
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 4}
    await ns.budget(spec, unavailable_allowed=4)
    assert (await ns.evict("red-0")).code == 201
    await groups.counted(allowed=0, healthy=1, disruptions_allowed=2)
    await ns.counted(unavailable_allowed=3, disrupted_pods={})
    for name in ("blue-0", "blue-1", "blue-2"):
        denied = await ns.evict(name)
        assert denied.code == 429
        assert "1 of 2 groups are available" in denied.message
    status = await ns.status()
    assert (status.unavailable_allowed, dict(status.ledger.pods)) == (3, {})
    assert [(await ns.evict(name)).code for name in ("red-1", "red-2")] == [201, 201]


async def test_status_writes_of_other_clients_are_undone(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    before = await groups.protected_red_and_blue()
    forged = {
        "metadata": {"annotations": {"intact.dev/ledger": "{}", "intact.dev/replicas": "{}"}},
        "status": {"disruptionsAllowed": 9, "currentHealthy": 9, "conditions": []},
    }
    await ns.client.patch(
        PDBS, forged, "llm", ns.name, subresource="status", field_manager="someone"
    )
    after = await groups.stored()
    assert after.status == before.status
    assert after.metadata.annotations == before.metadata.annotations
    # The API server takes a time that Go calls zero, and shows it as null.
    zero_time = "0001-01-01T00:00:00Z"
    zero = {"status": {"disruptedPods": {"red-0": zero_time}}}
    await ns.client.patch(PDBS, zero, "llm", ns.name, subresource="status")
    assert (await groups.stored()).status == before.status
    # Its own refusals reach the writer.
    untimed = {"type": "Seen", "status": "True", "reason": "R", "message": ""}
    body = {"status": {"conditions": [untimed | {"lastTransitionTime": zero_time}]}}
    answer = await ns.ask(
        "PATCH", PDBS.path(ns.name, "llm", "status"), body, content=PatchType.MERGE
    )
    assert answer.code == 422
    assert "lastTransitionTime: Required value" in answer.message
    # After a write to the annotation itself Intact counts again, and denies until then.
    await groups.annotate(**{"intact.dev/ledger": None})
    found = await groups.counted(
        allowed=1,
        healthy=2,
        matches=lambda found: "intact.dev/ledger" in found.metadata.annotations,
    )
    assert found.status.disruptions_allowed == 3


async def test_a_bad_annotation_that_bypassed_validation_closes_the_budget(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    await groups.red_and_blue()
    await groups.budget(minAvailable=0)
    await groups.counted(allowed=2, healthy=2)
    # A status write stores metadata too, and is not validated.
    bad = {"metadata": {"annotations": {"intact.dev/expected-replicas": "many"}}}
    await ns.client.patch(PDBS, bad, "llm", ns.name, subresource="status", field_manager="someone")
    found = await groups.counted(allowed=0, healthy=2, disruptions_allowed=0)
    status, reason, message = condition(found, "BudgetConfigured")
    assert (status, reason) == ("False", "InvalidConfig")
    assert "intact.dev/expected-replicas" in message
    assert "'many'" in message
    assert condition(found, "DisruptionAllowed")[1] == "SyncFailed"
    denied = await ns.evict("red-0")
    assert denied.code == 429
    await groups.annotate(**{"intact.dev/expected-replicas": None})
    await groups.counted(allowed=2, healthy=2)
    metrics = intact_cluster.metrics()
    assert metrics["disruption_controller_pdbs_using_pod_grouping"] >= 1
    assert metrics['disruption_controller_reconciliations_total{mode="group"}'] > 1
    assert metrics["disruption_controller_pdb_grouping_misconfig_total"] >= 1
    assert metrics['workqueue_adds_total{name="disruption"}'] > 1


async def test_a_ledger_copied_from_another_budget_is_ignored(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """As after `kubectl get -o yaml` and `kubectl apply`."""
    first = await groups.protected_red_and_blue()
    await ns.client.delete(PDBS, "llm", ns.name)
    await groups.budget(annotations=first.metadata.annotations, minAvailable=2)
    found = await groups.counted(allowed=0, healthy=2)
    assert found.metadata.uid != first.metadata.uid
    text = found.metadata.annotations["intact.dev/ledger"]
    assert msgspec.json.decode(text)["rules"].startswith(found.metadata.uid)
