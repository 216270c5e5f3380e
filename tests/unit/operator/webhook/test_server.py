"""The admission server: envelopes, failures, and its end."""

import asyncio
import gzip
import io
import resource
import ssl
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.model.admission import AdmissionRequest, AdmissionResponse
from intact.model.base import View
from intact.model.status import Status, StatusCause, StatusDetails
from intact.operator.errors import StartError
from intact.operator.listening import Limits
from intact.operator.webhook.certificates import Certificates
from intact.operator.webhook.server import Problems, reviewed, serving_webhooks
from intact.sandbox import MemoryApi
from tests.support.admission import review

NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
HOST = "127.0.0.1"
Answer = Callable[[msgspec.Raw], Awaitable[AdmissionResponse]]


@pytest.fixture
def certificates(runner: asyncio.Runner) -> Certificates:
    async def made() -> Certificates:
        client = Client(MemoryApi())
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
        await client.create(NAMESPACES, body)
        found = Certificates(client, "ns", [HOST], clock=lambda: datetime.now(UTC))
        await found.refresh()
        return found

    return runner.run(made())


def session(certificates: Certificates, *tracing: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    context = ssl.create_default_context(cadata=certificates.ca_bundle.decode())
    connector = aiohttp.TCPConnector(ssl=context)
    return aiohttp.ClientSession(connector=connector, trace_configs=list(tracing))


async def allow(_: msgspec.Raw) -> AdmissionResponse:
    return AdmissionResponse(allowed=True)


async def posted(
    certificates: Certificates, handler: Answer, body: bytes | io.BytesIO
) -> tuple[int, Any]:
    async with (
        serving_webhooks({"/gate": handler}, HOST, 0, certificates.context) as [address],
        session(certificates) as client,
        client.post(f"https://{address}/gate", data=body) as answer,
    ):
        text = await answer.text()
        return answer.status, msgspec.json.decode(text) if answer.status == 200 else text


async def test_a_handler_gets_the_request_and_its_answer_comes_back(
    certificates: Certificates,
) -> None:
    seen: list[AdmissionRequest] = []

    async def deny(raw: msgspec.Raw) -> AdmissionResponse:
        seen.append(msgspec.json.decode(raw, type=AdmissionRequest))
        details = StatusDetails(causes=[StatusCause(reason="DisruptionBudget", message="no")])
        status = Status(code=429, reason="TooManyRequests", message="not now", details=details)
        return AdmissionResponse(allowed=False, status=status, warnings=["beware"])

    body = review(
        "u-7",
        operation="DELETE",
        resource={"group": "", "version": "v1", "resource": "pods"},
        name="p",
        namespace="ns",
        userInfo={"username": "jane", "extra": {}},
        object=None,
        oldObject={"metadata": {"name": "p"}},
        dryRun=True,
    )
    status, answer = await posted(certificates, deny, body)

    assert status == 200
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u-7",
            "allowed": False,
            "status": {
                "code": 429,
                "reason": "TooManyRequests",
                "message": "not now",
                "details": {"causes": [{"reason": "DisruptionBudget", "message": "no"}]},
            },
            "warnings": ["beware"],
        },
    }
    [request] = seen
    assert (request.operation, request.name, request.user_info.username) == ("DELETE", "p", "jane")
    assert request.dry_run
    assert bytes(request.object) == b"null"
    assert msgspec.json.decode(request.old_object) == {"metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not an AdmissionReview"),
        (b"no json", "not an AdmissionReview"),
        (b"[]", "not an AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "`request`"),
        (review().replace(b'"uid"', b'"id"'), "`uid`"),
        (review().replace(b"/v1", b"/v1beta1"), "is not supported"),
        (b"\xff\xfe\x00", "not an AdmissionReview"),
        (review().replace(b"u-1", b"\xff"), "not an AdmissionReview"),
        (review().replace(b"u-1", b"\\ud800"), "not an AdmissionReview"),
    ],
)
async def test_what_is_no_review_is_a_bad_request(
    certificates: Certificates, body: bytes, problem: str
) -> None:
    status, text = await posted(certificates, allow, body)
    assert status == 400
    assert problem in text


