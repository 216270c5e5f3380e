"""Alerts, runbooks and dashboard: complete, consistent, and about metrics that exist."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import click
import pytest
import yaml

from deploy.grafana.dashboard import dashboard
from deploy.prometheus.rule_object import rule_object
from intact.cli.main import main
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from intact.operator.names import METRICS_SERVICE
from intact.operator.webhook.configuration import (
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from tests.support.examples import ROOT
from tests.support.objects import Json
from tests.support.prometheus_process import OF_THE_API_SERVER, alerts

GRAFANA = ROOT / "deploy/grafana/intact.json"
PROMETHEUS_RULE = ROOT / "deploy/prometheus/prometheusrule.yaml"
RUNBOOKS = ROOT / "docs/runbooks"
ALERTS = alerts()
DASHBOARD: Json = json.loads(GRAFANA.read_text())
PANELS: list[Json] = [one for one in DASHBOARD["panels"] if one["type"] != "row"]
TARGETS: list[Json] = [target for panel in PANELS for target in panel["targets"]]
SECTIONS = ["What it means", "What users see", "Find out", "What to do", "False alarms"]
METRIC = re.compile(r"\b(?:intact|apiserver|workqueue|disruption_controller|process)_\w+")
USUAL = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
"""Of every process with a client of Prometheus."""
PAGES = [*sorted(RUNBOOKS.glob("*.md")), ROOT / "docs/monitoring.md"]


def documented() -> set[str]:
    text = (ROOT / "docs/reference/metrics.md").read_text()
    found = re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE)
    histograms = {f"{name}_bucket" for name, kind in found if kind == "histogram"}
    return {name for name, _ in found} | histograms


@pytest.mark.parametrize("expr", [each["expr"] for each in (*ALERTS.values(), *TARGETS)])
def test_every_metric_of_a_query_exists(expr: str) -> None:
    used = set(METRIC.findall(expr))
    assert used
    assert used <= documented() | USUAL | OF_THE_API_SERVER


def test_the_object_for_the_operator_has_the_same_rules() -> None:
    assert PROMETHEUS_RULE.read_text() == rule_object(), "run `make monitoring`"
    [group] = yaml.safe_load(rule_object())["spec"]["groups"]
    assert group["rules"] == list(ALERTS.values())


def test_the_service_monitor_finds_the_service_and_keeps_the_labels() -> None:
    monitor = yaml.safe_load((ROOT / "deploy/prometheus/servicemonitor.yaml").read_text())
    [service] = [
        one
        for one in manifests(Settings(image="intact:1"))
        if one["kind"] == "Service" and one["metadata"]["name"] == METRICS_SERVICE
    ]
    assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint == {"port": service["spec"]["ports"][0]["name"], "honorLabels": True}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_bad_it_is_and_where_its_runbook_is(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    page = ROOT / rule["annotations"]["runbook_url"]
    assert page == RUNBOOKS / f"{alert}.md"
    text = page.read_text()
    assert text.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS


def test_every_runbook_has_an_alert() -> None:
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == ALERTS.keys()


def test_the_alert_on_webhooks_knows_all_their_names() -> None:
    address = UrlAddress("localhost", 1)
    registered = [
        *validating_configuration(address, b"")["webhooks"],
        *mutating_configuration(address, b"")["webhooks"],
    ]
    patterns = re.findall(r'name=~"([^"]+)"', ALERTS["IntactWebhookFailing"]["expr"])
    assert patterns
    for pattern in patterns:
        unescaped = pattern.replace("\\\\", "\\")
        assert all(re.fullmatch(unescaped, webhook["name"]) for webhook in registered)
    ignored = {each["name"] for each in registered if each["failurePolicy"] == "Ignore"}
    description = ALERTS["IntactWebhookFailing"]["annotations"]["description"]
    page = (RUNBOOKS / "IntactWebhookFailing.md").read_text()
    assert all(f"`{name}`" in page for name in ignored)
    assert "evictions.door.intact.dev" in ignored
    assert "evictions.door.intact.dev" in description


def test_the_dashboard_is_the_one_that_is_made() -> None:
    assert dashboard() == DASHBOARD, "run `make monitoring`"


def test_panels_have_ids_and_places_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert all(at["x"] >= 0 and at["x"] + at["w"] <= 24 for at in places)
    for one, two in combinations(places, 2):
        apart_x = one["x"] + one["w"] <= two["x"] or two["x"] + two["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= two["y"] or two["y"] + two["h"] <= one["y"]
        assert apart_x or apart_y, f"{one} and {two} overlap"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel: Json) -> None:
    assert panel["title"]
    assert panel["description"]
    assert panel["fieldConfig"]["defaults"]["unit"]
    refs = [target["refId"] for target in panel["targets"]]
    assert refs
    assert len(set(refs)) == len(refs)


def test_queries_use_only_variables_that_there_are() -> None:
    variables = DASHBOARD["templating"]["list"]
    known = {one["name"] for one in variables} | {"__rate_interval"}
    assert [one["name"] for one in variables] == ["datasource", "namespace", "budget"]
    used = {name for one in TARGETS for name in re.findall(r"\$(\w+)", one["expr"])}
    assert used <= known
    sources = [each["datasource"]["uid"] for each in (*PANELS, *TARGETS, *variables[1:])]
    assert set(sources) == {"${datasource}"}


def test_what_both_replicas_export_is_not_added_up() -> None:
    """Except where the dashboard counts budgets, after the `max by` of each."""
    gauges = re.compile(r"sum (?:by \([^)]*\) )?\(\s*intact_(?:budget|pdb|rollout|rbg_role)_")
    assert [one["expr"] for one in TARGETS if gauges.search(one["expr"])] == []


def commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for line in re.findall(r"^\$ (intact .+)$", page.read_text(), re.MULTILINE):
            yield page.name, line.partition("  #")[0].strip()


def test_runbooks_name_commands() -> None:
    assert {page for page, _ in commands()} >= {f"{alert}.md" for alert in ALERTS}


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_a_command_on_a_page_exists_with_its_options(page: str, line: str) -> None:
    words = line.split()[1:]
    command: click.Command = main
    while isinstance(command, click.Group):
        assert words[0] in command.commands, f"{page}: {line}"
        command = command.commands[words.pop(0)]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    given = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert given <= known, f"{page}: {line}"


def test_the_pages_name_no_host() -> None:
    for path in (Path(page) for page in (*PAGES, ROOT / "deploy/prometheus/rules.yaml")):
        hosts = re.findall(r"https?://([\w.-]+)", path.read_text())
        assert all(host.endswith("example.com") for host in hosts), path
