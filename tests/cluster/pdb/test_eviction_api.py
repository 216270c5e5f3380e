"""The Eviction API works as without webhooks: under each kind of budget the same requests get the
same answers."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from intact.kube.client import PatchType
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import Answer, NamespaceUnderTest, eventually
from tests.support.objects import PODS, Json
from tests.support.pdb_groups import Groups


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


SELECTOR = {"matchLabels": {"app": "llm"}}
BY_LABEL = {"intact.dev/group-label-key": "group"}


async def a_pub(groups: Groups, least: int) -> None:
    spec = {"selector": SELECTOR, "minAvailable": least}
    await groups.ns.budget(spec, total_replicas=3, unavailable_allowed=3 - least)


async def a_pdb(groups: Groups, least: int) -> None:
    await groups.budget(None, minAvailable=least)
    await eventually(
        groups.stored,
        lambda found: (
            found.status.disruptions_allowed == 3 - least and found.status.expected_pods == 3
        ),
        "the budget to be counted",
    )


async def a_pdb_in_groups(groups: Groups, least: int) -> None:
    """Each pod is a group."""
    await groups.budget(annotations=BY_LABEL, minAvailable=least)
    await groups.counted(allowed=3 - least, healthy=3)


Protect = Callable[[Groups, int], Awaitable[None]]


@pytest.fixture(params=[a_pub, a_pdb, a_pdb_in_groups])
def protect(request: pytest.FixtureRequest, groups: Groups) -> Callable[[int], Awaitable[None]]:
    """Create three pods, and a budget that keeps so many of them."""
    make: Protect = request.param

    async def made(least: int) -> None:
        for name in ("a", "b", "c"):
            labels = groups.labels | {"group": name}
            await groups.ns.pods(name, labels=labels)
        await make(groups, least)

    return made


Protected = Callable[[int], Awaitable[None]]


async def post(ns: NamespaceUnderTest, name: str, version: str, **more: Any) -> Answer:
    body: Json = {"metadata": {"name": name, "namespace": ns.name}, **more}
    if version:
        body |= {"apiVersion": version, "kind": "Eviction"}
    return await ns.ask("POST", PODS.path(ns.name, name, "eviction"), body)


async def is_going(ns: NamespaceUnderTest, name: str) -> bool:
    found = (await ns.client.list(PODS, ns.name)).items
    alive = [one for one in found if "deletionTimestamp" not in one["metadata"]]
    return name not in {one["metadata"]["name"] for one in alive}


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1", ""])
async def test_eviction_bodies_of_all_versions_are_decided_alike(
    ns: NamespaceUnderTest, protect: Protected, version: str
) -> None:
    await protect(2)
    assert (await post(ns, "a", version)).code == 201
    assert await is_going(ns, "a")
    denied = await post(ns, "b", version)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))
    assert not await is_going(ns, "b")


async def test_an_eviction_of_an_unknown_version_is_refused(
    ns: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    assert (await post(ns, "a", "policy/v7")).code == 400
    assert not await is_going(ns, "a")


async def test_an_eviction_with_another_name_in_the_body_is_refused(
    ns: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}
    answer = await ns.ask("POST", PODS.path(ns.name, "a", "eviction"), body)
    assert answer.code == 400
    assert "name in URL does not match name in Eviction object" in answer.message


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
async def test_the_eviction_subresource_allows_only_post(
    ns: NamespaceUnderTest, protect: Protected, method: str
) -> None:
    await protect(2)
    path = PODS.path(ns.name, "a", "eviction")
    answer = await ns.ask(method, path, {}, {}, PatchType.MERGE)
    assert answer.code == 405


async def test_the_eviction_of_an_unknown_pod_is_not_found(
    ns: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    assert (await ns.evict("z")).code == 404


async def test_an_eviction_whose_precondition_holds_is_admitted(
    ns: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    uid = (await ns.get("a"))["metadata"]["uid"]
    assert (await ns.evict("a", preconditions={"uid": uid})).code == 201


@pytest.mark.parametrize("key", ["uid", "resourceVersion"])
async def test_an_eviction_whose_precondition_fails_conflicts(
    ns: NamespaceUnderTest, protect: Protected, key: str
) -> None:
    await protect(2)
    values = {"uid": "11111111-2222-3333-4444-555555555555", "resourceVersion": "1"}
    assert (await ns.evict("a", preconditions={key: values[key]})).code == 409
    assert not await is_going(ns, "a")


@pytest.mark.parametrize("where", ["query", "body", "both"])
async def test_a_dry_run_of_an_eviction_spends_nothing(
    ns: NamespaceUnderTest, protect: Protected, where: str
) -> None:
    await protect(2)
    query = "All" if where != "body" else ""
    options = {"dryRun": ["All"]} if where != "query" else {}
    for name in ("a", "b", "c"):
        assert (await ns.evict(name, query, **options)).code == 201
        assert not await is_going(ns, name)
    assert (await ns.evict("a")).code == 201
    assert (await ns.evict("b")).code == 429


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_of_an_eviction_is_denied_by_a_spent_budget(
    ns: NamespaceUnderTest, protect: Protected, where: str
) -> None:
    await protect(3)
    query = "All" if where == "query" else ""
    options = {"dryRun": ["All"]} if where == "body" else {}
    denied = await ns.evict("a", query, **options)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))


async def test_the_grace_period_of_an_eviction_is_that_of_the_request(
    ns: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    slow = {"devcluster.intact.dev/termination-delay": "30s"}
    await ns.annotate("a", dict(slow))
    assert (await ns.evict("a", gracePeriodSeconds=77)).code == 201
    assert (await ns.get("a"))["metadata"]["deletionGracePeriodSeconds"] == 77
