"""Everything that `/metrics` shows.

Values are read from the parts themselves at each scrape: nothing is kept twice, and a series ends
with the object that it describes. docs/reference/metrics.md lists them all; a test compares.
"""

import platform
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from intact import __version__
from intact.budget.enforcement import Enforcement
from intact.budget.pdb.group_decision import Verdict
from intact.budget.pub.decision import Decision
from intact.kube.decoding import decoders
from intact.kube.lease import Election
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS, PUBS
from intact.kube.store import key_of
from intact.model.admission import AdmissionResponse
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.controller import PdbController
from intact.operator.pdb.metrics import metrics_of_pdbs
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import Asked
from intact.operator.pub.index import PubEntry
from intact.operator.pub.metrics import metrics_of_pubs
from intact.operator.rbg.controller import RbgController
from intact.operator.rbg.metrics import metrics_of_rbgs
from intact.operator.webhook.decisions import Decisions
from intact.operator.webhook.metrics import metrics_of_webhooks
from intact.operator.webhook.server import Handler
from intact.operator.webhook.serving import Webhooks
from intact.operator.workqueue_metrics import WorkqueueMetrics

_ANSWERS = {
    Enforcement.ENFORCE: "denied",
    Enforcement.WARN: "warned",
    Enforcement.AUDIT: "audited",
}
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_FOR_GOOD = 10
"""Failures in a row that are no passing trouble: the waits between them add up to some seconds."""


class Metrics:
    """The registry of one process."""

    def __init__(self, election: Election) -> None:
        self._election = election
        self._reflectors: Callable[[], Sequence[Reflector[Any]]] = list
        self._controllers: list[Callable[[], Iterable[Metric]]] = []
        self._queues: list[Queue[Any]] = []
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._decisions = Decisions()
        self._latency = Histogram(
            "intact_gate_decision_seconds",
            "Time from an admission review to its answer.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._workqueues = WorkqueueMetrics(self._registry)
        self._registry.register(self)

    def show_reflectors(self, reflectors: Callable[[], Sequence[Reflector[Any]]]) -> None:
        self._reflectors = reflectors

    def show_pub(self, controller: PubController) -> None:
        self._controllers.append(partial(metrics_of_pubs, controller))
        budgets = controller.budgets.store
        self._decisions.follow(PUBS.kind, lambda key: budgets.get(*key) is not None)
        self._queues += (controller.recounts, controller.gatings)

    def show_pdb(self, controller: PdbController) -> None:
        self._controllers.append(partial(metrics_of_pdbs, controller))
        budgets = controller.budgets.store
        self._decisions.follow(PDBS.kind, lambda key: budgets.get(*key) is not None)
        # Under client-go's names, as kube-controller-manager shows the queues of its own.
        self._workqueues.show(controller.recounts)
        self._workqueues.show(controller.targets)

    def show_rbg(self, controller: RbgController) -> None:
        self._controllers.append(partial(metrics_of_rbgs, controller))
        self._queues.append(controller.queue)

    def show_webhooks(self, webhooks: Webhooks) -> None:
        self._controllers.append(partial(metrics_of_webhooks, webhooks))

    def observe_pub(
        self, asked: Asked, entry: PubEntry, decision: Decision, mode: Enforcement
    ) -> None:
        """Count a decision under a PodUnavailableBudget."""
        answer = "allowed" if decision.allowed else _ANSWERS[mode]
        self._decisions.count((PUBS.kind, *entry.key), asked.operation, answer, decision.reason)

    def observe_pdb(self, budget: PodDisruptionBudget, verdict: Verdict, mode: Enforcement) -> None:
        """Count a decision about an eviction under a PodDisruptionBudget that counts groups."""
        answer = "allowed" if verdict.allowed else _ANSWERS[mode]
        self._decisions.count((PDBS.kind, *key_of(budget)), "EVICT", answer, verdict.reason)

    def timed(self, review: Handler) -> Handler:
        """The same handler, which also measures how long it takes."""

        async def timed(raw: msgspec.Raw) -> AdmissionResponse:
            with self._latency.time():
                return await review(raw)

        return timed

    def render(self) -> bytes:
        """In the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        yield _build_info()
        yield GaugeMetricFamily(
            "intact_leader",
            "1 while this process leads, 0 otherwise.",
            value=float(self._election.leads),
        )
        yield CounterMetricFamily(
            "intact_leader_transitions",
            "How often this process has begun to lead.",
            value=self._election.transitions,
        )
        yield from self._of_reflectors()
        yield self._decisions.collect()
        for read in self._controllers:
            yield from read()
        yield from self._workqueues.collect()
        yield from self._of_queues()

    def _of_queues(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "intact_queue_depth", "Keys that wait for work.", labels=["queue"]
        )
        failing = GaugeMetricFamily(
            "intact_queue_failing",
            f"Keys whose work has failed {_FOR_GOOD} times in a row or more.",
            labels=["queue"],
        )
        for queue in self._queues:
            depth.add_metric([queue.name], len(queue))
        for queue in (*self._queues, *self._workqueues.queues):
            failing.add_metric([queue.name], queue.failing(_FOR_GOOD))
        yield from (depth, failing)

    def _of_reflectors(self) -> Iterable[Metric]:
        objects = GaugeMetricFamily(
            "intact_store_objects", "Objects in the local store.", labels=["resource"]
        )
        synced = GaugeMetricFamily(
            "intact_store_synced", "1 once all objects have been listed.", labels=["resource"]
        )
        lists = CounterMetricFamily("intact_reflector_lists", "Full lists.", labels=["resource"])
        events = CounterMetricFamily(
            "intact_reflector_events", "Watch events received.", labels=["resource"]
        )
        restarts = CounterMetricFamily(
            "intact_reflector_restarts",
            "Lists and watches that failed and were started again.",
            labels=["resource"],
        )
        undecodable = CounterMetricFamily(
            "intact_reflector_undecodable",
            "Objects ignored because they do not have the expected shape.",
            labels=["resource"],
        )
        for reflector in self._reflectors():
            labels = [reflector.name]
            objects.add_metric(labels, len(reflector.store))
            synced.add_metric(labels, float(reflector.store.synced))
            lists.add_metric(labels, reflector.stats.lists)
            events.add_metric(labels, reflector.stats.events)
            restarts.add_metric(labels, reflector.stats.restarts)
            undecodable.add_metric(labels, decoders(reflector.resource).undecodable)
        yield from (objects, synced, lists, events, restarts, undecodable)


def _build_info() -> Metric:
    info = GaugeMetricFamily(
        "intact_build_info",
        "1, with what this process is made of.",
        labels=["version", "python_version"],
    )
    info.add_metric([__version__, platform.python_version()], 1)
    return info
