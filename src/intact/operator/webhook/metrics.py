"""The metrics of the port of the webhooks."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.operator.webhook.serving import Webhooks


def metrics_of_webhooks(webhooks: Webhooks) -> Iterable[Metric]:
    refused = CounterMetricFamily(
        "intact_webhook_refused",
        "Requests to the port of the webhooks that were refused unread.",
        labels=["reason"],
    )
    for reason, number in webhooks.refused.items():
        refused.add_metric([reason], number)
    dropped = CounterMetricFamily(
        "intact_webhook_dropped_connections",
        "Connections closed to make room or because they were slow, by what they were.",
        labels=["stage"],
    )
    port = webhooks.port
    for stage, number in port.dropped.items() if port is not None else ():
        dropped.add_metric([stage], number)
    yield from (refused, dropped)
    yield GaugeMetricFamily(
        "intact_webhook_connections",
        "Connections to the port of the webhooks.",
        value=0 if port is None else len(port),
    )
    yield CounterMetricFamily(
        "intact_webhook_secret_replacements",
        "Times the Secret of the webhooks' CA could not be used and was replaced.",
        value=webhooks.certificates.replaced,
    )
    expiry = GaugeMetricFamily(
        "intact_certificate_expiry_timestamp_seconds",
        "When the webhooks' certificate, and the CA that signed it, end, in seconds since 1970.",
        labels=["certificate"],
    )
    for certificate, expires in webhooks.certificates.expiries().items():
        expiry.add_metric([certificate], expires.timestamp())
    yield expiry
