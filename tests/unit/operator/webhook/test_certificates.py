"""Certificates that replicas share and renew while they serve; time is simulated."""

import asyncio
import base64
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import msgspec
import pytest
from cryptography import x509

from intact.kube.client import Client
from intact.kube.errors import Invalid, KubeError, NotFound
from intact.kube.resources import untyped
from intact.model.admission import AdmissionResponse
from intact.model.status import Status
from intact.operator.webhook.authority import (
    CA_LIFE,
    CA_RENEWED_AFTER,
    LEAF_RENEWED_AFTER,
    TRUSTED_AFTER,
    Authority,
    new_authority,
)
from intact.operator.webhook.certificates import SECRET, Certificates, service_names
from intact.operator.webhook.server import serving_webhooks
from intact.sandbox import MemoryApi
from tests.support.admission import review
from tests.support.spoilt_authorities import SPOILT

SECRETS = untyped("", "v1", "secrets", "Secret")
NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
HOST = "127.0.0.1"
MINUTE = timedelta(minutes=1)


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    # Real handshakes judge by the real time, so the simulated one stays a little behind it.
    return Clock(datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3))


@pytest.fixture
def client(runner: asyncio.Runner) -> Client:
    client = Client(MemoryApi())
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
    runner.run(client.create(NAMESPACES, body))
    return client


def certificates(client: Client, clock: Clock) -> Certificates:
    return Certificates(client, "ns", [HOST], clock=clock)


async def secret_bundle(client: Client) -> bytes:
    secret = await client.get(SECRETS, SECRET, "ns")
    return base64.b64decode(secret["data"]["ca.crt"])


async def test_processes_that_start_at_once_share_one_authority(
    client: Client, clock: Clock
) -> None:
    replicas = [certificates(client, clock) for _ in range(5)]
    await asyncio.gather(*(replica.refresh() for replica in replicas))
    assert {replica.ca_bundle for replica in replicas} == {await secret_bundle(client)}


async def test_a_leaf_is_renewed_at_two_thirds_of_its_life(client: Client, clock: Clock) -> None:
    replica = certificates(client, clock)
    await replica.refresh()
    first = replica.expires
    clock.now += LEAF_RENEWED_AFTER - MINUTE
    await replica.refresh()
    assert replica.expires == first
    clock.now += MINUTE
    await replica.refresh()
    assert replica.expires == first + LEAF_RENEWED_AFTER


async def test_a_renewed_authority_is_told_before_anything_is_signed_by_it(
    client: Client, clock: Clock
) -> None:
    replicas = [certificates(client, clock) for _ in range(3)]
    told: list[int] = []
    for number, replica in enumerate(replicas):
        await replica.refresh()
        replica.subscribe(lambda number=number: told.append(number))  # type: ignore[misc]
    old = replicas[0].ca_bundle

    clock.now += CA_RENEWED_AFTER
    await asyncio.gather(*(replica.refresh() for replica in replicas))

    [bundle] = {replica.ca_bundle for replica in replicas}
    assert bundle.endswith(old)
    assert bundle != old
    assert sorted(told) == [0, 1, 2]
    assert {replica._signer.certificate for replica in replicas if replica._signer} == {old}

    clock.now += TRUSTED_AFTER + LEAF_RENEWED_AFTER
    await replicas[0].refresh()
    signer = replicas[0]._signer
    assert signer is not None
    assert signer.certificate != old

    clock.now += CA_LIFE - CA_RENEWED_AFTER
    await replicas[0].refresh()
    assert old not in replicas[0].ca_bundle


async def test_a_deleted_secret_is_put_back_as_it_was(client: Client, clock: Clock) -> None:
    replica, late = certificates(client, clock), certificates(client, clock)
    await replica.refresh()
    before, expires = replica.ca_bundle, replica.expires
    await client.delete(SECRETS, SECRET, "ns")
    clock.now += MINUTE
    await replica.refresh()
    await late.refresh()
    assert before == replica.ca_bundle == late.ca_bundle == await secret_bundle(client)
    assert replica.expires == expires


