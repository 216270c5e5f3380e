"""What `/metrics` shows of PodUnavailableBudgets, read from the controller at each scrape."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

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
    allowed = GaugeMetricFamily(
        "intact_budget_allowed_units", "Pods or groups that the budget lets go now.", labels=labels
    )
    counted = {"pods": 0, "groups": 0}
    for key, entry in controller.index.entries.items():
        status = entry.budget.status
        counted["pods" if entry.group_key is None else "groups"] += 1
        total.add_metric(key, status.total_replicas)
        available.add_metric(key, status.current_available)
        allowed.add_metric(key, status.unavailable_allowed)
    for mode, number in counted.items():
        modes.add_metric([mode], number)
    yield from (modes, total, available, allowed)


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
