"""The alerts, by promtool: they are valid, fire when they should, and not when they should not."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.prometheus_process import RULES, alerts, promtool

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool(), *arguments], capture_output=True, text=True, check=False)


def test_the_rules_are_valid() -> None:
    found = run("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"{len(alerts())} rules found" in found.stdout


def test_every_alert_has_cases() -> None:
    assert {case.stem for case in CASES} == alerts().keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_an_alert_fires_and_does_not(case: Path) -> None:
    expected = [
        bool(each["exp_alerts"])
        for test in yaml.safe_load(case.read_text())["tests"]
        for each in test["alert_rule_test"]
        if each["alertname"] == case.stem
    ]
    assert set(expected) == {True, False}
    found = run("test", "rules", case)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("alert", alerts())
def test_the_cases_notice_an_alert_that_never_fires(alert: str, tmp_path: Path) -> None:
    changed = yaml.safe_load(RULES.read_text())
    for rule in changed["groups"][0]["rules"]:
        if rule["alert"] == alert:
            rule["expr"] = f"({rule['expr']}) and vector(0) > 0"
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(changed))
    case = yaml.safe_load((Path(__file__).parent / f"cases/{alert}.yaml").read_text())
    case["rule_files"] = [str(tmp_path / "rules.yaml")]
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    assert run("test", "rules", tmp_path / "case.yaml").returncode == 1
