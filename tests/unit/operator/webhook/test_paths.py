"""Which paths are answered: those with a token, and plain ones while they are registered."""

import asyncio

import pytest

from intact.kube.client import Client
from intact.operator.webhook import paths
from intact.operator.webhook.configuration import (
    MUTATING,
    VALIDATING,
    Address,
    ServiceAddress,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.operator.webhook.paths import LOOK_EVERY, PLAIN_AFTER, SecretPaths
from intact.sandbox import MemoryApi, Moment
from tests.unit.kube.simulated import simulated

PLAIN = ("/gate", "/gate/pdb-status", "/place")
TOKENS = ["a" * 32, "b" * 32]
SERVICE = ServiceAddress("intact-system", "intact-webhook")
URL = UrlAddress("127.0.0.1", 9443)


def made(api: MemoryApi) -> SecretPaths:
    return SecretPaths(Client(api), PLAIN, lambda: TOKENS)


async def register(api: MemoryApi, address: Address) -> None:
    client = Client(api)
    for resource, body in (
        (VALIDATING, validating_configuration(address, b"ca", (), PLAIN)),
        (MUTATING, mutating_configuration(address, b"ca", (), PLAIN)),
    ):
        await client.create(resource, body)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"/{TOKENS[0]}/gate", "/gate"),
        (f"/{TOKENS[1]}/gate/pdb-status", "/gate/pdb-status"),
        (f"/{TOKENS[0]}", ""),
        (f"/{TOKENS[0].upper()}/gate", None),
        (f"/{'c' * 32}/gate", None),
        (f"//{TOKENS[0]}/gate", None),
        (f"{TOKENS[0]}0/gate", None),
        ("/gate", None),
        ("/", None),
        ("", None),
        ("/\u00e9/gate", None),
    ],
)
@simulated
async def test_only_paths_with_a_token_are_answered(path: str, found: str | None) -> None:
    assert await made(MemoryApi()).route(path) == found


@pytest.mark.parametrize("address", [SERVICE, URL], ids=["service", "url"])
@simulated
async def test_a_plain_path_is_answered_while_it_is_registered(address: Address) -> None:
    api = MemoryApi()
    await register(api, address)
    served = made(api)
    assert await served.route("/gate") == "/gate"
    assert await served.route("/other") is None
    assert await served.route(f"/{TOKENS[0]}/gate") == "/gate"
    await Client(api).delete(VALIDATING, "intact")
    await Client(api).delete(MUTATING, "intact")
    await asyncio.sleep(PLAIN_AFTER - 1)
    assert await served.route("/gate") == "/gate", "an API server may be behind"
    await asyncio.sleep(PLAIN_AFTER)
    assert await served.route("/gate") is None


@simulated
async def test_with_tokens_registered_no_plain_path_is_answered() -> None:
    api = MemoryApi()
    await register(api, ServiceAddress("n", "s", prefix=f"/{TOKENS[0]}"))
    assert await made(api).route("/gate") is None


@simulated
async def test_strangers_cause_one_read_of_the_registration_in_a_while() -> None:
    api = MemoryApi()
    reads = 0

    def count(request: object) -> bool:
        nonlocal reads
        reads += 1
        return False

    served = made(api)
    api.faults.fail_randomly(1.0, Moment.BEFORE, count)
    await asyncio.gather(*(served.route("/gate") for _ in range(100)))
    assert reads == 2, "of each of the two configurations"
    await asyncio.sleep(LOOK_EVERY)
    await served.route("/gate")
    assert reads == 4


@simulated
async def test_a_registration_that_cannot_be_read_opens_nothing() -> None:
    api = MemoryApi()
    await register(api, SERVICE)
    api.faults.fail_randomly(1.0, Moment.BEFORE, lambda _request: True)
    assert await made(api).route("/gate") is None
    assert paths.LOOK_EVERY < PLAIN_AFTER
