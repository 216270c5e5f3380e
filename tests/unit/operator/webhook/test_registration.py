"""The webhook registration: written only when it must be, and kept as wanted."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.operator.webhook.configuration import (
    MUTATING,
    NAME,
    VALIDATING,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.operator.webhook.registration import Registration
from intact.sandbox import MemoryApi, Moment
from tests.unit.kube.simulated import simulated

ADDRESS = UrlAddress("127.0.0.1", 9443)
WANTED = validating_configuration(ADDRESS, b"a bundle")


@pytest.fixture
def client() -> Client:
    return Client(MemoryApi())


async def test_a_registration_is_created_and_then_left_alone(client: Client) -> None:
    registration = Registration(client, lambda: WANTED)
    assert await registration.ensure() is True
    before = await client.get(VALIDATING, NAME)
    assert await registration.ensure() is False
    assert (await client.get(VALIDATING, NAME)) == before


async def test_a_new_bundle_is_written(client: Client) -> None:
    wanted = WANTED
    registration = Registration(client, lambda: wanted)
    await registration.ensure()
    wanted = validating_configuration(ADDRESS, b"another")
    assert await registration.ensure() is True
    found = await client.get(VALIDATING, NAME)
    assert found.webhooks == wanted["webhooks"]


async def test_mutating_webhooks_are_registered_apart(client: Client) -> None:
    wanted = mutating_configuration(ADDRESS, b"a bundle")
    assert await Registration(client, lambda: wanted, MUTATING).ensure() is True
    assert (await client.get(MUTATING, NAME)).webhooks == wanted["webhooks"]


@simulated
async def test_edits_and_deletions_are_undone() -> None:
    client = Client(MemoryApi())
    registration = Registration(client, lambda: WANTED)
    keeping = asyncio.create_task(registration.keep_registered())
    await asyncio.sleep(5)
    await client.patch(VALIDATING, {"webhooks": []}, NAME)
    await asyncio.sleep(5)
    assert (await client.get(VALIDATING, NAME)).webhooks == WANTED["webhooks"]
    await client.delete(VALIDATING, NAME)
    await asyncio.sleep(5)
    assert (await client.get(VALIDATING, NAME)).webhooks == WANTED["webhooks"]
    keeping.cancel()


def test_a_failure_is_shown_logged_once_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def scene() -> None:
        api = MemoryApi()
        client = Client(api)
        registration = Registration(client, lambda: WANTED)
        api.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: request.path.endswith(NAME))
        keeping = asyncio.create_task(registration.keep_registered())
        await asyncio.sleep(300)
        assert "connection lost" in str(registration.error)
        logged = [one for one in caplog.records if one.name == Registration.__module__]
        assert len(logged) == 1
        api.faults.heal()
        await asyncio.sleep(60)
        assert registration.error is None
        assert (await client.get(VALIDATING, NAME)).webhooks == WANTED["webhooks"]
        keeping.cancel()

    scene()
