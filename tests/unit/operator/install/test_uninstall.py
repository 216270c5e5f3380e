"""What `intact uninstall` removes, in which order, and what it leaves."""

import asyncio
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.lease import Election
from intact.kube.resources import LEASES, NAMESPACES, PUBS, Resource, untyped
from intact.operator.install.groups import Refused
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from intact.operator.install.survey import survey
from intact.operator.install.uninstall import uninstall
from intact.operator.names import LABELS, LEASE, OPERATOR
from intact.operator.webhook.certificates import SECRET, SECRETS
from intact.operator.webhook.configuration import (
    DOOR_LABEL,
    GATED_LABEL,
    MUTATING,
    NAME,
    VALIDATING,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.rollout.names import GROUP, HELD
from intact.sandbox import MemoryApi
from tests.support.objects import PDBS, PODS, Json, pod
from tests.support.pub_cases import amount, budget
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import GROUPS
from tests.unit.kube.simulated import now, simulated
from tests.unit.operator.install.cluster import RBAC, create_all, new_api, resource_of

HOME = "intact-system"
BINDINGS = untyped(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
ADDRESS = UrlAddress("127.0.0.1", 9443)


async def installed(api: MemoryApi) -> Client:
    client = Client(api)
    await create_all(client, manifests(Settings(image="intact:1"), namespace=HOME))
    await client.create(VALIDATING, validating_configuration(ADDRESS, b"bundle"))
    await client.create(MUTATING, mutating_configuration(ADDRESS, b"bundle"))
    for place in (HOME, "default"):
        await client.create(SECRETS, {"metadata": {"name": SECRET}}, place)
    labels = {GATED_LABEL: "true", DOOR_LABEL: "true"}
    await client.patch(NAMESPACES, {"metadata": {"labels": labels}}, "default")
    return client


async def left(client: Client) -> set[str]:
    """Kinds of which something of Intact is there."""
    found = set()
    for body in manifests(Settings(), namespace=HOME):
        listed = await client.list(resource_of(body))
        if any(one["metadata"].get("labels", {}).items() >= LABELS.items() for one in listed.items):
            found.add(body["kind"])
    others: tuple[Resource[Any], ...] = (VALIDATING, MUTATING, SECRETS)
    for resource in others:
        if (await client.list(resource)).items:
            found.add(resource.kind)
    return found


@simulated
async def test_everything_is_removed_but_the_namespace_and_the_crds() -> None:
    client = await installed(new_api())
    said: list[str] = []
    await uninstall(client, HOME, outside="default", crds=False, say=said.append)
    assert await left(client) == {"Namespace", "CustomResourceDefinition"}
    assert len((await client.list(CRDS)).items) == 3
    assert said[:3] == [
        f"ValidatingWebhookConfiguration {NAME} deleted",
        f"label {GATED_LABEL} of namespace default removed",
        f"label {DOOR_LABEL} of namespace default removed",
    ]
    # What holds budgets in groups goes when nothing of Intact runs any more.
    mutating = said.index(f"MutatingWebhookConfiguration {NAME} deleted")
    assert mutating > said.index(f"Deployment {HOME}/intact deleted")
    assert "ClusterRole intact deleted" in said
    assert said[-2:] == [
        "the CRDs, all budgets and all RoleBasedGroups stay; --crds removes them",
        f"the namespace {HOME} stays, if it exists; kubectl delete namespace removes it",
    ]


@simulated
@pytest.mark.parametrize("leave_to_helm", [True, False])
async def test_a_hook_that_failed_leaves_no_account_behind_but_to_itself(
    leave_to_helm: bool,
) -> None:
    """helm deletes them when the hook has succeeded."""
    client = await installed(new_api())
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    name = "intact-uninstall"
    of_hook = [
        {**each, "metadata": {**each["metadata"], "name": name}}
        for each in manifests(Settings(), namespace=HOME)
        if each["kind"] in kinds and each["metadata"]["name"] == OPERATOR
    ]
    await create_all(client, of_hook)
    await uninstall(client, HOME, crds=False, leave_to_helm=leave_to_helm, say=lambda _line: None)
    found = {
        body["kind"]
        for body in of_hook
        for one in (await client.list(resource_of(body))).items
        if one["metadata"]["name"] == name
    }
    assert found == (set(kinds) if leave_to_helm else set())


@simulated
@pytest.mark.parametrize("leave_to_helm", [True, False])
async def test_its_pods_end_before_its_rights_its_lease_and_its_secret_go(
    leave_to_helm: bool,
) -> None:
    """A leader that misses its Lease or its Secret makes it anew."""
    client = await installed(new_api())
    before = await left(client)
    await client.create(LEASES, {"metadata": {"name": LEASE}}, HOME)
    await client.create(PODS, pod("intact-0", labels=dict(LABELS)), HOME)
    going = asyncio.create_task(
        uninstall(client, HOME, crds=False, leave_to_helm=leave_to_helm, say=lambda _line: None)
    )
    await asyncio.sleep(30)
    assert before - await left(client) == {"Deployment", "ValidatingWebhookConfiguration"}
    assert [one.metadata.name for one in (await client.list(LEASES, HOME)).items] == [LEASE]
    await client.delete(PODS, "intact-0", HOME)
    await going
    assert (await client.list(LEASES, HOME)).items == []
    assert (await client.list(SECRETS, HOME)).items == []


@simulated
async def test_what_is_left_to_helm_is_all_of_the_chart_but_the_deployment() -> None:
    client = await installed(new_api())
    said: list[str] = []
    await uninstall(
        client, HOME, outside="default", crds=False, leave_to_helm=True, say=said.append
    )
    whole = {body["kind"] for body in manifests(Settings(), namespace=HOME)}
    assert await left(client) == whole - {"Deployment"}
    assert [line for line in said if line.endswith(" deleted")] == [
        f"ValidatingWebhookConfiguration {NAME} deleted",
        f"Deployment {HOME}/intact deleted",
        f"Secret {HOME}/{SECRET} deleted",
        f"Secret default/{SECRET} deleted",
        f"MutatingWebhookConfiguration {NAME} deleted",
    ]


@simulated
async def test_helm_must_not_go_on_while_intact_runs() -> None:
    client = await installed(new_api())
    await client.create(PODS, pod("intact-0", labels=dict(LABELS)), HOME)
    with pytest.raises(Refused, match="pods of Intact still exist"):
        await uninstall(client, HOME, crds=False, leave_to_helm=True, say=lambda _line: None)


@simulated
async def test_the_crds_are_removed_if_asked_for() -> None:
    client = await installed(new_api())
    said: list[str] = []
    await uninstall(client, HOME, crds=True, say=said.append)
    assert (await client.list(CRDS)).items == []
    assert sum(line.startswith("CustomResourceDefinition ") for line in said) == 3


@simulated
async def test_uninstall_can_be_called_again() -> None:
    client = await installed(new_api())
    await uninstall(client, HOME, outside="default", crds=False, say=lambda _line: None)
    said: list[str] = []
    await uninstall(client, HOME, outside="default", crds=False, say=said.append)
    assert len(said) == 2


@simulated
async def test_what_the_operator_writes_until_its_end_is_removed_as_well() -> None:
    api = new_api()
    client = await installed(api)
    await client.create(PODS, pod("intact-0", node="n1", labels=dict(LABELS)), HOME)
    said: list[str] = []
    removing = asyncio.create_task(uninstall(client, HOME, crds=False, say=said.append))
    await asyncio.sleep(10)
    assert not removing.done()
    await client.create(VALIDATING, validating_configuration(ADDRESS, b"bundle"))
    await client.delete(PODS, "intact-0", HOME, grace_period_seconds=0)
    await removing
    assert (await client.list(VALIDATING)).items == []
    assert said.count(f"ValidatingWebhookConfiguration {NAME} deleted") == 2


@simulated
async def test_pods_that_do_not_go_are_named() -> None:
    client = await installed(new_api())
    await client.create(PODS, pod("intact-0", labels=dict(LABELS)), HOME)
    said: list[str] = []
    await uninstall(client, HOME, crds=False, say=said.append)
    expected = "pods of Intact still exist after 90 s: intact-0; when they are gone, run this again"
    assert expected in said
    assert now() >= 90


@pytest.mark.parametrize("held", [True, False])
@simulated
async def test_pods_that_an_interrupted_rollout_holds_are_let_go(held: bool) -> None:
    client = await installed(new_api())
    finalizers = [HELD, "other/finalizer"] if held else ["other/finalizer"]
    body = pod("llm-0", labels={GROUP: "llm"}, finalizers=finalizers)
    await client.create(PODS, body, "default")
    said: list[str] = []
    await uninstall(client, HOME, crds=False, say=said.append)
    found = await client.get(PODS, "llm-0", "default")
    assert found["metadata"]["finalizers"] == ["other/finalizer"]
    assert (f"finalizer {HELD} of pod default/llm-0 removed" in said) is held


@simulated
async def test_budgets_in_groups_are_closed_before_the_webhook_on_their_status_goes() -> None:
    client = await installed(new_api())
    meta = {"name": "llm", "labels": {"intact.dev/budget-scope": "Workload"}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1}
    await client.create(PDBS, {"metadata": meta, "spec": spec}, "default")
    status = {"status": {"disruptionsAllowed": 4}}
    await client.patch(PDBS, status, "llm", "default", subresource="status")
    said: list[str] = []
    await uninstall(client, HOME, crds=False, say=said.append)
    named = [line.startswith("PodDisruptionBudget default/llm counts pods") for line in said]
    assert named.index(True) < said.index(f"MutatingWebhookConfiguration {NAME} deleted")
    found = await client.get(PDBS, "llm", "default")
    assert found["status"]["disruptionsAllowed"] == 0


@simulated
async def test_nothing_is_removed_while_groups_are_in_the_way_of_the_crds() -> None:
    client = await installed(new_api())
    await client.create(GROUPS, group("llm", role("prefill", 1)), "default")
    before = await left(client)
    with pytest.raises(Refused, match=r"1 RoleBasedGroups, .*default/llm \(0 pods\)"):
        await uninstall(client, HOME, crds=True, say=lambda _line: None)
    assert await left(client) == before


@simulated
async def test_the_crds_stay_while_pods_of_intact_exist() -> None:
    """One of them may still lead, and apply what is being orphaned."""
    client = await installed(new_api())
    await client.create(PODS, pod("intact-0", labels=dict(LABELS)), HOME)
    with pytest.raises(Refused, match="stay while pods of Intact still exist"):
        await uninstall(client, HOME, crds=True, say=lambda _line: None)
    assert len((await client.list(CRDS)).items) == 3


@simulated
async def test_a_crd_of_another_product_stays_with_its_objects_as_they_are() -> None:
    client = await installed(new_api())
    await client.patch(CRDS, {"metadata": {"labels": None}}, PUBS.full_name, field_manager="helm")
    await client.create(PUBS, budget(amount(1)), "default")
    for crds in (False, True):
        said: list[str] = []
        await uninstall(client, HOME, crds=crds, say=said.append)
        assert f"the CRD {PUBS.full_name} stays: Intact did not install it" in said
    [crd] = (await client.list(CRDS)).items
    assert crd["metadata"]["name"] == PUBS.full_name
    assert (await client.get(PUBS, "budget", "default")).status.conditions == []


@simulated
async def test_what_another_installation_shares_stays() -> None:
    api = new_api()
    client = await installed(api)
    await client.create(NAMESPACES, {"metadata": {"name": "first"}})
    first = Election(Client(api), "first", LEASE, "first")

    async def lead() -> None:
        await asyncio.Event().wait()

    working = asyncio.create_task(first.run(lead))
    await asyncio.sleep(1)
    said: list[str] = []
    await uninstall(client, HOME, outside="default", crds=False, say=said.append)
    assert "ClusterRole" in await left(client)
    assert not {"ClusterRoleBinding", "Deployment"} & await left(client)
    assert (await client.list(VALIDATING)).items != []
    assert (await client.list(MUTATING)).items != []
    assert said[-1] == (
        "webhooks, roles, CRDs and all their objects stay: Intact also works in first"
    )
    [default] = (await client.list(NAMESPACES, labels=GATED_LABEL)).items
    assert default.metadata.name == "default"
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await create_all(client, [deployment_of(HOME)])
    await uninstall(client, HOME, outside="default", crds=False, say=said.append)
    assert await left(client) == {"Namespace", "CustomResourceDefinition"}


@simulated
async def test_the_roles_of_an_installation_that_waits_stay() -> None:
    """It begins to work when this one has gone: without them it could not."""
    client = await installed(new_api())
    second = [
        each
        for each in manifests(Settings(image="intact:1"), namespace="second")
        if each["kind"] in ("ClusterRoleBinding", "Deployment")
    ]
    await client.create(NAMESPACES, {"metadata": {"name": "second"}})
    await create_all(client, second)
    said: list[str] = []
    await uninstall(client, HOME, crds=False, say=said.append)
    assert f"ClusterRoleBinding {OPERATOR} deleted" in said
    assert not any(line.startswith("ClusterRole ") for line in said)
    assert "all ClusterRoles stay: the Intact in second shares them" in said
    assert (await client.list(VALIDATING)).items == []
    names = {one["metadata"]["name"] for one in (await client.list(BINDINGS)).items}
    assert names == {"intact-second", "intact-owners-second"}
    # It is the only one then, and takes all with it.
    await uninstall(client, "second", crds=False, say=said.append)
    assert not {"ClusterRole", "ClusterRoleBinding"} & await left(client)


@simulated
@pytest.mark.parametrize("waits", [True, False], ids=["waits there", "is not there"])
@pytest.mark.parametrize("outside", ["default", HOME, "another"])
async def test_an_installation_in_another_namespace_than_the_one_given_stays_as_it_is(
    outside: str, waits: bool
) -> None:
    """Whatever the namespace of the context is, and whether or not another one waits."""
    api = new_api()
    client = await installed(api)
    await client.create(NAMESPACES, {"metadata": {"name": "another"}})
    if waits:
        await create_all(client, [deployment_of("another")])
    here = Election(Client(api), HOME, LEASE, "here")

    async def lead() -> None:
        await asyncio.Event().wait()

    working = asyncio.create_task(here.run(lead))
    await asyncio.sleep(1)
    before = await left(client)
    deployments = resource_of(deployment_of("another"))
    found = await survey(client, "another", outside=outside, crds=False)
    assert not any("Webhook" in line or HOME in line for line in found.goes)
    said: list[str] = []
    await uninstall(client, "another", outside=outside, crds=False, say=said.append)
    assert await left(client) == before
    assert (await client.list(deployments, "another")).items == []
    assert (await client.get(SECRETS, SECRET, HOME)).metadata.name == SECRET
    assert (await client.list(NAMESPACES, labels=GATED_LABEL)).items != []
    assert said[-1] == (
        f"webhooks, roles, CRDs and all their objects stay: Intact also works in {HOME}"
    )
    assert here.leads
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


def deployment_of(namespace: str) -> Json:
    [found] = [
        each
        for each in manifests(Settings(image="intact:1"), namespace=namespace)
        if each["kind"] == "Deployment"
    ]
    return found