async def test_a_spoilt_secret_is_put_back_as_it_was(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    replica = certificates(client, clock)
    await replica.refresh()
    before = replica.ca_bundle
    await client.patch(SECRETS, {"data": {"ca.key": "bm90aGluZw=="}}, SECRET, "ns")
    await replica.refresh()
    assert replica.ca_bundle == before == await secret_bundle(client)
    assert "could not be used and was replaced" in caplog.text
    assert replica.replaced == 1


@pytest.mark.parametrize("name", SPOILT)
async def test_whatever_is_in_the_secret_a_process_starts_and_runs(
    client: Client, name: str
) -> None:
    bundle, key = (base64.b64encode(part).decode() for part in SPOILT[name]())
    data = {"data": {"ca.crt": bundle, "ca.key": key}}
    await client.create(SECRETS, {"metadata": {"name": SECRET}} | data, "ns")
    starting, running = (Certificates(client, "ns", [HOST]) for _ in range(2))
    await starting.refresh()
    await running.refresh()
    before = running.ca_bundle
    assert starting.ca_bundle == before == await secret_bundle(client)
    [*_] = await trusted(starting)

    await client.patch(SECRETS, data, SECRET, "ns")
    await running.refresh()
    assert await secret_bundle(client) == running.ca_bundle
    if name not in ("expired", "not yet valid"):
        assert running.ca_bundle == before, "what is in memory is restored"
        assert (starting.replaced, running.replaced) == (1, 1)
    await trusted(running)


async def trusted(replica: Certificates) -> tuple[str, ...]:
    """Shakes hands with a server of this replica, as a client that trusts its bundle."""
    served = serving_webhooks({}, HOST, 0, replica.context)
    async with served as [address]:
        host, port = address.split(":")
        context = trusting(replica.ca_bundle)
        _, writer = await asyncio.open_connection(host, int(port), ssl=context)
        cipher: tuple[str, ...] = writer.get_extra_info("cipher")
        writer.close()
        await writer.wait_closed()
        return cipher


async def test_a_secret_that_cannot_be_written_is_deleted_and_created(client: Client) -> None:
    """Immutable, or of another type."""
    replica = Certificates(client, "ns", [HOST])
    await client.create(SECRETS, {"metadata": {"name": SECRET}, "data": {"ca.crt": None}}, "ns")
    update = client.update

    async def refuse(*arguments: object, **options: object) -> object:
        client.update = update  # type: ignore[method-assign]
        raise Invalid(Status(code=422, message="field is immutable"))

    client.update = refuse  # type: ignore[assignment]
    old = await client.get(SECRETS, SECRET, "ns")
    await replica.refresh()
    new = await client.get(SECRETS, SECRET, "ns")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert await secret_bundle(client) == replica.ca_bundle


async def test_a_secret_is_told_as_replaced_although_another_process_creates_the_next_one(
    client: Client,
) -> None:
    """Between the deletion by one and the creation by it, the other one looks."""
    replica, other = Certificates(client, "ns", [HOST]), Certificates(client, "ns", [HOST])
    await client.create(SECRETS, {"metadata": {"name": SECRET}, "data": {"ca.crt": None}}, "ns")
    update, create = client.update, client.create

    async def refuse(*arguments: object, **options: object) -> object:
        client.update = update  # type: ignore[method-assign]
        raise Invalid(Status(code=422, message="field is immutable"))

    async def create_later(*arguments: Any, **options: Any) -> object:
        client.create = create  # type: ignore[method-assign]
        await other.refresh()
        return await create(*arguments, **options)

    client.update, client.create = refuse, create_later  # type: ignore[assignment, method-assign]
    await replica.refresh()
    assert replica.ca_bundle == other.ca_bundle == await secret_bundle(client)
    assert (replica.replaced, other.replaced) == (1, 0)


async def test_an_authority_of_somebody_else_is_taken_over(client: Client, clock: Clock) -> None:
    """The Secret was deleted and a new replica was faster: our leaf is worth nothing any more."""
    replica = certificates(client, clock)
    await replica.refresh()
    before = replica._leaf
    await client.delete(SECRETS, SECRET, "ns")
    other = certificates(client, clock)
    await other.refresh()
    await replica.refresh()
    assert replica.ca_bundle == other.ca_bundle
    assert replica._leaf != before


async def test_certificates_without_their_namespace_say_so(clock: Clock) -> None:
    replica = certificates(Client(MemoryApi()), clock)
    with pytest.raises(NotFound):
        await replica.refresh()


async def test_with_the_api_away_leaves_are_still_renewed(
    client: Client, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = certificates(client, clock)
    await replica.refresh()
    first = replica.expires

    async def away(*_: object) -> None:
        raise KubeError("the API is away")

    monkeypatch.setattr(client, "get", away)
    monkeypatch.setattr("intact.operator.webhook.certificates.CHECK_EVERY", 0)
    clock.now += LEAF_RENEWED_AFTER
    running = asyncio.create_task(replica.run())
    async with asyncio.timeout(60):
        while replica.expires == first:
            await asyncio.sleep(0)
    running.cancel()
    assert replica.error == "the API is away"


def test_the_names_of_a_service() -> None:
    assert service_names("ns", "gate") == ["gate.ns.svc", "gate.ns.svc.cluster.local"]


def trusting(bundle: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=bundle.decode())


async def test_everything_is_renewed_under_load_without_a_failed_request(
    client: Client, clock: Clock
) -> None:
    """Clients, half of them with a new connection for each request, trust what the registration
    says at that moment, while leaf and authority are renewed."""
    replica = certificates(client, clock)
    await replica.refresh()
    answered = 0
    done = asyncio.Event()

    async def allow(_: msgspec.Raw) -> AdmissionResponse:
        await asyncio.sleep(0.001)
        return AdmissionResponse(allowed=True)

    async def hammer(url: str, *, keep: bool) -> None:
        nonlocal answered
        while not done.is_set():
            connector = aiohttp.TCPConnector(ssl=trusting(replica.ca_bundle))
            async with aiohttp.ClientSession(connector=connector) as session:
                for _ in range(20 if keep else 1):
                    async with session.post(url, data=review()) as answer:
                        assert (await answer.json())["response"]["allowed"]
                    answered += 1

    async def more_answers(number: int) -> None:
        target = answered + number
        async with asyncio.timeout(120):
            while answered < target:
                await asyncio.sleep(0.005)

    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, replica.context) as [address],
        asyncio.TaskGroup() as group,
    ):
        for number in range(6):
            group.create_task(hammer(f"https://{address}/gate", keep=number % 2 == 0))
        leaves = set()
        for _ in range(20):
            leaves.add(await renewed_leaf(replica))
            await more_answers(10)
        clock.now += MINUTE
        await add_ca(replica, client, clock)
        await more_answers(60)
        clock.now += TRUSTED_AFTER
        leaves.add(await renewed_leaf(replica))
        assert replica._signer == replica._authority.cas[0]  # type: ignore[union-attr]
        await more_answers(60)
        done.set()
    assert len(leaves) == 21


async def renewed_leaf(replica: Certificates) -> bytes:
    """As if it were time: real handshakes would not take a leaf from the far future."""
    replica._leaf = None
    await replica.refresh()
    leaf = replica._leaf
    assert leaf is not None
    return leaf.certificate  # type: ignore[unreachable]


async def add_ca(replica: Certificates, client: Client, clock: Clock) -> None:
    """As another replica does when the CA is due."""
    known = replica._authority
    assert known is not None
    added = Authority((*new_authority(clock.now).cas, *known.cas))
    secret = await client.get(SECRETS, SECRET, "ns")
    for name, value in (("ca.crt", added.bundle), ("ca.key", added.keys)):
        secret["data"][name] = base64.b64encode(value).decode()
    await client.update(SECRETS, secret, SECRET, "ns")
    await replica.refresh()
    assert len(x509.load_pem_x509_certificates(replica.ca_bundle)) == 2
