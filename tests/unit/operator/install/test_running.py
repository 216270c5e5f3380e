"""Whether Intact still runs: its Lease is renewed, or not."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.kube.resources import LEASES
from intact.operator.install.running import holders
from intact.sandbox import MemoryApi
from tests.unit.kube.simulated import now, simulated


async def lease(
    client: Client, holder: str, namespace: str = "default", name: str = "intact"
) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    await client.create(LEASES, {"metadata": {"name": name}, "spec": spec}, namespace)


async def renew(client: Client) -> None:
    for number in range(100):
        await asyncio.sleep(2)
        patch = {"spec": {"renewTime": f"2026-01-01T00:00:{number:02}.000000Z"}}
        await client.patch(LEASES, patch, "intact", "default")


@simulated
async def test_a_lease_that_is_renewed_is_held() -> None:
    client = Client(MemoryApi())
    await lease(client, "me")
    renewing = asyncio.create_task(renew(client))
    assert await holders(client, []) == ["Lease default/intact of me"]
    assert now() < 5
    assert await holders(client, ["default"]) == []
    renewing.cancel()


@simulated
async def test_the_lease_of_a_process_that_died_is_held_by_nobody_after_its_duration() -> None:
    client = Client(MemoryApi())
    await lease(client, "me")
    assert await holders(client, []) == []
    assert 15 <= now() < 20


@pytest.mark.parametrize("given_back", [True, False])
@simulated
async def test_a_lease_that_was_given_back_or_is_another_products_is_not_waited_for(
    given_back: bool,
) -> None:
    client = Client(MemoryApi())
    await (lease(client, "") if given_back else lease(client, "x", name="other"))
    assert await holders(client, []) == []
    assert now() == 0


@simulated
async def test_a_lease_that_goes_meanwhile_is_not_waited_for() -> None:
    client = Client(MemoryApi())
    await lease(client, "me")
    looking = asyncio.create_task(holders(client, []))
    await asyncio.sleep(2)
    await client.delete(LEASES, "intact", "default")
    assert await looking == []
    assert now() < 5
