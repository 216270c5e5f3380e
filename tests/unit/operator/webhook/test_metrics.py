"""The metrics of the webhooks' port, as they are shown."""

import re
from datetime import UTC, datetime

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from intact.kube.client import Client
from intact.operator.webhook.authority import CA_LIFE, LEAF_LIFE
from intact.operator.webhook.metrics import metrics_of_webhooks
from intact.operator.webhook.serving import Webhooks
from intact.sandbox import MemoryApi
from tests.unit.kube.simulated import simulated


async def at_once() -> None:
    """Nothing to wait for."""


def shown(webhooks: Webhooks) -> str:
    class Shown(Collector):
        def collect(self) -> list[Metric]:
            return list(metrics_of_webhooks(webhooks))

    registry = CollectorRegistry()
    registry.register(Shown())
    return generate_latest(registry).decode()


@simulated
async def test_what_was_refused_and_replaced_is_shown() -> None:
    bind = ("127.0.0.1", 9443)
    webhooks = Webhooks(Client(MemoryApi()), "default", {}, bind, None, at_once)
    webhooks.refused["path"] += 3
    webhooks.certificates.replaced = 2

    text = shown(webhooks)
    assert 'intact_webhook_refused_total{reason="path"} 3.0' in text
    assert "intact_webhook_secret_replacements_total 2.0" in text
    assert "intact_webhook_connections 0.0" in text


@simulated
async def test_certificates_show_when_they_end() -> None:
    bind = ("127.0.0.1", 9443)
    webhooks = Webhooks(Client(MemoryApi()), "default", {}, bind, None, at_once)
    assert "intact_certificate_expiry_timestamp_seconds{" not in shown(webhooks)
    before = datetime.now(UTC)
    await webhooks.certificates.refresh()
    name = r"^intact_certificate_expiry_timestamp_seconds"
    found = dict(
        re.findall(name + r'\{certificate="(\w+)"\} (\S+)$', shown(webhooks), re.MULTILINE)
    )
    left = {key: float(value) - before.timestamp() for key, value in found.items()}
    assert left == {
        "ca": pytest.approx(CA_LIFE.total_seconds(), abs=60),
        "serving": pytest.approx(LEAF_LIFE.total_seconds(), abs=60),
    }
