"""Webhooks of others that could hold up Intact."""

from typing import Any

import pytest

from intact.cli.check.installation.line import State
from intact.cli.check.installation.other_webhooks import concerned, other_webhooks
from intact.kube.client import Client
from intact.kube.resources import NAMESPACES, untyped
from intact.operator.webhook.configuration import VALIDATING
from tests.unit.cli.check.installation.cluster import client_of, refused, register
from tests.unit.operator.install.cluster import new_api

LABELS = {"team-a": {"team": "a"}, "team-b": {"team": "b"}}
SERVICES = untyped("", "v1", "services", "Service")


def webhook(*resources: str, **given: Any) -> Any:
    rule = {
        "apiGroups": [given.pop("group", "")],
        "apiVersions": ["*"],
        "operations": [given.pop("operation", "CREATE")],
        "resources": list(resources),
    }
    return {"name": "pods.example.test", "rules": [rule]} | given


def selector(value: str) -> Any:
    return {"matchLabels": {"team": value}}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (webhook("pods/eviction"), ["pods/eviction"]),
        (webhook("pods/*"), ["pods/eviction"]),
        (webhook("*/*"), ["pods/eviction"]),
        (webhook("pods"), []),
        (webhook("*"), []),
        (webhook("pods/eviction", failurePolicy="Ignore"), []),
        (webhook("pods/eviction", operation="DELETE"), []),
        (webhook("pods/eviction", operation="*"), ["pods/eviction"]),
        (webhook("pods/eviction", namespaceSelector=selector("a")), ["pods/eviction"]),
        (webhook("pods/eviction", namespaceSelector=selector("c")), []),
        (webhook("pods/eviction", objectSelector=selector("a")), []),
        (
            webhook("poddisruptionbudgets/status", group="policy", operation="UPDATE"),
            ["poddisruptionbudgets/status"],
        ),
        (webhook("*", group="coordination.k8s.io", operation="UPDATE"), ["leases"]),
        (
            webhook("*/*", group="*", operation="UPDATE"),
            [
                "poddisruptionbudgets/status",
                "podunavailablebudgets/status",
                "rolebasedgroups/status",
                "leases",
            ],
        ),
    ],
)
def test_the_requests_that_a_webhook_could_break(given: Any, found: list[str]) -> None:
    assert concerned(given, LABELS) == found


async def cluster(**client_config: Any) -> Client:
    client = Client(new_api())
    await register(client)
    foreign = webhook("pods/eviction", clientConfig=client_config)
    await client.create(VALIDATING, {"metadata": {"name": "theirs"}, "webhooks": [foreign]})
    return client


async def test_no_others() -> None:
    client = Client(new_api())
    await register(client)
    [line] = await other_webhooks(client)
    assert (line.state, line.message) == (State.OK, "none of 0 can hold up Intact")


async def test_one_that_fails_closed_is_a_warning() -> None:
    [line] = await other_webhooks(await cluster(url="https://example.test"))
    assert line.state is State.WARN
    assert line.message.startswith(
        "pods.example.test (ValidatingWebhookConfiguration theirs) is asked about pods/eviction"
    )


async def test_one_that_the_server_could_not_call_fails() -> None:
    said = 'failed calling webhook "pods.example.test": refused'
    [line] = await other_webhooks(await cluster(url="https://example.test"), said)
    assert line.state is State.FAIL


@pytest.mark.parametrize(("exists", "state"), [(False, State.FAIL), (True, State.WARN)])
async def test_the_service_of_one(exists: bool, state: State) -> None:
    client = await cluster(service={"namespace": "theirs", "name": "hook"})
    await client.create(NAMESPACES, {"metadata": {"name": "theirs"}})
    if exists:
        await client.create(SERVICES, {"metadata": {"name": "hook"}}, "theirs")
    [line] = await other_webhooks(client)
    assert line.state is state


async def test_what_may_not_be_read_is_skipped() -> None:
    client = client_of(new_api(), lambda _request: refused(403, "no", "Forbidden"))
    [line] = await other_webhooks(client)
    assert line.state is State.SKIP
