"""The rules: their codes, and the page that explains each of them."""

import re

from intact.cli.check.sarif import INSTALLATION
from intact.picture.findings import rules
from intact.picture.findings.finding import Rule
from intact.picture.findings.rules import RULES
from tests.support.examples import ROOT

PAGE = (ROOT / "docs/findings.md").read_text()


def test_every_code_and_every_name_is_used_once() -> None:
    every = [value for value in vars(rules).values() if isinstance(value, Rule)]
    assert len(RULES) == len(every) == len({rule.name for rule in every})
    assert all(re.fullmatch(r"IB[0-5]\d\d", code) for code in RULES)


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    documented = re.findall(r"^### (IB\d+) (\S+)$", PAGE, re.MULTILINE)
    wanted = [(rule.code, rule.name) for rule in RULES.values()]
    assert documented == [*wanted, (INSTALLATION, "installation")]


def test_every_section_says_what_is_wrong_and_what_to_do() -> None:
    sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    assert [one.split()[0] for one in sections if "**Do:**" not in one] == []


def test_the_page_names_the_usual_severity_of_each() -> None:
    for rule in RULES.values():
        section = PAGE.partition(f"### {rule.code} ")[2].partition("\n### ")[0]
        assert f"{rule.severity.capitalize()}" in section.splitlines()[2], rule.code
