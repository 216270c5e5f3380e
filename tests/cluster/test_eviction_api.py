"""The Eviction API is the server's own, and stays so with the webhooks in place: under each kind of
budget the same requests get the same answers."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from intact.kube.client import PatchType
from tests.support.namespace_under_test import Answer, NamespaceUnderTest, eventually, open_space
from tests.support.objects import PODS, Json
from tests.support.pdb_groups import Groups, group_house, open_groups

house = pytest.fixture(scope="module")(group_house)
space = pytest.fixture(open_space)
groups = pytest.fixture(open_groups)

SELECTOR = {"matchLabels": {"app": "llm"}}
BY_LABEL = {"intact.dev/group-label-key": "group"}


async def a_pub(groups: Groups, least: int) -> None:
    spec = {"selector": SELECTOR, "minAvailable": least}
    await groups.space.budget(spec, total_replicas=3, unavailable_allowed=3 - least)


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
    """Three pods under a budget that keeps so many of them."""
    make: Protect = request.param

    async def made(least: int) -> None:
        for name in ("a", "b", "c"):
            labels = groups.labels | {"group": name}
            await groups.space.pods(name, labels=labels)
        await make(groups, least)

    return made


Protected = Callable[[int], Awaitable[None]]


async def post(space: NamespaceUnderTest, name: str, version: str, **more: Any) -> Answer:
    body: Json = {"metadata": {"name": name, "namespace": space.namespace}, **more}
    if version:
        body |= {"apiVersion": version, "kind": "Eviction"}
    return await space._ask("POST", PODS.path(space.namespace, name, "eviction"), body)


async def is_going(space: NamespaceUnderTest, name: str) -> bool:
    found = (await space.client.list(PODS, space.namespace)).items
    alive = [one for one in found if "deletionTimestamp" not in one["metadata"]]
    return name not in {one["metadata"]["name"] for one in alive}


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1", ""])
async def test_bodies_of_all_versions(
    space: NamespaceUnderTest, protect: Protected, version: str
) -> None:
    await protect(2)
    assert (await post(space, "a", version)).code == 201
    assert await is_going(space, "a")
    denied = await post(space, "b", version)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))
    assert not await is_going(space, "b")


async def test_another_version_is_refused(space: NamespaceUnderTest, protect: Protected) -> None:
    await protect(2)
    assert (await post(space, "a", "policy/v7")).code == 400
    assert not await is_going(space, "a")


async def test_another_name_in_the_body_is_refused(
    space: NamespaceUnderTest, protect: Protected
) -> None:
    await protect(2)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}
    answer = await space._ask("POST", PODS.path(space.namespace, "a", "eviction"), body)
    assert answer.code == 400
    assert "name in URL does not match name in Eviction object" in answer.message


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
async def test_only_post_is_allowed(
    space: NamespaceUnderTest, protect: Protected, method: str
) -> None:
    await protect(2)
    path = PODS.path(space.namespace, "a", "eviction")
    answer = await space._ask(method, path, {}, {}, PatchType.MERGE)
    assert answer.code == 405


async def test_a_pod_that_is_not_there(space: NamespaceUnderTest, protect: Protected) -> None:
    await protect(2)
    assert (await space.evict("z")).code == 404


async def test_a_precondition_that_holds(space: NamespaceUnderTest, protect: Protected) -> None:
    await protect(2)
    uid = (await space.get("a"))["metadata"]["uid"]
    assert (await space.evict("a", preconditions={"uid": uid})).code == 201


@pytest.mark.parametrize("key", ["uid", "resourceVersion"])
async def test_a_precondition_that_does_not_hold(
    space: NamespaceUnderTest, protect: Protected, key: str
) -> None:
    await protect(2)
    values = {"uid": "11111111-2222-3333-4444-555555555555", "resourceVersion": "1"}
    assert (await space.evict("a", preconditions={key: values[key]})).code == 409
    assert not await is_going(space, "a")


@pytest.mark.parametrize("where", ["query", "body", "both"])
async def test_a_dry_run_changes_nothing(
    space: NamespaceUnderTest, protect: Protected, where: str
) -> None:
    await protect(2)
    query = "All" if where != "body" else ""
    options = {"dryRun": ["All"]} if where != "query" else {}
    for name in ("a", "b", "c"):
        assert (await space.evict(name, query, **options)).code == 201
        assert not await is_going(space, name)
    assert (await space.evict("a")).code == 201
    assert (await space.evict("b")).code == 429


@pytest.mark.parametrize("where", ["query", "body"])
async def test_a_dry_run_is_denied_as_the_real_one(
    space: NamespaceUnderTest, protect: Protected, where: str
) -> None:
    await protect(3)
    query = "All" if where == "query" else ""
    options = {"dryRun": ["All"]} if where == "body" else {}
    denied = await space.evict("a", query, **options)
    assert (denied.code, denied.causes) == (429, ("DisruptionBudget",))


async def test_grace_is_that_of_the_request(space: NamespaceUnderTest, protect: Protected) -> None:
    await protect(2)
    slow = {"devcluster.intact.dev/termination-delay": "30s"}
    await space.annotate("a", dict(slow))
    assert (await space.evict("a", gracePeriodSeconds=77)).code == 201
    assert (await space.get("a"))["metadata"]["deletionGracePeriodSeconds"] == 77
