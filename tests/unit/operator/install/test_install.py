"""What `intact run --install` applies, and what keeps it from starting."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.resources import PUBS, RBGS
from intact.kube.transport import Request, Response
from intact.operator.errors import StartError
from intact.operator.install.crds import definitions
from intact.operator.install.foreign import CONTROLLER_OF
from intact.operator.install.install import CRDS, install, refuse_foreign
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", ["v9", ""])
@simulated
async def test_the_crd_of_another_product_is_not_overwritten(name: str, version: str) -> None:
    """With other versions, or with the same."""
    client = Client(new_api())
    [theirs] = [each for each in definitions() if each["metadata"]["name"] == name]
    del theirs["metadata"]["labels"]
    if version:
        theirs["spec"]["versions"].append(theirs["spec"]["versions"][0] | {"name": version})
    before = await client.create(CRDS, theirs, field_manager="kubectl")
    with pytest.raises(StartError, match=rf"the CRD {name} with .*Intact did not install"):
        await install(client)
    assert await client.get(CRDS, name) == before
    assert await names(client) == [name], "nor is any other applied"
    # Without the controller that needs it, Intact can be installed.
    others = {"pub", "pdb", "rbg"} - {CONTROLLER_OF[name]}
    await install(client, others)
    assert await client.get(CRDS, name) == before


@simulated
async def test_an_own_crd_without_the_label_is_applied_again() -> None:
    client = Client(new_api())
    await install(client)
    await client.patch(CRDS, {"metadata": {"labels": None}}, NAMES[0], field_manager="kubectl")
    await install(client)
    assert (await client.get(CRDS, NAMES[0]))["metadata"]["labels"]


@simulated
async def test_a_leader_does_not_begin_beside_another_products_crd() -> None:
    client = Client(new_api())
    await refuse_foreign(client, ("rbg",))  # no CRD yet
    await install(client)
    await refuse_foreign(client, ("pub", "rbg"))
    await client.delete(CRDS, RBGS.full_name)
    [theirs] = [each for each in definitions() if each["metadata"]["name"] == RBGS.full_name]
    del theirs["metadata"]["labels"]
    await client.create(CRDS, theirs, field_manager="kubectl")
    await refuse_foreign(client, ("pub",))
    with pytest.raises(StartError, match="which Intact did not install"):
        await refuse_foreign(client, ("pub", "rbg"))


class Failing(MemoryApi):
    """Answers the first requests with this status."""

    def __init__(self, status: int, times: int) -> None:
        super().__init__()
        self.status, self.left = status, times

    async def send(self, request: Request) -> Response:
        if self.left:
            self.left -= 1
            return Response(self.status, b"{}")
        return await super().send(request)


@pytest.mark.parametrize(("status", "waited"), [(500, True), (403, False)])
@simulated
async def test_a_leader_asks_again_unless_it_may_not_know(status: int, waited: bool) -> None:
    api = Failing(status, 12)
    await refuse_foreign(Client(api), ("pub", "rbg"))
    assert (now() >= 2) is waited
    assert (api.left == 0) is waited


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
