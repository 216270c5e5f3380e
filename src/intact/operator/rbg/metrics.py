"""What `/metrics` shows of groups, read from their status and from the parts at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.operator.rbg.controller import RbgController
from intact.operator.rbg.rollout_metrics import metrics_of_rollouts


def metrics_of_rbgs(replica: RbgController) -> Iterable[Metric]:
    yield from _of_roles(replica)
    yield from metrics_of_rollouts(replica.stores.groups.store, replica.rollouts)
    yield CounterMetricFamily(
        "intact_rbg_writes",
        "Requests of the groups' controller that write.",
        value=replica.reconciler.writes,
    )


def _of_roles(replica: RbgController) -> Iterable[Metric]:
    labels = ["namespace", "group", "role"]
    desired = GaugeMetricFamily(
        "intact_rbg_role_desired_replicas", "Replicas that there should be.", labels=labels
    )
    ready = GaugeMetricFamily(
        "intact_rbg_role_ready_replicas", "Replicas that are ready.", labels=labels
    )
    updated = GaugeMetricFamily(
        "intact_rbg_role_updated_replicas",
        "Ready replicas that run the present template.",
        labels=labels,
    )
    for group in replica.stores.groups.store:
        meta = group.metadata
        for role in group.status.role_statuses:
            key = [meta.namespace, meta.name, role.name]
            desired.add_metric(key, role.desired)
            ready.add_metric(key, role.ready_replicas)
            updated.add_metric(key, role.updated_ready_replicas)
    yield from (desired, ready, updated)
