"""The findings as SARIF 2.1.0: what its schema requires, and what code hosts read."""

from typing import Any

from intact.cli.check.command import of_files
from intact.cli.check.installation.line import Line, State
from intact.cli.check.report import Report
from intact.cli.check.sarif import INSTALLATION, sarif
from intact.picture.findings.rules import RULES
from tests.support.broken_budgets import DIRECTORY

LEVELS = {"none", "note", "warning", "error"}


def run_of(report: Report) -> Any:
    document = sarif(report, "1.2.3")
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    assert set(document) == {"$schema", "version", "runs"}
    [run] = document["runs"]
    return run


def test_the_rules_of_the_tool() -> None:
    driver = run_of(Report())["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("intact", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == [*RULES, INSTALLATION]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in LEVELS


def test_every_result_is_of_a_rule_and_has_a_place() -> None:
    run = run_of(of_files([str(DIRECTORY)], ""))
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) > 20
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in LEVELS
        assert result["message"]["text"]
        [location] = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"].endswith(".yaml")
        assert physical["region"]["startLine"] >= 1


def test_the_line_is_that_of_the_field() -> None:
    run = run_of(of_files([str(DIRECTORY / "misspelt-field.yaml")], ""))
    [result] = run["results"]
    [location] = result["locations"]
    assert location["physicalLocation"]["region"] == {"startLine": 8}
    [logical] = location["logicalLocations"]
    assert logical["fullyQualifiedName"] == "PodDisruptionBudget/web"


def test_lines_of_the_installation_that_are_not_well() -> None:
    lines = [
        Line(State.FAIL, "leader", "none"),
        Line(State.OK, "gate", ""),
        Line(State.WARN, "x", ""),
    ]
    results = run_of(Report(lines))["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        (INSTALLATION, "error"),
        (INSTALLATION, "warning"),
    ]
