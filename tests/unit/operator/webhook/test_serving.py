"""The webhooks of one process: certificate first, then the server, then the registration."""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.model.admission import AdmissionResponse
from intact.operator.webhook.configuration import (
    GATE_PATH,
    MUTATING,
    NAME,
    VALIDATING,
    UrlAddress,
    WebhookConfiguration,
    validating_configuration,
)
from intact.operator.webhook.serving import Webhooks
from intact.sandbox import MemoryApi, Moment
from tests.support.admission import review

HOST = "127.0.0.1"


async def allow(_: msgspec.Raw) -> AdmissionResponse:
    return AdmissionResponse(allowed=True)


async def at_once() -> None:
    """Nothing to wait for."""


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def serving(
    api: MemoryApi,
    port: int,
    wait_ready: Callable[[], Awaitable[None]] = at_once,
    service: tuple[str, str] | None = None,
) -> AsyncGenerator[Webhooks, None]:
    bind = (HOST, port)
    webhooks = Webhooks(Client(api), "default", {GATE_PATH: allow}, bind, service, wait_ready)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part()) for part in (webhooks.run, webhooks.keep_registered)]
        yield webhooks
        for task in tasks:
            task.cancel()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await holds():
            await asyncio.sleep(0.01)


async def registered(api: MemoryApi) -> WebhookConfiguration | None:
    try:
        return await Client(api).get(VALIDATING, NAME)
    except NotFound:
        return None


async def test_a_review_is_answered_under_the_registered_authority(port: int) -> None:
    api = MemoryApi()

    async def is_registered() -> bool:
        return await registered(api) is not None

    async with serving(api, port) as webhooks:
        await until(is_registered)
        assert webhooks.problem() is None
        found = await registered(api)
        assert found is not None
        assert found.webhooks is not None
        config = found.webhooks[0]["clientConfig"]
        token = webhooks.certificates.token
        assert config["url"] == f"https://{HOST}:{port}/{token}{GATE_PATH}"
        context = ssl.create_default_context(cadata=base64.b64decode(config["caBundle"]).decode())
        connector = aiohttp.TCPConnector(ssl=context)
        async with (
            aiohttp.ClientSession(connector=connector) as client,
            client.post(config["url"], data=review()) as answer,
        ):
            assert (await answer.json())["response"]["allowed"] is True
            for path in (GATE_PATH, f"/{'0' * 32}{GATE_PATH}"):
                url = f"https://{HOST}:{port}{path}"
                async with client.post(url, data=review()) as refused:
                    assert refused.status == 404
        assert webhooks.refused == {"path": 2}
    assert (await Client(api).get(MUTATING, NAME)).webhooks == []  # none of its paths is served


async def test_a_registration_of_the_version_before_gets_its_tokens_later(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until replicas of that version are gone: they know only paths without."""
    monkeypatch.setattr("intact.operator.webhook.serving.PLAIN_FOR", 1.0)
    api = MemoryApi()
    old = validating_configuration(UrlAddress(HOST, port), b"old", (), {GATE_PATH})
    await Client(api).create(VALIDATING, old)
    seen: list[str] = []

    async def has_token() -> bool:
        found = await registered(api)
        assert found is not None
        assert found.webhooks is not None
        config = found.webhooks[0]["clientConfig"]
        bundle = base64.b64decode(config["caBundle"])
        if bundle != b"old" and config["url"] not in seen:
            context = ssl.create_default_context(cadata=bundle.decode())
            async with (
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client,
                client.post(config["url"], data=review()) as answer,
            ):
                assert answer.status == 200
            seen.append(config["url"])
        return len(seen) == 2

    async with serving(api, port) as webhooks:
        await until(has_token)
        token = webhooks.certificates.token
    base = f"https://{HOST}:{port}"
    assert seen == [f"{base}{GATE_PATH}", f"{base}/{token}{GATE_PATH}"]


async def test_nothing_is_answered_or_registered_before_it_is_ready(port: int) -> None:
    api, ready = MemoryApi(), asyncio.Event()

    async def wait() -> None:
        await ready.wait()

    async with serving(api, port, wait) as webhooks:
        await asyncio.sleep(0.1)
        assert webhooks.problem() == "not served yet"
        assert await registered(api) is None
        ready.set()

        async def is_served() -> bool:
            return webhooks.problem() is None

        await until(is_served)


async def test_without_a_certificate_the_problem_is_shown(port: int) -> None:
    api = MemoryApi()
    api.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: "secrets" in request.path)
    webhooks = Webhooks(Client(api), "default", {GATE_PATH: allow}, (HOST, port), None, at_once)
    running = asyncio.create_task(webhooks.run())

    async def is_shown() -> bool:
        return "connection lost" in str(webhooks.problem())

    await until(is_shown)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_behind_a_service_its_own_namespace_is_never_gated(port: int) -> None:
    api = MemoryApi()

    async def is_registered() -> bool:
        return await registered(api) is not None

    async with serving(api, port, service=("default", "intact-webhook")):
        await until(is_registered)
    found = await registered(api)
    assert found is not None
    assert found.webhooks is not None
    assert found.webhooks[0]["clientConfig"]["service"]["name"] == "intact-webhook"
    never = found.webhooks[0]["namespaceSelector"]["matchExpressions"][1]["values"]
    assert never == ["default", "kube-system"]
