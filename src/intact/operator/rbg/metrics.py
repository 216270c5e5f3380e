"""What `/metrics` shows of RoleBasedGroups, read from their status at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.operator.rbg.controller import RbgController
from intact.operator.rbg.rollout_metrics import metrics_of_rollouts


def metrics_of_rbgs(controller: RbgController) -> Iterable[Metric]:
    yield from _of_roles(controller)
    yield from metrics_of_rollouts(controller.stores.groups.store, controller.rollouts)
    yield CounterMetricFamily(
        "intact_rbg_writes",
        "Write requests of the RoleBasedGroup controller.",
        value=controller.reconciler.writes,
    )


def _of_roles(controller: RbgController) -> Iterable[Metric]:
    labels = ["namespace", "group", "role"]
    desired = GaugeMetricFamily(
        "intact_rbg_role_desired_replicas",
        "Replicas that a role of a RoleBasedGroup should have.",
        labels=labels,
    )
    ready = GaugeMetricFamily(
        "intact_rbg_role_ready_replicas",
        "Ready replicas of a role of a RoleBasedGroup.",
        labels=labels,
    )
    updated = GaugeMetricFamily(
        "intact_rbg_role_updated_replicas",
        "Ready replicas of a role of a RoleBasedGroup that run its present template.",
        labels=labels,
    )
    for group in controller.stores.groups.store:
        meta = group.metadata
        for role in group.status.role_statuses:
            key = [meta.namespace, meta.name, role.name]
            desired.add_metric(key, role.desired)
            ready.add_metric(key, role.ready_replicas)
            updated.add_metric(key, role.updated_ready_replicas)
    yield from (desired, ready, updated)
