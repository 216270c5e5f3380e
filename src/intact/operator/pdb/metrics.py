"""What `/metrics` shows of PodDisruptionBudgets, read from the parts at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.operator.pdb.controller import PdbController


def metrics_of_pdbs(controller: PdbController) -> Iterable[Metric]:
    yield from _of_groups(controller)
    yield from _of_disruption(controller)


def _of_groups(controller: PdbController) -> Iterable[Metric]:
    """By the names of KEP-5682."""
    scope = controller.group_scope
    yield GaugeMetricFamily(
        "disruption_controller_pdbs_using_pod_grouping",
        "PodDisruptionBudgets that count groups.",
        value=len(scope.entries()),
    )
    modes = CounterMetricFamily(
        "disruption_controller_reconciliations",
        "Recounts of PodDisruptionBudgets, by what they count.",
        labels=["mode"],
    )
    for mode, number in controller.reconciliations.items():
        modes.add_metric([mode], number)
    yield modes
    yield CounterMetricFamily(
        "disruption_controller_pdb_grouping_misconfig",
        "How often a budget that counts groups was found to be misconfigured.",
        value=scope.misconfigured,
    )
    yield CounterMetricFamily(
        "intact_group_recount_writes",
        "Status writes to PodDisruptionBudgets that count groups.",
        value=scope.writes,
    )
    yield CounterMetricFamily(
        "intact_group_recount_conflicts",
        "Those that came too late and were made again.",
        value=scope.conflicts,
    )


def _of_disruption(controller: PdbController) -> Iterable[Metric]:
    yield CounterMetricFamily(
        "intact_disruption_writes",
        "Status writes of the disruption controller.",
        value=controller.disruption.writes,
    )
    yield CounterMetricFamily(
        "intact_disruption_conflicts",
        "Status writes of the disruption controller that came too late and were made again.",
        value=controller.disruption.conflicts,
    )
    yield CounterMetricFamily(
        "intact_disruption_other_writes",
        "Status writes to PodDisruptionBudgets by somebody else than us and the API server.",
        value=controller.other_writers.seen,
    )
    yield CounterMetricFamily(
        "intact_disruption_cleared_targets",
        "Conditions DisruptionTarget that were stale and taken back.",
        value=controller.stale_targets.cleared,
    )
