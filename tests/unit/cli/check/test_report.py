"""The report: text, JSON, exit code."""

import pytest

from intact.cli.check.installation.line import Line, State
from intact.cli.check.located import Located
from intact.cli.check.manifests import Place
from intact.cli.check.report import Report
from intact.picture.findings.finding import About, Severity, found
from intact.picture.findings.rules import NEVER_ALLOWS, NO_PODS

ABOUT = About("PodDisruptionBudget", "apps", "web")
ERROR = Located(found(NEVER_ALLOWS, ABOUT, "it never ends", "Change it.", "spec.minAvailable"))
WARNING = Located(found(NO_PODS, ABOUT, "no pods", "Look."), Place("a.yaml", 7))
NOTE = Located(found(NO_PODS, ABOUT, "no pods", "Look.", "", Severity.NOTE))


@pytest.mark.parametrize(
    ("states", "findings", "code"),
    [
        ([], [], 0),
        ([State.OK, State.SKIP], [NOTE], 0),
        ([State.WARN], [], 3),
        ([], [WARNING, NOTE], 3),
        ([State.FAIL], [WARNING], 4),
        ([State.OK], [ERROR, WARNING], 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    states: list[State], findings: list[Located], code: int
) -> None:
    lines = [Line(state, "one", "m") for state in states]
    assert Report(lines, findings).exit_code == code


def test_the_text() -> None:
    lines = [Line(State.OK, "leader", "a leads"), Line(State.SKIP, "server version", "unknown")]
    report = Report(lines, [ERROR, WARNING], 2, {"nodes": "forbidden"})
    assert report.text() == [
        "OK    leader          a leads",
        "SKIP  server version  unknown",
        "",
        "SKIP  nodes cannot be read: forbidden",
        "error: PodDisruptionBudget apps/web: it never ends",
        "    Change it. [IB101 never-allows]",
        "a.yaml:7: warning: PodDisruptionBudget apps/web: no pods",
        "    Look. [IB201 no-pods]",
        "2 budgets: 1 error, 1 warning",
    ]


def test_nothing_found() -> None:
    assert Report(budgets=1).text() == ["1 budget: nothing found"]


def test_the_document() -> None:
    report = Report([Line(State.FAIL, "leader", "none")], [WARNING], 1)
    assert report.document() == {
        "installation": [{"check": "leader", "state": "FAIL", "message": "none"}],
        "budgets": 1,
        "unreadable": {},
        "findings": [
            {
                "code": "IB201",
                "rule": "no-pods",
                "severity": "warning",
                "kind": "PodDisruptionBudget",
                "namespace": "apps",
                "name": "web",
                "field": "",
                "message": "no pods",
                "action": "Look.",
                "file": "a.yaml",
                "line": 7,
            }
        ],
    }