async def test_a_handler_that_fails_is_a_failure_and_is_logged(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: msgspec.Raw) -> AdmissionResponse:
        raise ZeroDivisionError

    status, _ = await posted(certificates, fail, review("u-9"))
    assert status == 500
    assert "/gate: the admission review u-9 failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


class _Shape(View):
    operation: str


async def test_a_review_of_another_shape_is_a_bad_request(certificates: Certificates) -> None:
    async def read(raw: msgspec.Raw) -> AdmissionResponse:
        msgspec.json.decode(raw, type=_Shape)
        return AdmissionResponse(allowed=True)

    status, text = await posted(certificates, read, review(operation=5))
    assert status == 400
    assert "`$.operation`" in text


@pytest.mark.parametrize("text", [b"\xff", b"\\ud800"])
async def test_a_review_with_text_that_is_no_text_is_a_bad_request(
    certificates: Certificates, caplog: pytest.LogCaptureFixture, text: bytes
) -> None:
    async def read(raw: msgspec.Raw) -> AdmissionResponse:
        msgspec.json.decode(raw, type=AdmissionRequest)
        return AdmissionResponse(allowed=True)

    status, _ = await posted(certificates, read, review(name="NAME").replace(b"NAME", text))
    assert status == 400
    assert "Traceback" not in caplog.text


async def test_what_goes_wrong_again_and_again_is_told_once_a_minute(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(raw: msgspec.Raw) -> AdmissionResponse:
        if b"shape" in bytes(raw):
            msgspec.json.decode(raw, type=_Shape)
        raise ZeroDivisionError

    bodies = [b"no json", review().replace(b"/v1", b"/v9"), review("u"), review("shape")]
    problems = Problems()
    for number in range(50):
        for body in bodies:
            await reviewed("/gate", fail, body + b" " * number, problems)
    told = [one for one in caplog.records if one.name == "intact.operator.webhook.server"]
    assert len(told) == len(bodies)
    now = asyncio.get_running_loop().time
    problems._told = {key: now() - 61 for key in problems._told}
    await reviewed("/gate", fail, b"no json", problems)
    assert "(and 49 more times since the last such line)" in caplog.records[-1].getMessage()


async def test_large_reviews_are_read(certificates: Certificates) -> None:
    body = io.BytesIO(review(object={"data": "x" * 6_000_000}))
    status, _ = await posted(certificates, allow, body)
    assert status == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, identity", "x"])
async def test_a_compressed_review_is_refused_and_not_inflated(
    certificates: Certificates, encoding: str
) -> None:
    refused: Counter[str] = Counter()
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context, refused=refused) as [
            address
        ],
        session(certificates) as client,
        client.post(
            f"https://{address}/gate",
            data=gzip.compress(review(object={"data": "x" * 1000})),
            headers={"Content-Encoding": encoding},
        ) as answer,
    ):
        assert answer.status == 415
        assert refused == {"encoding": 1}


async def test_a_bomb_costs_no_memory(certificates: Certificates) -> None:
    """2.9 MiB of gzip may be 3 GiB of zeros; here they are 300 MiB."""
    packing = zlib.compressobj(wbits=31)
    bomb = b"".join([*(packing.compress(bytes(2**20)) for _ in range(300)), packing.flush()])
    before = peak()
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context) as [address],
        session(certificates) as client,
    ):
        for path in ("/gate", "/other"):
            headers = {"Content-Encoding": "gzip"}
            with suppress(aiohttp.ClientError):
                await client.post(f"https://{address}{path}", data=bomb, headers=headers)
    assert peak() - before < 50 * 2**20


