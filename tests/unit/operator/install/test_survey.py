"""What `intact uninstall` says before it removes anything."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.resources import LEASES, PUBS, RBGS
from intact.operator.install.groups import Fate
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from intact.operator.install.survey import own_definitions, survey
from intact.operator.webhook.certificates import SECRET, SECRETS
from intact.rollout.names import GROUP, HELD
from tests.support.objects import CONFIGMAPS, PDBS, PODS, pod
from tests.support.pub_cases import amount, budget
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import GROUPS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.install.cluster import create_all, new_api
from tests.unit.operator.install.test_running import lease, renew

HOME = "intact-system"


async def installed() -> Client:
    client = Client(new_api())
    await create_all(client, manifests(Settings(image="intact:1"), namespace=HOME))
    await client.create(SECRETS, {"metadata": {"name": SECRET}}, "default")
    return client


async def a_group(client: Client) -> None:
    made = await client.create(GROUPS, group("llm", role("prefill", 1)), "default")
    owner = {"apiVersion": GROUPS.api_version, "kind": "RoleBasedGroup", "name": "llm"}
    references = [owner | {"uid": made["metadata"]["uid"]}]
    meta = {"name": "llm", "labels": {GROUP: "llm"}, "ownerReferences": references}
    await client.create(CONFIGMAPS, {"metadata": meta}, "default")
    await client.create(PODS, pod("llm-0", labels={GROUP: "llm"}, finalizers=[HELD]), "default")


@simulated
async def test_without_the_crds_all_objects_of_users_stay() -> None:
    client = await installed()
    await a_group(client)
    meta = {"name": "llm", "labels": {"intact.dev/budget-scope": "Workload"}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1}
    await client.create(PDBS, {"metadata": meta, "spec": spec}, "default")
    found = await survey(client, HOME, outside="default", crds=False)
    assert not found.refusal
    assert f"Deployment {HOME}/intact" in found.goes
    assert f"Secret default/{SECRET}" in found.goes
    assert f"finalizer {HELD} of pod default/llm-0" in found.goes
    assert not any("RoleBasedGroup" in line for line in found.goes)
    assert f"namespace {HOME}" in found.stays
    assert "PodDisruptionBudget default/llm, which then counts pods" in found.stays
    crd = f"CustomResourceDefinition {RBGS.full_name} with all its objects"
    assert crd in found.stays


@pytest.mark.parametrize("fate", Fate)
@simulated
async def test_with_the_crds_every_object_that_goes_is_named(fate: Fate) -> None:
    client = await installed()
    await a_group(client)
    await client.create(PUBS, budget(amount(1)), "default")
    found = await survey(client, HOME, crds=True, fate=fate)
    assert [str(each) for each in found.groups] == ["default/llm (1 pods)"]
    assert bool(found.refusal) is (fate is Fate.KEEP)
    for line in (
        "PodUnavailableBudget default/budget",
        "RoleBasedGroup default/llm",
        f"CustomResourceDefinition {RBGS.full_name}",
    ):
        assert found.goes.count(line) == 1
    pods = "1 pods of RoleBasedGroup default/llm"
    if fate is Fate.ORPHAN:
        assert "ConfigMap default/llm, without an owner" in found.stays
        assert pods in found.stays
        assert pods not in found.goes
    else:
        assert "ConfigMap default/llm" in found.goes
        assert pods in found.goes


@simulated
async def test_objects_of_another_products_crd_are_not_ours_to_remove() -> None:
    client = await installed()
    await a_group(client)
    await client.patch(CRDS, {"metadata": {"labels": None}}, RBGS.full_name, field_manager="helm")
    ours, others = await own_definitions(client)
    assert others == [RBGS.full_name]
    assert RBGS.full_name not in ours
    found = await survey(client, HOME, crds=True)
    assert not found.refusal
    assert found.groups == ()
    assert f"CustomResourceDefinition {RBGS.full_name}, which is not Intact's" in found.stays


@pytest.mark.parametrize(("crds", "refused"), [(True, True), (False, False)])
@simulated
async def test_a_process_that_uninstall_does_not_end_keeps_the_crds(
    crds: bool, refused: bool
) -> None:
    client = await installed()
    await lease(client, "laptop_1")
    renewing = asyncio.create_task(renew(client))
    found = await survey(client, HOME, crds=crds)
    renewing.cancel()
    said = "Intact still runs: Lease default/intact of laptop_1. End that process first"
    assert found.refusal.startswith(said) is refused


@simulated
async def test_the_deployment_that_uninstall_ends_is_not_in_the_way() -> None:
    client = await installed()
    spec = {"holderIdentity": "intact-0", "leaseDurationSeconds": 15}
    await client.create(LEASES, {"metadata": {"name": "intact"}, "spec": spec}, HOME)
    assert not (await survey(client, HOME, crds=True)).refusal
