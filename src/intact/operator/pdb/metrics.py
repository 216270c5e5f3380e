"""What `/metrics` shows of PodDisruptionBudgets, read from the parts at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.budget.pdb.annotations import counters_of
from intact.budget.pdb.group_conditions import is_working, told_never_allows
from intact.operator.pdb.controller import PdbController
from intact.operator.pdb.tallies import counting_groups


def metrics_of_pdbs(controller: PdbController) -> Iterable[Metric]:
    yield from _of_budgets(controller)
    yield from _of_groups(controller)
    yield from _of_disruption(controller)


def _of_budgets(controller: PdbController) -> Iterable[Metric]:
    """Of those that count groups."""
    labels = ["namespace", "budget"]
    total = GaugeMetricFamily(
        "intact_pdb_total_groups", "Groups that the budget expects.", labels=labels
    )
    available = GaugeMetricFamily(
        "intact_pdb_available_groups", "Groups that are available.", labels=labels
    )
    desired = GaugeMetricFamily(
        "intact_pdb_desired_groups", "Groups that the budget keeps available.", labels=labels
    )
    allowed = GaugeMetricFamily(
        "intact_pdb_allowed_groups", "Groups that the budget lets go now.", labels=labels
    )
    working = GaugeMetricFamily(
        "intact_pdb_working",
        "1 while the budget holds its groups as it says, 0 otherwise.",
        labels=labels,
    )
    never = GaugeMetricFamily(
        "intact_pdb_never_allows",
        "1 while no group could go even if all were available, 0 otherwise.",
        labels=labels,
    )
    refusal = GaugeMetricFamily(
        "intact_pdb_oldest_refusal_seconds",
        "Seconds since the oldest refusal that still stands; 0 if none does.",
        labels=labels,
    )
    oldest = controller.denials.oldest_standing(controller.pods.store)
    for entry, _ in counting_groups(controller.index):
        found = counters_of(entry.budget)
        if (works := is_working(entry.budget, found)) is not None:
            working.add_metric(entry.key, float(works))
        never.add_metric(entry.key, float(told_never_allows(entry.budget, found)))
        refusal.add_metric(entry.key, oldest.get(entry.budget.metadata.uid, 0.0))
        if found is not None:
            total.add_metric(entry.key, found.expected)
            available.add_metric(entry.key, found.available)
            desired.add_metric(entry.key, found.desired)
            allowed.add_metric(entry.key, found.allowed)
    denials = CounterMetricFamily(
        "intact_pdb_denials",
        "Evictions that a budget that counts groups has denied, by reason.",
        labels=[*labels, "reason"],
    )
    for key, reasons in controller.denied.items():
        for reason, number in reasons.items():
            denials.add_metric([*key, reason], number)
    yield from (total, available, desired, allowed, working, never, refusal, denials)


def _of_groups(controller: PdbController) -> Iterable[Metric]:
    """Under the names of KEP-5682, where it has any."""
    yield GaugeMetricFamily(
        "disruption_controller_pdbs_using_pod_grouping",
        "PodDisruptionBudgets that count groups.",
        value=len(counting_groups(controller.index)),
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
        value=controller.group_recount.misconfigured,
    )
    yield CounterMetricFamily(
        "intact_group_recount_writes",
        "Status writes to PodDisruptionBudgets that count groups.",
        value=controller.group_writer.writes,
    )
    yield CounterMetricFamily(
        "intact_group_recount_conflicts",
        "Those status writes that lost against another writer, and were retried.",
        value=controller.group_writer.conflicts,
    )


def _of_disruption(controller: PdbController) -> Iterable[Metric]:
    yield CounterMetricFamily(
        "intact_disruption_writes",
        "Status writes of the disruption controller.",
        value=controller.disruption_writer.writes,
    )
    yield CounterMetricFamily(
        "intact_disruption_conflicts",
        "Status writes of the disruption controller that lost against another, and were retried.",
        value=controller.disruption_writer.conflicts,
    )
    yield CounterMetricFamily(
        "intact_disruption_other_writes",
        "Status writes to PodDisruptionBudgets by others than Intact and the API server.",
        value=controller.other_writers.seen,
    )
    yield CounterMetricFamily(
        "intact_disruption_cleared_targets",
        "Stale conditions DisruptionTarget that were set to False.",
        value=controller.stale_targets.cleared,
    )