def peak() -> int:
    """Bytes that this process had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def chunks(total: int) -> AsyncGenerator[bytes, None]:
    for _ in range(total // 2**20):
        yield b"x" * 2**20


@pytest.mark.parametrize("known", [True, False], ids=["length", "chunks"])
async def test_a_review_that_is_too_large_is_refused(
    certificates: Certificates, known: bool
) -> None:
    refused: Counter[str] = Counter()
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context, refused=refused) as [
            address
        ],
        session(certificates) as client,
    ):
        data: Any = io.BytesIO(bytes(17 * 2**20)) if known else chunks(40 * 2**20)
        with suppress(aiohttp.ClientError):
            async with client.post(f"https://{address}/gate", data=data) as answer:
                assert answer.status == 413
    assert refused == {"size": 1}


async def test_few_large_reviews_are_in_memory_at_once_also_while_they_are_answered(
    certificates: Certificates,
) -> None:
    running = most = 0

    async def wait(_: msgspec.Raw) -> AdmissionResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.2)
        running -= 1
        return AdmissionResponse(allowed=True)

    large = review(object={"data": "x" * 2_000_000})
    async with (
        serving_webhooks({"/gate": wait}, HOST, 0, certificates.context) as [address],
        session(certificates) as client,
    ):

        async def post(body: bytes) -> int:
            async with client.post(f"https://{address}/gate", data=io.BytesIO(body)) as answer:
                return answer.status

        assert set(await asyncio.gather(*(post(large) for _ in range(10)))) == {200}
        assert most == 4
        await asyncio.gather(*(post(review()) for _ in range(10)))
        assert most == 10


@pytest.mark.parametrize("where", ["object", "outside"])
async def test_a_review_that_nests_too_deeply_is_a_bad_request(
    certificates: Certificates, where: str
) -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    body = review(object="HERE").replace(b'"HERE"', deep)
    if where == "outside":
        body = b'{"other":' + deep + b"," + review()[1:]
    status, text = await posted(certificates, allow, body)
    assert status == 400
    assert len(text) < 500


async def test_what_is_refused_is_shown_in_part(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    body = review().replace(b"AdmissionReview", b"x" * 100_000)
    status, text = await posted(certificates, allow, body)
    assert status == 400
    assert max(len(text), len(caplog.text)) < 500


async def test_a_slow_body_is_refused_and_holds_up_nobody(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intact.operator.webhook.server._BODY", 0.3)
    refused: Counter[str] = Counter()
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context, refused=refused) as [
            address
        ],
        session(certificates) as client,
    ):
        host, _, port = address.rpartition(":")
        context = ssl.create_default_context(cadata=certificates.ca_bundle.decode())
        slow = [await asyncio.open_connection(host, int(port), ssl=context) for _ in range(8)]
        for _, writer in slow:
            writer.write(b"POST /gate HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n{")
        async with client.post(f"https://{address}/gate", data=review()) as answer:
            assert answer.status == 200
        assert b" 408 " in await slow[0][0].readline()
        async with asyncio.timeout(5):
            while refused["slow"] < 8:
                await asyncio.sleep(0.01)
        for _, writer in slow:
            writer.close()


async def test_idle_and_half_open_connections_do_not_lock_out_reviews(
    certificates: Certificates,
) -> None:
    limits = Limits(silent=8, unproven=8, proven=8, silent_for=0.1, unproven_for=0.3)
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context, limits=limits) as served,
        session(certificates) as client,
    ):
        [address] = served
        url = f"https://{address}/gate"
        host, _, port = address.rpartition(":")
        async with client.post(url, data=review()) as answer:
            assert answer.status == 200
        context = ssl.create_default_context(cadata=certificates.ca_bundle.decode())
        held = [await asyncio.open_connection(host, int(port), ssl=context) for _ in range(20)]
        for _ in range(20):
            stream = await asyncio.open_connection(host, int(port))
            stream[1].write(b"\x16\x03\x01\x02\x00\x01")
            held.append(stream)
        async with client.post(url, data=review()) as answer:
            assert answer.status == 200
        async with session(certificates) as other, other.post(url, data=review()) as answer:
            assert answer.status == 200
        assert len(served.port) <= 24
        for _, writer in held:
            writer.transport.abort()


async def test_a_client_that_has_only_shaken_hands_may_wait(certificates: Certificates) -> None:
    """Go keeps a connection that it had opened for a request which another one took."""
    limits = Limits(first_request=0.1)
    async with serving_webhooks({"/gate": allow}, HOST, 0, certificates.context, limits=limits) as [
        address
    ]:
        host, _, port = address.rpartition(":")
        context = ssl.create_default_context(cadata=certificates.ca_bundle.decode())
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        await asyncio.sleep(0.3)
        body = review()
        head = f"POST /gate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        assert b" 200 " in await reader.readline()
        writer.close()


async def test_other_paths_and_verbs_are_not_served(certificates: Certificates) -> None:
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context) as [address],
        session(certificates) as client,
    ):
        async with client.post(f"https://{address}/other", data=review()) as answer:
            assert answer.status == 404
        async with client.get(f"https://{address}/gate") as answer:
            assert answer.status == 405


async def test_running_admissions_are_finished_at_the_end(certificates: Certificates) -> None:
    entered, proceed = asyncio.Event(), asyncio.Event()

    async def slow(_: msgspec.Raw) -> AdmissionResponse:
        entered.set()
        await proceed.wait()
        return AdmissionResponse(allowed=True)

    async def ask(address: str) -> Any:
        async with (
            session(certificates) as client,
            client.post(f"https://{address}/gate", data=review()) as answer,
        ):
            return await answer.json()

    server = serving_webhooks({"/gate": slow}, HOST, 0, certificates.context)
    [address] = await server.__aenter__()
    asking = asyncio.create_task(ask(address))
    await entered.wait()
    ending = asyncio.create_task(server.__aexit__(None, None, None))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not ending.done()
    with pytest.raises(aiohttp.ClientConnectorError):
        await ask(address)
    proceed.set()
    assert (await asking)["response"]["allowed"] is True
    await ending


async def test_kept_connections_end_with_an_answer_and_never_cut_a_request_off(
    certificates: Certificates,
) -> None:
    """As requests come without a pause while the server ends."""
    server = serving_webhooks({"/gate": allow}, HOST, 0, certificates.context)
    [address] = await server.__aenter__()
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cadata=certificates.ca_bundle.decode())
    body = review()
    head = f"POST /gate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"

    async def ask(stream: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
        stream[1].write(head.encode() + body)
        headers = await stream[0].readuntil(b"\r\n\r\n")
        length = int(headers.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await stream[0].readexactly(length)
        return headers

    streams = [await asyncio.open_connection(host, int(port), ssl=context) for _ in range(3)]
    for stream in streams:
        assert b"Connection: close" not in await ask(stream)
    ending = asyncio.create_task(server.__aexit__(None, None, None))
    for stream in streams:
        await asyncio.sleep(0.2)
        assert not ending.done()
        assert b"Connection: close" in await ask(stream)
        assert await stream[0].read() == b""
    await ending


async def test_connections_are_kept(certificates: Certificates) -> None:
    made = 0

    async def count(*_: object) -> None:
        nonlocal made
        made += 1

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(count)
    async with (
        serving_webhooks({"/gate": allow}, HOST, 0, certificates.context) as [address],
        session(certificates, tracing) as client,
    ):
        for _ in range(5):
            async with client.post(f"https://{address}/gate", data=review()) as answer:
                await answer.read()
    assert made == 1


async def test_two_servers_may_share_one_port(certificates: Certificates) -> None:
    async with serving_webhooks({"/gate": allow}, HOST, 0, certificates.context) as [address]:
        port = int(address.rpartition(":")[2])
        async with serving_webhooks({"/gate": allow}, HOST, port, certificates.context) as other:
            assert other == [address]


async def test_an_address_that_is_not_ours_is_one_line(certificates: Certificates) -> None:
    with pytest.raises(StartError, match=r"cannot listen on 192\.0\.2\.1:9443: "):
        async with serving_webhooks({}, "192.0.2.1", 9443, certificates.context):
            pass


@pytest.mark.parametrize("depth", [900, *range(970, 995), 2000, 9000])
async def test_a_pod_that_nests_deeply_can_be_reviewed(depth: int) -> None:
    """Anyone may create it: the API server takes 10,000 levels."""

    async def read(raw: msgspec.Raw) -> AdmissionResponse:
        request = msgspec.json.decode(raw, type=AdmissionRequest)
        name = msgspec.json.decode(request.old_object, type=_Named).name
        return AdmissionResponse(allowed=True, warnings=[name])

    deep = b'{"f:a":' * depth + b"{}" + b"}" * depth
    body = review(oldObject={"name": "p", "fields": "HERE"}).replace(b'"HERE"', deep)
    answer = await reviewed("/gate", read, body, Problems())
    assert answer.status == 200
    assert isinstance(answer.body, bytes)
    assert msgspec.json.decode(answer.body)["response"]["warnings"] == ["p"]


class _Named(View):
    name: str
