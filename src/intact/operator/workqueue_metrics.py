"""The metrics that client-go keeps of a queue, under the same names: dashboards and alerts for
Kubernetes' own controllers also work for ours."""

import time
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.kube.queue import Queue

_BUCKETS = tuple(10.0**power for power in range(-8, 4))
"""Seconds: 10 ns to 1000 s."""


class WorkqueueMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._queues: list[tuple[Queue[Any], _Times]] = []
        self._waited = Histogram(
            "workqueue_queue_duration_seconds",
            "How long a key stays in the queue before it is worked on.",
            ["name"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._worked = Histogram(
            "workqueue_work_duration_seconds",
            "How long the work on a key takes.",
            ["name"],
            buckets=_BUCKETS,
            registry=registry,
        )

    def show(self, queue: Queue[Any]) -> None:
        times = _Times(self._waited.labels(queue.name), self._worked.labels(queue.name))
        queue.observer = times
        self._queues.append((queue, times))

    @property
    def queues(self) -> list[Queue[Any]]:
        return [queue for queue, _ in self._queues]

    def collect(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait for work.", labels=["name"])
        adds = CounterMetricFamily("workqueue_adds", "Keys added.", labels=["name"])
        retries = CounterMetricFamily(
            "workqueue_retries", "Keys added again after a failure.", labels=["name"]
        )
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Seconds of work in progress, of all keys together.",
            labels=["name"],
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "Seconds for which the oldest work in progress has run.",
            labels=["name"],
        )
        for queue, times in self._queues:
            labels = [queue.name]
            running = times.running()
            depth.add_metric(labels, len(queue))
            adds.add_metric(labels, queue.adds)
            retries.add_metric(labels, queue.retries)
            unfinished.add_metric(labels, sum(running))
            longest.add_metric(labels, max(running, default=0.0))
        yield from (depth, adds, retries, unfinished, longest)


class _Times:
    """When keys were added and taken."""

    def __init__(self, waited: Histogram, worked: Histogram) -> None:
        self._waited = waited
        self._worked = worked
        self._added: dict[Any, float] = {}
        self._taken: dict[Any, float] = {}

    def added(self, key: Any) -> None:
        self._added.setdefault(key, time.monotonic())

    def taken(self, key: Any) -> None:
        now = self._taken[key] = time.monotonic()
        added = self._added.pop(key, None)
        if added is not None:
            self._waited.observe(now - added)

    def done(self, key: Any) -> None:
        taken = self._taken.pop(key, None)
        if taken is not None:
            self._worked.observe(time.monotonic() - taken)

    def running(self) -> list[float]:
        now = time.monotonic()
        return [now - taken for taken in self._taken.values()]
