"""The webhook registration: what it says, and that it is written only when it must be."""

import asyncio
import base64
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.operator.webhook.configuration import (
    NAME,
    VALIDATING,
    ServiceAddress,
    UrlAddress,
    validating_configuration,
)
from intact.operator.webhook.registration import Registration
from intact.sandbox import MemoryApi

BUNDLE = b"a bundle"
WANTED = validating_configuration(UrlAddress("127.0.0.1", 9443), BUNDLE)


def by_name(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in body["webhooks"]}


def test_by_url() -> None:
    for webhook in WANTED["webhooks"]:
        assert webhook["clientConfig"] == {
            "url": f"https://127.0.0.1:9443{path_of(webhook)}",
            "caBundle": base64.b64encode(BUNDLE).decode(),
        }


def path_of(webhook: dict[str, Any]) -> str:
    others = {
        "budgets.intact.dev": "/validate/pub",
        "pdbs.intact.dev": "/validate/pdb",
        "groups.intact.dev": "/validate/rbg",
    }
    return others.get(webhook["name"], "/gate")


def test_only_what_is_answered_is_registered() -> None:
    body = validating_configuration(UrlAddress("127.0.0.1", 9443), BUNDLE, (), ["/validate/rbg"])
    assert list(by_name(body)) == ["groups.intact.dev"]


def test_by_url_with_an_ipv6_address() -> None:
    config = UrlAddress("::1", 9443).client_config("/gate")
    assert config == {"url": "https://[::1]:9443/gate"}


def test_by_service() -> None:
    body = validating_configuration(ServiceAddress("ns", "gate"), BUNDLE)
    for webhook in body["webhooks"]:
        service = webhook["clientConfig"]["service"]
        path = path_of(webhook)
        assert service == {"namespace": "ns", "name": "gate", "port": 443, "path": path}


def test_only_labelled_namespaces_are_gated_and_some_never() -> None:
    body = validating_configuration(ServiceAddress("ns", "gate"), BUNDLE, ["intact-system"])
    for name, webhook in by_name(body).items():
        expected = {
            "matchExpressions": [
                {"key": "intact.dev/gated", "operator": "In", "values": ["true"]},
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["intact-system", "kube-system"],
                },
            ]
        }
        assert webhook["namespaceSelector"] == (expected if ".gate." in name else {})


def test_all_fail_closed() -> None:
    assert {each["failurePolicy"] for each in WANTED["webhooks"]} == {"Fail"}


@pytest.fixture
def client() -> Client:
    return Client(MemoryApi())


async def test_it_is_created_and_then_left_alone(client: Client) -> None:
    registration = Registration(client, lambda: WANTED)
    assert await registration.ensure() is True
    before = await client.get(VALIDATING, NAME)
    assert await registration.ensure() is False
    assert (await client.get(VALIDATING, NAME)) == before


async def test_a_new_bundle_is_written(client: Client) -> None:
    wanted = WANTED
    registration = Registration(client, lambda: wanted)
    await registration.ensure()
    wanted = validating_configuration(UrlAddress("127.0.0.1", 9443), b"another")
    assert await registration.ensure() is True
    found = await client.get(VALIDATING, NAME)
    assert found.webhooks == wanted["webhooks"]


async def test_a_failure_is_shown_and_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registration = Registration(client, lambda: WANTED)
    failing, calls = True, 0
    real = client.get

    async def get(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if failing:
            raise KubeError("forbidden")
        return await real(*arguments, **options)

    monkeypatch.setattr(client, "get", get)
    keeping = asyncio.create_task(registration.keep_registered())
    try:
        async with asyncio.timeout(10):
            while calls < 2:
                await asyncio.sleep(0.01)
        assert "forbidden" in str(registration.error)
        assert caplog.text.count("forbidden") == 1
        failing = False
        async with asyncio.timeout(10):
            while registration.error is not None:
                await asyncio.sleep(0.01)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert (await real(VALIDATING, NAME)).webhooks == WANTED["webhooks"]
