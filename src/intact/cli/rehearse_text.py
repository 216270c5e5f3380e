"""The report of a rehearsal for people."""

from collections.abc import Iterable

from intact.cli.durations import duration
from intact.cli.output import counted
from intact.cli.tables import table
from intact.sandbox.rehearsal.report import BudgetReport, Comparison, Report, StartTime

_MOST_PODS = 40
"""Of the order in which pods go; JSON has all."""
_ENDED = {
    "done": "goes through",
    "still": "does not go through: after {last} nothing changes any more",
    "horizon": "does not go through within {last}",
}
_SOURCES = {
    "observed": "median of {pods}",
    "given": "given",
    "default": "assumed: no pod of it is ready",
}


def text(report: Report) -> str:
    parts = [
        [_headline(report)],
        _nodes(report),
        _never(report),
        _budgets(report.budgets),
        _groups(report),
        _order(report),
        _start_times(report),
        report.notes,
        _comparison(report, report.with_intact),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _headline(report: Report) -> str:
    said = _ENDED[report.ended].format(last=duration(report.took))
    if report.ended == "done" and not report.goes_through:
        said = "does not go through: some pods never go, or find no place"
    after = ""
    if report.ended == "done":
        after = f", after {duration(report.took)}; all is ready after {duration(report.recovered)}"
    never = counted(len(report.never), "never does", "never do")
    went = f"{counted(len(report.pods), 'pod goes', 'pods go')}, {never}"
    groups = f"groups break {times(report.breaks)}"
    return f"{report.action} {said}{after}\n{went}; {groups}"


def _nodes(report: Report) -> list[str]:
    if not report.nodes:
        return []
    rows = [["NODE", "PODS", "BEGINS", "EMPTY"]]
    for each in report.nodes:
        empty = "never" if each.empty is None else duration(each.empty)
        begun = "never" if each.begun is None else duration(each.begun)
        rows.append([each.name, str(each.pods), begun, empty])
    refused = [
        f"kubectl drain {each.name} stops before it evicts anything: {each.refusal}. "
        "The rehearsal goes on without that."
        for each in report.nodes
        if each.refusal
    ]
    return [*table(rows), *refused]


def _never(report: Report) -> list[str]:
    lines = []
    if report.never:
        lines.append("Pods that never go:")
        lines += [
            f"  {each.namespace}/{each.pod} on {each.node} ({each.why}): {each.message}"
            for each in report.never
        ]
    if report.unplaced:
        lines.append("Pods that find no place:")
        lines += [
            f"  {each.namespace}/{each.pod} of {each.workload}: {each.message}"
            for each in report.unplaced
        ]
    if report.lost:
        lines.append("Pods that do not come back:")
        lines += [f"  {each.namespace}/{each.pod}: {each.message}" for each in report.lost]
    return lines


def _budgets(budgets: Iterable[BudgetReport]) -> list[str]:
    rows = [["BUDGET", "COUNTS", "EXPECTED", "REQUIRED", "MOST DOWN", "FOR", "BELOW REQUIRED"]]
    for each in budgets:
        below = duration(each.below_desired_for) if each.below_desired_for else "-"
        rows.append(
            [
                f"{_SHORT.get(each.kind, each.kind)} {each.namespace}/{each.name}",
                f"{each.unit}s",
                str(each.expected),
                str(each.desired),
                str(each.most_down),
                duration(each.most_down_for) if each.most_down else "-",
                below,
            ]
        )
    return table(rows) if len(rows) > 1 else []


_SHORT = {"PodDisruptionBudget": "PDB", "PodUnavailableBudget": "PUB"}


def _groups(report: Report) -> list[str]:
    rows = [["GROUP", "BREAKS", "DOWN FOR", "AT THE END"]]
    rows += [
        [
            f"{each.namespace}/{each.name}",
            str(each.breaks),
            duration(each.down_for),
            "down" if each.down else "up",
        ]
        for each in report.groups
    ]
    return table(rows) if len(rows) > 1 else []


def _order(report: Report) -> list[str]:
    if not report.pods:
        return []
    rows = [["AT", "POD", "FROM", "EVICTIONS"]]
    rows += [
        [
            duration(each.at),
            f"{each.namespace}/{each.pod}",
            each.node or "-",
            str(each.attempts) if each.attempts else "deleted",
        ]
        for each in report.pods[:_MOST_PODS]
    ]
    left = len(report.pods) - _MOST_PODS
    return [*table(rows), *([f"… and {left} more; -o json has all"] if left > 0 else [])]


def _start_times(report: Report) -> list[str]:
    if not report.start_times:
        return []
    rows = [["STARTS", "READY AFTER", "BECAUSE"]]
    rows += [[each.workload, duration(each.seconds), _source(each)] for each in report.start_times]
    return table(rows)


def _source(found: StartTime) -> str:
    there = counted(found.pods, "pod that is there", "pods that are there")
    return _SOURCES[found.source].format(pods=there)


def _comparison(report: Report, found: Comparison | None) -> list[str]:
    if found is None:
        return []
    lines = ["This cluster does not run Intact. With Intact:"]
    lines += [
        f"  {each.budget} would count groups: at most {_units(each.with_intact)} down at once, "
        f"not {counted(each.plain.most_down, 'pod')}"
        for each in found.budgets
    ]
    if not found.budgets:
        lines.append("  no budget here covers pods that are groups; nothing else would differ")
        return lines
    through = "goes through" if found.goes_through else "does not go through"
    lines.append(f"  groups break {times(found.breaks)} instead of {times(report.breaks)}")
    lines.append(f"  it {through}, after {duration(found.took)} instead of {duration(report.took)}")
    return lines


def _units(budget: BudgetReport) -> str:
    return counted(budget.most_down, budget.unit)


def times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
