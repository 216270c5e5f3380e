"""What `intact run --install` applies, and what keeps it from starting."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.resources import PUBS, RBGS
from intact.kube.transport import Request, Response
from intact.operator.errors import StartError
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS, install
from intact.sandbox import DEFAULT_KINDS, Kind, MemoryApi
from tests.unit.kube.simulated import now, simulated
from tests.unit.operator.install.cluster import new_api

NAMES = sorted(one["metadata"]["name"] for one in definitions())


async def names(client: Client) -> list[str]:
    return sorted(one["metadata"]["name"] for one in (await client.list(CRDS)).items)


@simulated
async def test_the_crds_are_applied_and_served() -> None:
    client = Client(new_api())
    await install(client)
    assert await names(client) == NAMES
    assert (await client.list(PUBS)).items == []
    assert (await client.list(RBGS)).items == []


@simulated
async def test_several_processes_may_install_at_once_and_again() -> None:
    client = Client(new_api())
    await asyncio.gather(*(install(client) for _ in range(3)))
    before = {one["metadata"]["uid"] for one in (await client.list(CRDS)).items}
    await install(client)
    assert {one["metadata"]["uid"] for one in (await client.list(CRDS)).items} == before


@simulated
async def test_a_crd_that_is_being_deleted_is_waited_for() -> None:
    client = Client(new_api())
    await install(client)
    old = await client.patch(CRDS, {"metadata": {"finalizers": ["test/keep"]}}, NAMES[0])
    await client.delete(CRDS, NAMES[0])
    installing = asyncio.create_task(install(client))
    await asyncio.sleep(10)
    assert not installing.done()
    await client.patch(CRDS, {"metadata": {"finalizers": None}}, NAMES[0])
    await installing
    new = await client.get(CRDS, NAMES[0])
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


@simulated
async def test_the_crd_of_another_product_is_not_overwritten() -> None:
    client = Client(new_api())
    theirs = definitions()[0]
    theirs["spec"]["versions"].append(theirs["spec"]["versions"][0] | {"name": "v9"})
    before = await client.create(CRDS, theirs)
    message = rf"has a CRD {theirs['metadata']['name']} with v9, which is not Intact's"
    with pytest.raises(StartError, match=message):
        await install(client)
    assert await client.get(CRDS, theirs["metadata"]["name"]) == before


@simulated
async def test_the_crd_of_another_product_is_not_overwritten_where_the_versions_are_the_same() -> (
    None
):
    client = Client(new_api())
    theirs = definitions()[0]
    generated = "controller-gen.kubebuilder.io/version"
    theirs["metadata"]["annotations"] = {generated: "v0.16.5"}
    before = await client.create(CRDS, theirs)
    with pytest.raises(StartError, match=rf"with the annotation {generated}, which is not"):
        await install(client)
    assert await client.get(CRDS, theirs["metadata"]["name"]) == before


NEVER = rf"the CRD {NAMES[0]} is not established after 60 s; kubectl describe crd"


@simulated
async def test_a_crd_that_is_never_established_ends_it() -> None:
    plain = Kind(CRDS.group, CRDS.version, CRDS.plural, CRDS.kind, namespaced=False)
    kinds = [kind for kind in DEFAULT_KINDS if kind.full_name != CRDS.full_name]
    with pytest.raises(StartError, match=NEVER):
        await install(Client(MemoryApi((*kinds, plain))))
    assert now() >= 60


class NotServing(MemoryApi):
    """Establishes definitions, and does not serve their kinds."""

    async def send(self, request: Request) -> Response:
        if request.path.startswith(f"/apis/{PUBS.group}/"):
            return Response(404, b"404 page not found")
        return await super().send(request)


@simulated
async def test_a_crd_that_is_established_and_not_served_ends_it() -> None:
    with pytest.raises(StartError, match=NEVER):
        await install(Client(NotServing()))
