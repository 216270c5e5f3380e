"""The leader: its Lease is held and renewed."""

import asyncio

from intact.cli.check.installation.found import Found, look
from intact.cli.check.installation.leader import leader
from intact.cli.check.installation.line import State
from intact.kube.client import Client
from intact.kube.errors import error_of_response
from intact.kube.resources import LEASES
from tests.unit.cli.check.installation.cluster import HOME, IMAGE, hold_lease, installed
from tests.unit.operator.install.cluster import new_api


async def renew(client: Client, namespace: str, holder: str) -> None:
    spec = {"holderIdentity": holder, "renewTime": "2026-01-01T00:00:00.000000Z"}
    await client.patch(LEASES, {"spec": spec}, "intact", namespace)


async def test_no_lease_is_no_leader() -> None:
    line = await leader(Client(new_api()), Found())
    assert (line.state, line.name) == (State.FAIL, "leader")


async def test_leases_that_may_not_be_read_are_skipped() -> None:
    found = Found(unread={"leases": error_of_response(403, b"{}")})
    assert (await leader(Client(new_api()), found)).state is State.SKIP


async def test_a_lease_that_is_renewed() -> None:
    _api, client = await installed(a=IMAGE)
    asked = asyncio.create_task(leader(client, await look(client), 60))
    await asyncio.sleep(0)
    await renew(client, HOME, "intact-a_1")
    line = await asked
    assert line.state is State.OK
    assert line.message == f"intact-a_1 holds the Lease {HOME}/intact and renews it"


async def test_a_lease_that_nobody_renews() -> None:
    _api, client = await installed(a=IMAGE)
    line = await leader(client, await look(client), 0.05)
    assert line.state is State.FAIL
    assert "intact-a_1 holds the Lease intact-system/intact and has not renewed" in line.message


async def test_a_leader_that_is_no_pod_of_the_deployment() -> None:
    _api, client = await installed(b=IMAGE)
    asked = asyncio.create_task(leader(client, await look(client), 60))
    await asyncio.sleep(0)
    await renew(client, HOME, "laptop_7")
    assert (await asked).state is State.WARN


async def test_two_installations() -> None:
    _api, client = await installed(a=IMAGE)
    await hold_lease(client, "laptop_7", "default")
    asked = asyncio.create_task(leader(client, await look(client), 60))
    await asyncio.sleep(0)
    await renew(client, HOME, "intact-a_1")
    await renew(client, "default", "laptop_7")
    assert (await asked).state is State.WARN
