"""The findings as SARIF 2.1.0, which code hosts show beside the lines that they are about.

A failing line of the installation is a result without a place in a file.
"""

from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from intact.cli.check.installation.line import Line, State
from intact.cli.check.located import Located
from intact.cli.check.report import Report
from intact.picture.findings.rules import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
INSTALLATION = "IB900"
_LEVELS = {State.FAIL: "error", State.WARN: "warning"}
_ORDER = list(RULES)
Json = dict[str, Any]


def sarif(report: Report, version: str) -> Json:
    rules = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "help": {"text": f"docs/findings.md, {rule.code}: {rule.summary}"},
            "defaultConfiguration": {"level": str(rule.severity)},
        }
        for rule in RULES.values()
    ]
    rules.append(
        {
            "id": INSTALLATION,
            "name": "installation",
            "shortDescription": {"text": "Intact itself does not work as it should"},
            "help": {"text": f"docs/findings.md, {INSTALLATION}"},
            "defaultConfiguration": {"level": "error"},
        }
    )
    driver = {"name": "intact", "version": version, "rules": rules}
    results = [_result(one) for one in report.findings]
    results += [_of_line(line) for line in report.lines if line.state in _LEVELS]
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(one: Located) -> Json:
    finding = one.finding
    about = finding.about
    path = "/".join(filter(None, (about.namespace, about.kind, about.name)))
    location: Json = {
        "logicalLocations": [
            {"name": about.name, "fullyQualifiedName": path, "kind": "object"},
        ]
    }
    if one.place is not None and one.place.file != "-":
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(PurePath(one.place.file).as_posix())},
            "region": {"startLine": one.place.line},
        }
    return {
        "ruleId": finding.code,
        "ruleIndex": _ORDER.index(finding.code),
        "level": str(finding.severity),
        "message": {"text": f"{about}: {finding.message}. {finding.action}"},
        "locations": [location],
    }


def _of_line(line: Line) -> Json:
    return {
        "ruleId": INSTALLATION,
        "ruleIndex": len(_ORDER),
        "level": _LEVELS[line.state],
        "message": {"text": f"{line.name}: {line.message}"},
        "locations": [{"logicalLocations": [{"name": line.name, "kind": "object"}]}],
    }
