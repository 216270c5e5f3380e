"""The CA of the webhooks."""

from datetime import timedelta

import pytest

from intact.cli.check.installation.certificate import certificate, judge
from intact.cli.check.installation.found import Found, look
from intact.cli.check.installation.line import State
from intact.kube.client import Client
from intact.kube.resources import NAMESPACES
from intact.operator.webhook.authority import new_authority
from intact.operator.webhook.certificates import SECRET, SECRETS
from tests.unit.cli.check.installation.cluster import (
    AUTHORITY,
    HOME,
    NOW,
    bundle_text,
    hold_lease,
    register,
)
from tests.unit.operator.install.cluster import new_api


@pytest.mark.parametrize(
    ("days", "state"), [(300, State.OK), (30, State.WARN), (0, State.FAIL), (-1, State.FAIL)]
)
def test_the_end_of_the_certificate(days: int, state: State) -> None:
    assert judge(NOW + timedelta(days=days), NOW).state is state


async def cluster(bundle: bytes) -> Client:
    client = Client(new_api())
    await client.create(NAMESPACES, {"metadata": {"name": HOME}})
    await register(client, bundle)
    await hold_lease(client, "intact-a_1")
    return client


async def test_the_registered_ca() -> None:
    client = await cluster(AUTHORITY.bundle)
    line = await certificate(client, await look(client), NOW)
    assert (line.state, line.message) == (State.OK, "the CA is valid until 2027-01-01")


@pytest.mark.parametrize(("same", "state"), [(True, State.OK), (False, State.FAIL)])
async def test_the_ca_of_the_secret(same: bool, state: State) -> None:
    client = await cluster(AUTHORITY.bundle)
    bundle = AUTHORITY.bundle if same else new_authority(NOW).bundle
    body = {"metadata": {"name": SECRET}, "data": {"ca.crt": bundle_text(bundle)}}
    await client.create(SECRETS, body, HOME)
    assert (await certificate(client, await look(client), NOW)).state is state


async def test_what_is_no_certificate_fails() -> None:
    client = await cluster(b"nothing")
    assert (await certificate(client, await look(client), NOW)).state is State.FAIL


async def test_without_webhooks_there_is_none() -> None:
    assert (await certificate(Client(new_api()), Found(), NOW)).state is State.SKIP
