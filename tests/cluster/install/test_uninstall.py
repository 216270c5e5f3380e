"""What `intact uninstall` leaves behind under budgets: nothing opens, and nothing looks held."""

import asyncio
import sys
from pathlib import Path

import pytest

from intact.kube.resources import PDBS, PUBS
from intact.model.pdb import PodDisruptionBudget
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS
from intact.operator.webhook.configuration import NAME, VALIDATING
from tests.support.cluster_with_intact import ClusterWithIntact, shared_cluster
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    NamespaceUnderTest,
    eventually,
)
from tests.support.objects import (
    DEPLOYMENTS,
    PODS,
    SERVICE_ACCOUNTS,
    STATEFUL_SETS,
    Json,
    spread_stateful_set,
)
from tests.support.pdb_groups import Groups
from tests.support.rbg_objects import group, kind, role
from tests.support.rbg_waiting import CONFIG_MAPS, GROUP, GROUPS, REVISIONS, SERVICES, group_settled

SHARD = "shard"


class ClusterOfItsOwn(ClusterWithIntact):
    """All budgets and CRDs in it are of these tests: the command removes those of others, too."""


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_cluster(request, ClusterOfItsOwn)


async def intact(cluster: ClusterWithIntact, *arguments: str) -> tuple[int, str]:
    """Runs `intact`, without a terminal."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        *arguments,
        f"--kubeconfig={cluster.cluster.kubeconfig}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode is not None
    return process.returncode, said.decode()


async def intact_uninstall(cluster: ClusterWithIntact, *options: str) -> str:
    code, said = await intact(cluster, "uninstall", "--yes", *options)
    assert code == 0, said
    return said


async def test_uninstall_closes_budgets_in_groups_and_takes_working_back(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    # Pods that are evicted stay terminating, and are not replaced.
    for shard in "abc":
        body = spread_stateful_set(shard, 4, SHARD, groups.labels)
        body["spec"]["template"]["metadata"]["annotations"] = {TERMINATION_DELAY: "10m"}
        await ns.create(STATEFUL_SETS, body)
    names = await ns.running(12)
    settings = {"intact.dev/group-label-key": SHARD, "intact.dev/min-ready-replicas": "4"}
    await groups.budget(annotations=settings, maxUnavailable=1)
    # A whole group may go: four pods.
    await groups.counted(allowed=1, healthy=3, disruptions_allowed=4)
    await ns.pods("web", labels={"app": "web", "test": ns.name})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    await ns.budget(spec)
    intact_cluster.stop()

    evicted: list[str] = []

    async def keep_evicting() -> None:
        for name in names * 1000:
            if name not in evicted and (await ns.evict(name)).code == 201:
                evicted.append(name)

    evicting = asyncio.create_task(keep_evicting())
    said = await intact_uninstall(intact_cluster)

    def is_counted(found: PodDisruptionBudget) -> bool:
        """In pods: one of twelve is or was let go."""
        return found.status.desired_healthy == 11 and bool(evicted)

    counted = await eventually(
        lambda: ns.client.get(PDBS, "llm", ns.name), is_counted, "the stock controller to count"
    )
    evicting.cancel()
    await asyncio.gather(evicting, return_exceptions=True)
    assert len(evicted) == 1
    assert counted.metadata.annotations == settings
    assert [each.type for each in counted.status.conditions] == ["DisruptionAllowed"]
    assert f"PodDisruptionBudget {ns.name}/llm counts pods from now on" in said

    working = (await ns.status()).conditions[0]
    assert (working.type, working.status, working.reason) == ("Working", "False", "Uninstalled")
    assert "1 PodUnavailableBudgets hold nothing any more" in said
    assert (await ns.delete("web")).code == 200

    # Intact comes back, and holds them again.
    intact_cluster.restore()
    await groups.counted(healthy=2)
    await eventually(
        ns.status,
        lambda found: found.conditions[0].reason == "NoPods",
        "the budget to be counted again",
    )


async def of_the_group(ns: NamespaceUnderTest) -> dict[str, set[str]]:
    """What the RoleBasedGroup llm has, by plural: the UIDs. Terminating pods are gone, and the
    revisions of StatefulSets are their own."""
    found: dict[str, set[str]] = {}
    for resource in (STATEFUL_SETS, DEPLOYMENTS, SERVICES, CONFIG_MAPS, REVISIONS, PODS):
        page = await ns.client.list(resource, ns.name, labels=f"{GROUP}=llm")
        metas = [each["metadata"] for each in page.items]
        found[resource.plural] = {
            each["uid"]
            for each in metas
            if "deletionTimestamp" not in each
            and (resource != REVISIONS or "StatefulSet" not in owners_in(each))
        }
    return found


def owners_in(metadata: Json) -> set[str]:
    return {each["kind"] for each in metadata.get("ownerReferences") or []}


async def owners(ns: NamespaceUnderTest) -> set[str]:
    """The kinds that own what the RoleBasedGroup llm has, but for pods."""
    found: set[str] = set()
    for resource in (STATEFUL_SETS, DEPLOYMENTS, SERVICES, CONFIG_MAPS):
        for each in (await ns.client.list(resource, ns.name, labels=f"{GROUP}=llm")).items:
            found |= owners_in(each["metadata"])
    return found


async def crds(ns: NamespaceUnderTest) -> list[str]:
    return [each["metadata"]["name"] for each in (await ns.client.list(CRDS)).items]


async def a_group(ns: NamespaceUnderTest) -> dict[str, set[str]]:
    decode = role("decode", 4) | kind("Deployment")
    await ns.create(GROUPS, group("llm", role("prefill", 8), decode))
    await group_settled(ns)
    found = await of_the_group(ns)
    assert len(found["pods"]) == 12
    return found


async def test_crds_stay_while_there_are_groups(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    """12 pods once went to 0 in 5 s. Nothing is removed, whatever else is asked for."""
    before = await a_group(ns)
    registered = await ns.client.get(VALIDATING, NAME)

    for options in (("--yes",), ("--dry-run",), ("--yes", "--dry-run")):
        code, said = await intact(intact_cluster, "uninstall", "--crds", *options)
        assert code == 1
        assert "the cluster has 1 RoleBasedGroups" in said
        assert f"{ns.name}/llm (12 pods)" in said
        assert "--orphan-groups" in said
        assert "--delete-groups" in said
    # Without a terminal nothing is asked, and nothing done.
    code, said = await intact(intact_cluster, "uninstall")
    assert code == 1
    assert "nothing was removed: there is no terminal to ask on" in said
    # Intact runs, outside the cluster: it would undo what is done to the groups.
    code, said = await intact(intact_cluster, "uninstall", "--crds", "--orphan-groups", "--yes")
    assert code == 1
    assert "Intact still runs: Lease default/intact" in said

    assert await of_the_group(ns) == before
    assert len(await crds(ns)) == 3
    assert (await ns.client.get(VALIDATING, NAME)).metadata.uid == registered.metadata.uid


async def test_orphaned_workloads_outlive_the_crds(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    before = await a_group(ns)
    # A kind that Intact knows nothing of is orphaned as well.
    [rbg] = (await ns.client.list(GROUPS, ns.name)).items
    reference = {
        "apiVersion": "workloads.x-k8s.io/v1alpha1",
        "kind": "RoleBasedGroup",
        "name": "llm",
        "uid": rbg["metadata"]["uid"],
    }
    account = {"metadata": {"name": "mine", "ownerReferences": [reference]}}
    await ns.create(SERVICE_ACCOUNTS, account)
    intact_cluster.stop()
    options = ("--crds", "--orphan-groups")
    code, listed = await intact(intact_cluster, "uninstall", *options, "--dry-run")
    assert code == 0, listed
    goes, stays = listed.split("would stay:")
    assert f"StatefulSet {ns.name}/llm-prefill, without an owner" in stays
    assert f"12 pods of RoleBasedGroup {ns.name}/llm" in stays
    assert f"RoleBasedGroupScalingAdapter {ns.name}/llm-prefill" in goes
    assert "CustomResourceDefinition rolebasedgroups.workloads.x-k8s.io" in goes
    assert await of_the_group(ns) == before

    async with ns.watched() as watched:
        said = await intact_uninstall(intact_cluster, *options)
        await eventually(lambda: crds(ns), lambda found: found == [], "the end of the CRDs")
        # What the garbage collector would delete is gone when the marker is.
        absent = "00000000-0000-4000-8000-000000000000"
        doomed = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": absent}
        marker = {"metadata": {"name": "marker", "ownerReferences": [doomed]}}
        await ns.create(CONFIG_MAPS, marker)

        async def markers() -> list[str]:
            page = await ns.client.list(CONFIG_MAPS, ns.name)
            return [one["metadata"]["name"] for one in page.items]

        await eventually(
            markers, lambda found: "marker" not in found, "a round of the garbage collector"
        )
    assert all(not watched.taken(state) for state in watched.states)
    after = await of_the_group(ns)
    assert after == before | {"controllerrevisions": set()}
    assert before["controllerrevisions"]
    assert await owners(ns) == set()
    mine = await ns.client.get(SERVICE_ACCOUNTS, "mine", ns.name)
    assert "ownerReferences" not in mine["metadata"]
    assert f"RoleBasedGroup {ns.name}/llm deleted; without an owner from now on: " in said

    # The workloads still work: a pod that goes comes back.
    pods = await ns.client.list(PODS, ns.name, labels=f"{GROUP}=llm")
    await ns.client.delete(PODS, pods.items[0]["metadata"]["name"], ns.name)
    await eventually(
        lambda: of_the_group(ns),
        lambda found: len(found["pods"]) == 12 and found["pods"] != before["pods"],
        "the pod to come back",
    )


async def test_groups_are_deleted_with_their_workloads_if_asked_for(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await a_group(ns)
    intact_cluster.stop()
    options = ("--crds", "--delete-groups")
    _, listed = await intact(intact_cluster, "uninstall", *options, "--dry-run")
    goes, _ = listed.split("would stay:")
    assert f"StatefulSet {ns.name}/llm-prefill\n" in goes
    assert f"Deployment {ns.name}/llm-decode\n" in goes
    assert f"ConfigMap {ns.name}/llm\n" in goes
    assert f"12 pods of RoleBasedGroup {ns.name}/llm\n" in goes
    await intact_uninstall(intact_cluster, *options)
    await eventually(
        lambda: of_the_group(ns), lambda found: not any(found.values()), "the end of all of it"
    )
    await eventually(lambda: crds(ns), lambda found: found == [], "the end of the CRDs")


async def test_a_crd_that_intact_did_not_install_stays(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    """OpenKruise's, with all its budgets."""
    intact_cluster.stop()
    await intact_uninstall(intact_cluster, "--crds")
    await eventually(lambda: crds(ns), lambda found: found == [], "the end of the CRDs")
    [theirs] = [each for each in definitions() if each["metadata"]["name"] == PUBS.full_name]
    del theirs["metadata"]["labels"]
    await ns.client.create(CRDS, theirs, field_manager="helm")
    try:
        said = await intact_uninstall(intact_cluster, "--crds")
        assert f"the CRD {PUBS.full_name} stays: Intact did not install it" in said
        assert await crds(ns) == [PUBS.full_name]
    finally:
        await ns.client.delete(CRDS, PUBS.full_name)
        await eventually(lambda: crds(ns), lambda found: found == [], "the end of the CRD")
