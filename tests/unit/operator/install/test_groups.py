"""What becomes of RoleBasedGroups and of what they own when their definition goes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.resources import Resource
from intact.kube.transport import Request, Response
from intact.operator.install.groups import Fate, Refused, find_groups, refusal, remove_groups
from intact.operator.install.install import install
from intact.sandbox import MemoryApi, wall_clock
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.garbage import GarbageCollector
from tests.support.objects import CONFIGMAPS, CONTROLLER_REVISIONS, PODS, STATEFUL_SETS, Json, pod
from tests.support.rbg_objects import group, role
from tests.support.rbg_waiting import ADAPTERS, GROUP, GROUPS, SERVICES
from tests.unit.kube.simulated import now, simulated
from tests.unit.operator.install.cluster import new_api

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEPT: tuple[Resource[Json], ...] = (STATEFUL_SETS, SERVICES, CONFIGMAPS)
RECORDS: tuple[Resource[Json], ...] = (CONTROLLER_REVISIONS, ADAPTERS)


@asynccontextmanager
async def collected(api: MemoryApi) -> AsyncGenerator[Client, None]:
    """A cluster with the CRDs and a garbage collector."""
    client = Client(api)
    await install(client)
    collecting = asyncio.create_task(GarbageCollector(Shared(api, wall_clock(NOW))).run())
    yield client
    collecting.cancel()


def reference(owner: Json) -> Json:
    meta = owner["metadata"]
    named = {"kind": "RoleBasedGroup", "name": meta["name"], "uid": meta["uid"]}
    return {"apiVersion": GROUPS.api_version, **named, "controller": True}


async def make(client: Client, name: str = "llm") -> Json:
    """A RoleBasedGroup with one object of each kind, and two pods."""
    made = await client.create(GROUPS, group(name, role("prefill", 2)), "default")
    meta = {"name": name, "labels": {GROUP: name}, "ownerReferences": [reference(made)]}
    spec = {"selector": {"matchLabels": {"a": name}}, "template": {"metadata": {}}}
    await client.create(STATEFUL_SETS, {"metadata": meta, "spec": spec}, "default")
    await client.create(SERVICES, {"metadata": meta}, "default")
    await client.create(CONFIGMAPS, {"metadata": meta}, "default")
    await client.create(CONTROLLER_REVISIONS, {"metadata": meta, "revision": 1}, "default")
    adapter = {"replicas": 2, "scaleTargetRef": {"name": name, "role": "prefill"}}
    kind = {"apiVersion": ADAPTERS.api_version, "kind": ADAPTERS.kind}
    await client.create(ADAPTERS, {**kind, "metadata": meta, "spec": adapter}, "default")
    for number in range(2):
        await client.create(PODS, pod(f"{name}-{number}", labels={GROUP: name}), "default")
    return made


async def left(client: Client, name: str = "llm") -> list[str]:
    found = []
    for kind in (GROUPS, *KEPT, *RECORDS):
        page = await client.list(kind, "default")
        found += [kind.kind for one in page.items if one["metadata"]["name"] == name]
    return found


@simulated
async def test_a_group_is_found_with_what_it_owns() -> None:
    async with collected(new_api()) as client:
        await make(client)
        # Not the group's, although it has its label.
        await client.create(
            CONFIGMAPS, {"metadata": {"name": "x", "labels": {GROUP: "llm"}}}, "default"
        )
        [found] = await find_groups(client)
        assert str(found) == "default/llm (2 pods)"
        assert {one.resource.kind for one in found.owned} == {
            each.kind for each in (*KEPT, *RECORDS)
        }
        assert {one.name for one in found.owned} == {"llm"}
        assert "default/llm (2 pods)" in refusal([found])


async def test_without_the_crd_there_are_none() -> None:
    assert await find_groups(Client(MemoryApi())) == []
    assert refusal([]) == ""


@simulated
async def test_orphaned_objects_stay_without_their_owner() -> None:
    async with collected(new_api()) as client:
        made = await make(client)
        owner = await client.create(CONFIGMAPS, {"metadata": {"name": "owner"}}, "default")
        uid = owner["metadata"]["uid"]
        other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        both = {"metadata": {"ownerReferences": [reference(made), other]}}
        await client.patch(SERVICES, both, "llm", "default")
        before = [await client.get(kind, "llm", "default") for kind in KEPT]
        said: list[str] = []
        await remove_groups(client, await find_groups(client), Fate.ORPHAN, said.append)
        await asyncio.sleep(30)
        assert await left(client) == [kind.kind for kind in KEPT]
        for kind, old in zip(KEPT, before, strict=True):
            meta = (await client.get(kind, "llm", "default"))["metadata"]
            assert meta["uid"] == old["metadata"]["uid"]
            assert (meta.get("ownerReferences") or []) == ([other] if kind == SERVICES else [])
        assert said == [
            (
                "RoleBasedGroup default/llm deleted; without an owner from now on: "
                "StatefulSet llm, Service llm, ConfigMap llm"
            )
        ]


@simulated
async def test_deleted_groups_take_along_what_they_own() -> None:
    async with collected(new_api()) as client:
        await make(client)
        said: list[str] = []
        await remove_groups(client, await find_groups(client), Fate.DELETE, said.append)
        assert await left(client) == []
        assert said == ["RoleBasedGroup default/llm deleted, with all that it owned"]


@pytest.mark.parametrize("fate", Fate)
@simulated
async def test_a_group_that_was_created_since_is_not_touched(fate: Fate) -> None:
    async with collected(new_api()) as client:
        await make(client)
        agreed = await find_groups(client)
        await make(client, "new")
        before = await left(client, "new")
        with pytest.raises(Refused, match=r"created meanwhile: default/new \(2 pods\)\. They and"):
            await remove_groups(client, agreed, fate, lambda _line: None)
        assert await left(client, "new") == before
        assert "RoleBasedGroup" in await left(client)


@simulated
async def test_a_group_that_was_made_anew_is_another_one() -> None:
    async with collected(new_api()) as client:
        await make(client)
        agreed = await find_groups(client)
        await client.delete(GROUPS, "llm", "default")
        await client.delete_collection(PODS, "default", grace_period_seconds=0)
        await asyncio.sleep(30)
        await make(client)
        with pytest.raises(Refused, match="created meanwhile"):
            await remove_groups(client, agreed, Fate.DELETE, lambda _line: None)
        assert "StatefulSet" in await left(client)


class Meanwhile(MemoryApi):
    """Where a user creates a RoleBasedGroup as soon as another one is deleted."""

    async def send(self, request: Request) -> Response:
        answer = await super().send(request)
        if request.method == "DELETE" and request.path.endswith("/rolebasedgroups/llm"):
            await make(Client(self), "new")
        return answer


@pytest.mark.parametrize("fate", [Fate.DELETE, Fate.ORPHAN])
@simulated
async def test_a_group_that_is_created_while_others_go_keeps_the_definition(fate: Fate) -> None:
    async with collected(Meanwhile()) as client:
        await make(client)
        found = await find_groups(client)
        with pytest.raises(Refused, match=r"created meanwhile: default/new \(2 pods\)"):
            await remove_groups(client, found, fate, lambda _line: None)
        assert len(await left(client, "new")) == 6


@simulated
async def test_a_group_that_keeps_its_finalizer_keeps_the_definition() -> None:
    async with collected(new_api()) as client:
        made = await make(client)
        meta = {"metadata": {"finalizers": ["mine/keep"]}}
        await client.patch(GROUPS, meta, made["metadata"]["name"], "default")
        found = await find_groups(client)
        with pytest.raises(KubeError, match=r"still exists after 90 s \(finalizers: mine/keep\)"):
            await remove_groups(client, found, Fate.ORPHAN, lambda _line: None)
        assert now() >= 90
        assert await left(client) == ["RoleBasedGroup", *(kind.kind for kind in KEPT)]


@simulated
async def test_without_an_agreement_nothing_is_removed() -> None:
    async with collected(new_api()) as client:
        await make(client)
        with pytest.raises(Refused, match="--orphan-groups"):
            await remove_groups(client, await find_groups(client), Fate.KEEP, lambda _line: None)
        assert len(await left(client)) == 6
