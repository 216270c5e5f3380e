"""What `/metrics` shows of PodUnavailableBudgets, read from the controller at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intact.budget.pub.conditions import is_working, told_never_allows
from intact.operator.pub.controller import PubController


def metrics_of_pubs(controller: PubController) -> Iterable[Metric]:
    yield from _of_budgets(controller)
    yield from _of_work(controller)


def _of_budgets(controller: PubController) -> Iterable[Metric]:
    modes = GaugeMetricFamily("intact_budgets", "Budgets by what they count.", labels=["mode"])
    labels = ["namespace", "budget"]
    total = GaugeMetricFamily(
        "intact_budget_total_units", "Pods or groups that the budget expects.", labels=labels
    )
    available = GaugeMetricFamily(
        "intact_budget_available_units", "Pods or groups that are available.", labels=labels
    )
    desired = GaugeMetricFamily(
        "intact_budget_desired_units",
        "Pods or groups that the budget keeps available.",
        labels=labels,
    )
    allowed = GaugeMetricFamily(
        "intact_budget_allowed_units", "Pods or groups that the budget lets go now.", labels=labels
    )
    working = GaugeMetricFamily(
        "intact_budget_working",
        "1 while the budget holds its pods as it says, 0 otherwise.",
        labels=labels,
    )
    never = GaugeMetricFamily(
        "intact_budget_never_allows",
        "1 while no unit could go even if all were available, 0 otherwise.",
        labels=labels,
    )
    refusal = GaugeMetricFamily(
        "intact_budget_oldest_refusal_seconds",
        "Seconds since the oldest refusal that still stands; 0 if none does.",
        labels=labels,
    )
    oldest = controller.denials.oldest_standing(controller.pods.store)
    counted = {"pods": 0, "groups": 0}
    for key, entry in controller.index.entries.items():
        status = entry.budget.status
        counted["pods" if entry.group_key is None else "groups"] += 1
        total.add_metric(key, status.total_replicas)
        available.add_metric(key, status.current_available)
        desired.add_metric(key, status.desired_available)
        allowed.add_metric(key, status.unavailable_allowed)
        if (works := is_working(entry.budget)) is not None:
            working.add_metric(key, float(works))
        never.add_metric(key, float(told_never_allows(entry.budget)))
        refusal.add_metric(key, oldest.get(entry.budget.metadata.uid, 0.0))
    for mode, number in counted.items():
        modes.add_metric([mode], number)
    yield from (modes, total, available, desired, allowed, working, never, refusal)


def _of_work(controller: PubController) -> Iterable[Metric]:
    commits, recounter = controller.commits, controller.recounter
    yield CounterMetricFamily(
        "intact_gate_commits", "Writes to budgets that stored admissions.", value=commits.commits
    )
    yield CounterMetricFamily(
        "intact_gate_committed_admissions",
        "Admissions stored by those writes.",
        value=commits.committed,
    )
    yield CounterMetricFamily(
        "intact_gate_conflicts",
        "Writes of the gate that lost to another write and were decided again.",
        value=commits.conflicts,
    )
    yield CounterMetricFamily(
        "intact_recount_writes", "Writes of the recount to budgets.", value=recounter.writes
    )
    yield CounterMetricFamily(
        "intact_recount_conflicts",
        "Recounts that lost to another write and were made again.",
        value=recounter.conflicts,
    )
