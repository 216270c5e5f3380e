"""Budgets in groups beside what else there is: dry runs, preconditions, a PodUnavailableBudget on
the same pods, people who write statuses, values that slipped in."""

import asyncio

import msgspec
import pytest

from intact.kube.client import PatchType
from tests.cluster.test_pdb_groups import on_node, spread, two_pod_groups
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, open_space
from tests.support.objects import PDBS, PODS
from tests.support.pdb_groups import Groups, condition, group_house, open_groups

house = pytest.fixture(scope="module")(group_house)
space = pytest.fixture(open_space)
groups = pytest.fixture(open_groups)


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_spends_nothing(
    space: NamespaceUnderTest, groups: Groups, where: str
) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=1)
    before = await groups.counted(allowed=1, healthy=2)
    asked = {"dry_run": "All"} if where == "query" else {"dryRun": ["All"]}
    for name in ("red-0", "blue-0"):
        assert (await space.evict(name, **asked)).code == 201
    after = await groups.stored()
    assert after.metadata.resource_version == before.metadata.resource_version
    await groups.edit(spec={"minAvailable": 2})
    await groups.counted(allowed=0, healthy=2)
    denied = await space.evict("red-0", **asked)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))


async def test_a_drain_that_is_a_dry_run(space: NamespaceUnderTest, groups: Groups) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=1)
    before = await groups.counted(allowed=1, healthy=2)
    async with space.drain("node-0", "--dry-run=server") as drain:
        assert await drain.ended() == 0, drain.said
    assert len(await on_node(space, "node-0")) == 4
    assert (await groups.stored()).metadata.resource_version == before.metadata.resource_version


async def test_bodies_and_preconditions_of_the_eviction_api(
    space: NamespaceUnderTest, groups: Groups
) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=1)
    await groups.counted(allowed=1, healthy=2)
    path = PODS.path(space.namespace, "red-0", "eviction")
    for verb in ("GET", "PATCH"):
        assert (await space._ask(verb, path, {}, {}, PatchType.MERGE)).code == 405
    other = await space.evict("red-0", preconditions={"uid": "another"})
    assert other.code == 409
    # The server takes one before it looks at the precondition: until the pod is seen to stay.
    await groups.counted(allowed=0, healthy=1)
    body = {
        "apiVersion": "policy/v1beta1",
        "kind": "Eviction",
        "metadata": {"name": "red-0", "namespace": space.namespace},
    }
    assert (await space._ask("POST", path, body)).code == 201
    assert (await space.evict("blue-0")).code == 429


async def test_the_same_pod_twice_costs_once(space: NamespaceUnderTest, groups: Groups) -> None:
    await two_pod_groups(groups)
    await groups.pod_group("green", 3)
    await groups.pods_of("green", spread("green", 3, "node-2"))
    await groups.budget(minAvailable=1)
    await groups.counted(allowed=2, healthy=3)
    answers = await asyncio.gather(*(space.evict("red-0") for _ in range(4)))
    assert {answer.code for answer in answers} <= {201, 404, 429}
    await groups.counted(allowed=1, healthy=2)


async def test_beside_a_pod_unavailable_budget_both_hold(
    space: NamespaceUnderTest, groups: Groups
) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=2)
    await groups.counted(allowed=0, healthy=2)
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1}
    await space.budget(spec, total_replicas=6, unavailable_allowed=1)
    denied = await space.evict("red-0")
    assert denied.code == 429
    # What the one has given for it comes back by itself.
    await space.counted(unavailable_allowed=1, current_available=6)
    await groups.edit(spec={"minAvailable": 1})
    await groups.counted(allowed=1, healthy=2)
    assert (await space.evict("red-0")).code == 201
    # The second pod of the group is free for the one, and too much for the other.
    await space.counted(unavailable_allowed=0)
    assert (await space.evict("red-1")).code == 429
    found = await groups.counted(allowed=0, healthy=1)
    assert "red-1" not in found.status.disrupted_pods


async def test_other_writers_of_the_status_change_nothing(
    space: NamespaceUnderTest, groups: Groups
) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=1)
    before = await groups.counted(allowed=1, healthy=2)
    forged = {
        "metadata": {"annotations": {"intact.dev/ledger": "{}", "intact.dev/replicas": "{}"}},
        "status": {"disruptionsAllowed": 9, "currentHealthy": 9, "conditions": []},
    }
    await space.client.patch(
        PDBS, forged, "llm", space.namespace, subresource="status", field_manager="somebody"
    )
    after = await groups.stored()
    assert after.status == before.status
    assert after.metadata.annotations == before.metadata.annotations
    # What is written past the status is counted again, and denies until then.
    await groups.annotate(**{"intact.dev/ledger": None})
    found = await groups.counted(
        allowed=1,
        healthy=2,
        matches=lambda found: "intact.dev/ledger" in found.metadata.annotations,
    )
    assert found.status.disruptions_allowed == 3


async def test_a_bad_value_that_slipped_in_closes_the_budget(
    house: ClusterWithIntact, space: NamespaceUnderTest, groups: Groups
) -> None:
    await two_pod_groups(groups)
    await groups.budget(minAvailable=0)
    await groups.counted(allowed=2, healthy=2)
    # The status is stored with the metadata, and nobody validates that.
    bad = {"metadata": {"annotations": {"intact.dev/expected-replicas": "many"}}}
    await space.client.patch(
        PDBS, bad, "llm", space.namespace, subresource="status", field_manager="somebody"
    )
    found = await groups.counted(allowed=0, healthy=2, disruptions_allowed=0)
    status, reason, message = condition(found, "BudgetConfigured")
    assert (status, reason) == ("False", "InvalidConfig")
    assert "intact.dev/expected-replicas" in message
    assert "'many'" in message
    assert condition(found, "DisruptionAllowed")[1] == "SyncFailed"
    denied = await space.evict("red-0")
    assert denied.code == 429
    await groups.annotate(**{"intact.dev/expected-replicas": None})
    await groups.counted(allowed=2, healthy=2)
    metrics = house.metrics()
    assert metrics["disruption_controller_pdbs_using_pod_grouping"] >= 1
    assert metrics['disruption_controller_reconciliations_total{mode="group"}'] > 1
    assert metrics["disruption_controller_pdb_grouping_misconfig_total"] >= 1
    assert metrics['workqueue_adds_total{name="disruption"}'] > 1


async def test_a_ledger_is_of_its_own_budget_only(
    space: NamespaceUnderTest, groups: Groups
) -> None:
    """As `kubectl get -o yaml` and `apply` would make it."""
    await two_pod_groups(groups)
    await groups.budget(minAvailable=1)
    first = await groups.counted(allowed=1, healthy=2)
    await space.client.delete(PDBS, "llm", space.namespace)
    await groups.budget(annotations=first.metadata.annotations, minAvailable=2)
    found = await groups.counted(allowed=0, healthy=2)
    assert found.metadata.uid != first.metadata.uid
    text = found.metadata.annotations["intact.dev/ledger"]
    assert msgspec.json.decode(text)["rules"].startswith(found.metadata.uid)
