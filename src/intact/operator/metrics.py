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
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import Asked
from intact.operator.pub.index import Entry
from intact.operator.rbg.controller import RbgController
from intact.operator.rbg.metrics import metrics_of_groups
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
        yield _gauge(
            "intact_leader", "1 while this replica leads, 0 otherwise.", self._election.leads
        )
        yield _counter(
            "intact_leader_transitions",
            "How often this replica has begun to lead.",
            self._election.transitions,
        )
        yield from self._of_reflectors()
        if self._pub is not None:
            yield from _of_budgets(self._pub)
            yield from _of_work(self._pub)
        yield from self._workqueues.collect()
        if self._pdb is not None:
            yield from _of_groups(self._pdb)
            yield from _of_disruption(self._pdb)
        if self._rbg is not None:
            yield from metrics_of_groups(self._rbg)
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


def _of_budgets(pub: PubController) -> Iterable[Metric]:
    modes = GaugeMetricFamily("intact_budgets", "Budgets by what they count.", labels=["mode"])
    labels = ["namespace", "budget"]
    total = GaugeMetricFamily(
        "intact_budget_total_units", "Pods or groups that there should be.", labels=labels
    )
    available = GaugeMetricFamily(
        "intact_budget_available_units", "Pods or groups that are available.", labels=labels
    )
    allowed = GaugeMetricFamily(
        "intact_budget_allowed_units", "Pods or groups that may go now.", labels=labels
    )
    counted = {"pods": 0, "groups": 0}
    for key, entry in pub.index.entries.items():
        status = entry.budget.status
        counted["pods" if entry.group_key is None else "groups"] += 1
        total.add_metric(key, status.total_replicas)
        available.add_metric(key, status.current_available)
        allowed.add_metric(key, status.unavailable_allowed)
    for mode, number in counted.items():
        modes.add_metric([mode], number)
    yield from (modes, total, available, allowed)


def _of_work(pub: PubController) -> Iterable[Metric]:
    commits, recounter = pub.commits, pub.recounter
    yield _counter(
        "intact_gate_commits", "Writes to budgets that carried admissions.", commits.commits
    )
    yield _counter(
        "intact_gate_committed_admissions",
        "Admissions stored by those writes.",
        commits.committed,
    )
    yield _counter(
        "intact_gate_conflicts",
        "Writes that came too late and were decided again.",
        commits.conflicts,
    )
    yield _counter("intact_recount_writes", "Writes of the recount to budgets.", recounter.writes)
    yield _counter(
        "intact_recount_conflicts",
        "Recounts that came too late and were made again.",
        recounter.conflicts,
    )


def _of_groups(pdb: PdbController) -> Iterable[Metric]:
    """By the names of KEP-5682."""
    scope = pdb.group_scope
    yield _gauge(
        "disruption_controller_pdbs_using_pod_grouping",
        "PodDisruptionBudgets that count groups.",
        len(scope.entries()),
    )
    modes = CounterMetricFamily(
        "disruption_controller_reconciliations",
        "Recounts of PodDisruptionBudgets, by what they count.",
        labels=["mode"],
    )
    for mode, number in pdb.reconciliations.items():
        modes.add_metric([mode], number)
    yield modes
    yield _counter(
        "disruption_controller_pdb_grouping_misconfig",
        "How often a budget that counts groups was found to be misconfigured.",
        scope.misconfigured,
    )
    yield _counter(
        "intact_group_recount_writes",
        "Status writes to PodDisruptionBudgets that count groups.",
        scope.writes,
    )
    yield _counter(
        "intact_group_recount_conflicts",
        "Those that came too late and were made again.",
        scope.conflicts,
    )


def _of_disruption(pdb: PdbController) -> Iterable[Metric]:
    yield _counter(
        "intact_disruption_writes",
        "Status writes of the disruption controller.",
        pdb.disruption.writes,
    )
    yield _counter(
        "intact_disruption_conflicts",
        "Status writes of the disruption controller that came too late and were made again.",
        pdb.disruption.conflicts,
    )
    yield _counter(
        "intact_disruption_other_writes",
        "Status writes to PodDisruptionBudgets by somebody else than us and the API server.",
        pdb.other_writers.seen,
    )
    yield _counter(
        "intact_disruption_cleared_targets",
        "Conditions DisruptionTarget that were stale and taken back.",
        pdb.stale_targets.cleared,
    )


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, value=value)
