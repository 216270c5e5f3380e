"""The admission server: envelopes, failures, and its end."""

import asyncio
import io
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.model.admission import AdmissionRequest, AdmissionResponse
from intact.model.status import Status, StatusCause, StatusDetails
from intact.operator.errors import StartError
from intact.operator.webhook.certificates import Certificates
from intact.operator.webhook.server import serving_webhooks
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


async def test_large_reviews_are_read(certificates: Certificates) -> None:
    body = io.BytesIO(review(object={"data": "x" * 6_000_000}))
    status, _ = await posted(certificates, allow, body)
    assert status == 200


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
