"""Everything that `/metrics` shows.

Values are read from the parts themselves at each scrape: nothing is kept twice, and a series ends
with the thing that it describes. docs/reference/metrics.md lists them all; a test compares.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from intact.budget.pdb.group_decision import Verdict
from intact.budget.pub.decision import Decision
from intact.budget.pub.settings import Enforcement
from intact.kube.decoding import decoders
from intact.kube.lease import Election
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.model.admission import AdmissionResponse
from intact.operator.pdb.controller import PdbController
from intact.operator.pdb.metrics import metrics_of_pdbs
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import Asked
from intact.operator.pub.index import Entry
from intact.operator.pub.metrics import metrics_of_pubs
from intact.operator.rbg.controller import RbgController
from intact.operator.rbg.metrics import metrics_of_rbgs
from intact.operator.webhook.server import Handler
from intact.operator.workqueue_metrics import WorkqueueMetrics

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The registry of one process."""

    def __init__(self, election: Election) -> None:
        self._election = election
        self._reflectors: Callable[[], Sequence[Reflector[Any]]] = list
        self._pub: PubController | None = None
        self._pdb: PdbController | None = None
        self._rbg: RbgController | None = None
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._decisions = Counter(
            "intact_gate_decisions",
            "Decisions of budgets, by operation, answer and reason.",
            ["operation", "answer", "reason"],
            registry=self._registry,
        )
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

    def show_pub(self, replica: PubController) -> None:
        self._pub = replica

    def show_pdb(self, replica: PdbController) -> None:
        self._pdb = replica
        self._workqueues.show(replica.recounts)
        self._workqueues.show(replica.targets)

    def show_rbg(self, replica: RbgController) -> None:
        self._rbg = replica

    def observe(self, asked: Asked, _entry: Entry, decision: Decision, mode: Enforcement) -> None:
        """Count a decision of the gate."""
        answer = "allowed"
        if not decision.allowed:
            answer = {"Enforce": "denied", "Warn": "warned", "Audit": "audited"}[mode]
        self._decisions.labels(asked.operation, answer, decision.reason).inc()

    def observe_groups(self, verdict: Verdict) -> None:
        """Count a decision about an eviction under a PodDisruptionBudget that counts groups."""
        answer = "allowed" if verdict.allowed else "denied"
        self._decisions.labels("EVICT", answer, verdict.reason).inc()

    def timed(self, review: Handler) -> Handler:
        """The same handler, with its time taken."""

        async def timed(raw: msgspec.Raw) -> AdmissionResponse:
            with self._latency.time():
                return await review(raw)

        return timed

    def render(self) -> bytes:
        """In the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "intact_leader",
            "1 while this replica leads, 0 otherwise.",
            value=float(self._election.leads),
        )
        yield CounterMetricFamily(
            "intact_leader_transitions",
            "How often this replica has begun to lead.",
            value=self._election.transitions,
        )
        yield from self._of_reflectors()
        if self._pub is not None:
            yield from metrics_of_pubs(self._pub)
        yield from self._workqueues.collect()
        if self._pdb is not None:
            yield from metrics_of_pdbs(self._pdb)
        if self._rbg is not None:
            yield from metrics_of_rbgs(self._rbg)
        yield self._queues()

    def _queues(self) -> Metric:
        depth = GaugeMetricFamily(
            "intact_queue_depth", "Keys that wait for work.", labels=["queue"]
        )
        queues: list[Queue[Any]] = [self._pub.recounts, self._pub.gatings] if self._pub else []
        for queue in (*queues, *([self._rbg.queue] if self._rbg else [])):
            depth.add_metric([queue.name], len(queue))
        return depth

    def _of_reflectors(self) -> Iterable[Metric]:
        objects = GaugeMetricFamily(
            "intact_store_objects", "Objects in the local store.", labels=["resource"]
        )
        synced = GaugeMetricFamily(
            "intact_store_synced", "1 once everything has been listed.", labels=["resource"]
        )
        lists = CounterMetricFamily("intact_reflector_lists", "Full lists.", labels=["resource"])
        events = CounterMetricFamily(
            "intact_reflector_events", "Watch events received.", labels=["resource"]
        )
        restarts = CounterMetricFamily(
            "intact_reflector_restarts",
            "Lists and watches that failed and were begun again.",
            labels=["resource"],
        )
        undecodable = CounterMetricFamily(
            "intact_reflector_undecodable",
            "Objects left out because they do not have the expected shape.",
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
