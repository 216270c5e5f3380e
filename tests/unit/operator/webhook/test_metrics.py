"""The metrics of the webhooks' port, as they are shown."""

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from intact.kube.client import Client
from intact.operator.webhook.metrics import metrics_of_webhooks
from intact.operator.webhook.serving import Webhooks
from intact.sandbox import MemoryApi
from tests.unit.kube.simulated import simulated


async def at_once() -> None:
    """Nothing to wait for."""


@simulated
async def test_what_was_refused_and_replaced_is_shown() -> None:
    bind = ("127.0.0.1", 9443)
    webhooks = Webhooks(Client(MemoryApi()), "default", {}, bind, None, at_once)
    webhooks.refused["path"] += 3
    webhooks.certificates.replaced = 2

    class Shown(Collector):
        def collect(self) -> list[Metric]:
            return list(metrics_of_webhooks(webhooks))

    registry = CollectorRegistry()
    registry.register(Shown())
    text = generate_latest(registry).decode()
    assert 'intact_webhook_refused_total{reason="path"} 3.0' in text
    assert "intact_webhook_secret_replacements_total 2.0" in text
    assert "intact_webhook_connections 0.0" in text
