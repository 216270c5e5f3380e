"""Everything that `/metrics` shows.

Values are read from the parts themselves at each scrape: nothing is kept twice, and a series ends
with the thing that it describes. docs/reference/metrics.md lists them all; a test compares.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from intact.kube.decoding import decoders
from intact.kube.lease import Election
from intact.kube.reflector import Reflector


class Metrics:
    """The registry of one process."""

    def __init__(self, reflectors: Sequence[Reflector[Any]], election: Election) -> None:
        self._reflectors = reflectors
        self._election = election
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(self)

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
        for reflector in self._reflectors:
            labels = [reflector.resource.full_name]
            objects.add_metric(labels, len(reflector.store))
            synced.add_metric(labels, float(reflector.store.synced))
            lists.add_metric(labels, reflector.stats.lists)
            events.add_metric(labels, reflector.stats.events)
            restarts.add_metric(labels, reflector.stats.restarts)
            undecodable.add_metric(labels, decoders(reflector.resource).undecodable)
        yield from (objects, synced, lists, events, restarts, undecodable)
