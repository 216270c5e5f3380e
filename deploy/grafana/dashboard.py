"""Prints the dashboard, as `make monitoring` stores it in intact.json.

A row has panels, and a panel has queries, each with the legend of its series. Everything else is
the same for all of them, and follows from the tables below.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

SCHEMA = 41
"""Of Grafana 11 and 12; older ones ignore what they do not know."""
WIDTH, HEIGHT, STAT_HEIGHT = 24, 8, 4
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

BUDGET = 'namespace=~"$namespace",budget=~"$budget"'
GROUP = 'namespace=~"$namespace"'
BY_BUDGET = "{{namespace}}/{{budget}}"
BY_ROLE = "{{namespace}}/{{group}} {{role}}"
RATE = "[$__rate_interval]"
OF_INTACT = "and on (job, instance) intact_leader"


@dataclass(frozen=True, slots=True)
class Query:
    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12
    worst: float | None = None
    """A stat is red from this value on."""


def per_budget(metric: str, word: str) -> Query:
    """Both replicas export it."""
    return Query(f"max by (namespace, budget) ({metric}{{{BUDGET}}})", f"{BY_BUDGET} {word}")


def rate(metric: str, legend: str, by: str = "", matching: str = "") -> Query:
    matching = f"{{{matching}}}" if matching else ""
    return Query(f"sum{f' by ({by})' if by else ''} (rate({metric}{matching}{RATE}))", legend)


def stat(
    title: str, description: str, expr: str, unit: str = "short", worst: float | None = None
) -> Panel:
    return Panel(title, description, (Query(expr),), unit, "stat", 4, worst)


OVERVIEW = (
    stat(
        "Replicas that lead",
        "One, but for the seconds between two leaders.",
        "sum(intact_leader) or vector(0)",
    ),
    stat("Replicas", "Those that Prometheus sees.", "count(intact_leader) or vector(0)"),
    stat(
        "Budgets that do not work",
        "See the runbook of BudgetNotWorking.",
        f"sum(max by (namespace, budget) (1 - intact_budget_working{{{BUDGET}}})"
        f" or label_replace(max by (namespace, budget) (1 - intact_pdb_working{{{BUDGET}}}),"
        ' "kind", "pdb", "", "")) or vector(0)',
        worst=1,
    ),
    stat(
        "Budgets that never allow",
        "No unit of these could go even if all were available.",
        f"sum(max by (namespace, budget) (intact_budget_never_allows{{{BUDGET}}})"
        f" or label_replace(max by (namespace, budget) (intact_pdb_never_allows{{{BUDGET}}}),"
        ' "kind", "pdb", "", "")) or vector(0)',
        worst=1,
    ),
    stat(
        "Oldest refusal",
        "How long the pod has been refused that has waited longest.",
        f"max(intact_budget_oldest_refusal_seconds{{{BUDGET}}}"
        f" or intact_pdb_oldest_refusal_seconds{{{BUDGET}}}) or vector(0)",
        "s",
        worst=1800,
    ),
    stat(
        "Certificate ends in",
        "The certificate that ends first, of all replicas. Each is renewed after 16 hours.",
        "min(intact_certificate_expiry_timestamp_seconds) - time()",
        "s",
    ),
)

BUDGETS = (
    Panel(
        "Units of PodUnavailableBudgets",
        "Pods or groups: available, desired (the budget keeps so many) and total.",
        (
            per_budget("intact_budget_available_units", "available"),
            per_budget("intact_budget_desired_units", "desired"),
            per_budget("intact_budget_total_units", "total"),
        ),
    ),
    Panel(
        "Groups of PodDisruptionBudgets",
        "Of budgets that count groups.",
        (
            per_budget("intact_pdb_available_groups", "available"),
            per_budget("intact_pdb_desired_groups", "desired"),
            per_budget("intact_pdb_total_groups", "total"),
        ),
    ),
    Panel(
        "Units that may go now",
        "At 0 the budget refuses.",
        (
            per_budget("intact_budget_allowed_units", "(PUB)"),
            per_budget("intact_pdb_allowed_groups", "(PDB)"),
        ),
    ),
    Panel(
        "Oldest refusal that still stands",
        "The pod is still there, and a client still asks. BudgetExhausted fires above 30 minutes.",
        (
            per_budget("intact_budget_oldest_refusal_seconds", "(PUB)"),
            per_budget("intact_pdb_oldest_refusal_seconds", "(PDB)"),
        ),
        "s",
    ),
    Panel(
        "Refusals by budget and reason",
        "docs/reference/metrics.md explains the reasons. Repeats count.",
        (
            rate(
                "intact_gate_decisions_total",
                f"{{{{kind}}}} {BY_BUDGET} {{{{reason}}}}",
                "kind, namespace, budget, reason",
                f'answer="denied",{BUDGET}',
            ),
        ),
        "ops",
    ),
    Panel(
        "Decisions by answer",
        "Of all budgets that are selected.",
        (rate("intact_gate_decisions_total", "{{answer}}", "answer", BUDGET),),
        "ops",
    ),
)

GATE = (
    Panel(
        "Time of a decision",
        "From an admission review to its answer, in Intact.",
        tuple(
            Query(
                f"histogram_quantile({quantile},"
                f" sum by (le) (rate(intact_gate_decision_seconds_bucket{RATE})))",
                f"p{quantile * 100:g}",
            )
            for quantile in (0.5, 0.9, 0.99)
        ),
        "s",
    ),
    Panel(
        "Reviews as the API server sees them",
        "By webhook and HTTP code. 429 is a refusal of a budget; 5xx is a webhook that fails. Needs"
        " the metrics of the API server.",
        (
            rate(
                "apiserver_admission_webhook_request_total",
                "{{name}} {{code}}",
                "name, code",
                'name=~".+\\\\.intact\\\\.dev"',
            ),
        ),
        "ops",
    ),
    Panel(
        "Commits of the gate",
        "Status writes that carried admissions, and writes that conflicted and were decided again.",
        (
            rate("intact_gate_commits_total", "commits"),
            rate("intact_gate_committed_admissions_total", "admissions"),
            rate("intact_gate_conflicts_total", "conflicts"),
        ),
        "ops",
    ),
    Panel(
        "Recounts",
        "Status writes of the leader, and those that conflicted.",
        (
            rate("intact_recount_writes_total", "PUB writes"),
            rate("intact_recount_conflicts_total", "PUB conflicts"),
            rate("intact_group_recount_writes_total", "PDB writes"),
            rate("intact_group_recount_conflicts_total", "PDB conflicts"),
        ),
        "ops",
    ),
)

BY_ROLLOUT = "namespace, group, coordination"
ROLLOUTS = (
    Panel(
        "Progress",
        "Updated and ready replicas of each role, as a fraction.",
        (
            Query(
                f"max by ({BY_ROLLOUT}, role) (intact_rollout_progress_ratio{{{GROUP}}})", BY_ROLE
            ),
        ),
        "percentunit",
    ),
    Panel(
        "Skew",
        "How far apart the roles of a coordination are.",
        (
            Query(
                f"max by ({BY_ROLLOUT}) (intact_rollout_skew_ratio{{{GROUP}}})",
                "{{namespace}}/{{group}} {{coordination}}",
            ),
        ),
        "percentunit",
    ),
    Panel(
        "Stalled",
        "For how long a stalled role has made no progress.",
        (
            Query(
                f"max by ({BY_ROLLOUT}, role) (intact_rollout_stalled_seconds{{{GROUP}}})", BY_ROLE
            ),
        ),
        "s",
    ),
    Panel(
        "Duration",
        "Of the rollout under way, or of the last one.",
        (
            Query(
                f"max by ({BY_ROLLOUT}) (intact_rollout_duration_seconds{{{GROUP}}})",
                "{{namespace}}/{{group}} {{coordination}}",
            ),
        ),
        "s",
    ),
    Panel(
        "Replicas of roles",
        "Desired, ready, and ready with the present template.",
        tuple(
            Query(
                f"max by (namespace, group, role) (intact_rbg_role_{word}_replicas{{{GROUP}}})",
                f"{BY_ROLE} {word}",
            )
            for word in ("desired", "ready", "updated")
        ),
        width=24,
    ),
)

PROCESS = (
    Panel("Leader", "1 for the replica that leads.", (Query("intact_leader", "{{instance}}"),)),
    Panel(
        "Webhook connections",
        "Open connections of each replica, requests that were refused unread, and connections that"
        " were dropped.",
        (
            Query("intact_webhook_connections", "{{instance}}"),
            rate("intact_webhook_refused_total", "refused: {{reason}}", "reason"),
            rate("intact_webhook_dropped_connections_total", "dropped: {{stage}}", "stage"),
        ),
    ),
    Panel(
        "Objects in the stores",
        "A replica is ready once all its stores are synced.",
        (
            Query("max by (resource) (intact_store_objects)", "{{resource}}"),
            Query("sum by (instance) (intact_store_synced == bool 0)", "{{instance}} not synced"),
        ),
    ),
    Panel(
        "Watches",
        "Lists and watches that failed and were started again.",
        (rate("intact_reflector_restarts_total", "{{resource}}", "resource"),),
        "ops",
    ),
    Panel(
        "Queues",
        "Keys that wait for a worker.",
        (
            Query("max by (queue) (intact_queue_depth)", "{{queue}}"),
            Query(f"max by (name) (workqueue_depth {OF_INTACT})", "{{name}}"),
        ),
    ),
    Panel(
        "Work that fails for good",
        "Keys whose work has failed ten times in a row or more; the log says why.",
        (Query("max by (queue) (intact_queue_failing)", "{{queue}}"),),
    ),
    Panel(
        "Memory",
        "Resident memory of each replica.",
        (Query(f"process_resident_memory_bytes {OF_INTACT}", "{{instance}}"),),
        "bytes",
    ),
    Panel(
        "CPU",
        "Cores that each replica uses.",
        (Query(f"rate(process_cpu_seconds_total{RATE}) {OF_INTACT}", "{{instance}}"),),
    ),
)

ROWS = {
    "Overview": OVERVIEW,
    "Budgets": BUDGETS,
    "Gate": GATE,
    "Rollouts": ROLLOUTS,
    "Process": PROCESS,
}


def variable(name: str, label: str, query: str) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


ALL = "intact_budget_total_units|intact_pdb_total_groups"
VARIABLES = [
    {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
    },
    variable(
        "namespace",
        "Namespace",
        f'label_values({{__name__=~"{ALL}|intact_rbg_role_desired_replicas"}}, namespace)',
    ),
    variable(
        "budget",
        "Budget",
        f'label_values({{__name__=~"{ALL}",namespace=~"$namespace"}}, budget)',
    ),
]


def target(query: Query, number: int, *, instant: bool) -> Json:
    return {
        "refId": chr(ord("A") + number),
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "instant": instant,
        "range": not instant,
    }


def shown(panel: Panel, number: int, x: int, y: int) -> Json:
    is_stat = panel.kind == "stat"
    steps: list[Json] = [{"color": "green", "value": None}]
    if panel.worst is not None:
        steps.append({"color": "red", "value": panel.worst})
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": STAT_HEIGHT if is_stat else HEIGHT},
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "thresholds": {"mode": "absolute", "steps": steps},
            },
            "overrides": [],
        },
        "options": (
            {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
            if is_stat
            else {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        ),
        "targets": [
            target(query, place, instant=is_stat) for place, query in enumerate(panel.queries)
        ],
    }


def panels() -> list[Json]:
    found: list[Json] = []
    y = 0
    for title, row in ROWS.items():
        grid = {"x": 0, "y": y, "w": WIDTH, "h": 1}
        found.append(
            {
                "id": len(found) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": grid,
                "panels": [],
            }
        )
        x, y = 0, y + 1
        for panel in row:
            if x + panel.width > WIDTH:
                x, y = 0, y + found[-1]["gridPos"]["h"]
            found.append(shown(panel, len(found) + 1, x, y))
            x += panel.width
        y += found[-1]["gridPos"]["h"]
    return found


def dashboard() -> Json:
    return {
        "uid": "intact",
        "title": "Intact",
        "description": "Disruption budgets in groups, and rollouts of RoleBasedGroups.",
        "tags": ["intact", "kubernetes"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": VARIABLES},
        "annotations": {"list": []},
        "panels": panels(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dashboard(), indent=2) + "\n")
