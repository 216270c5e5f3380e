"""The documentation names everything that users can set or see."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from intact.budget.pdb import group_conditions, group_settings
from intact.budget.pdb.group_decision import Reason as GroupReason
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub import conditions
from intact.budget.pub.decision import Reason
from intact.cli.main import main
from intact.kube.client import Client
from intact.kube.lease import Election
from intact.operator.metrics import Metrics
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.rbg.controller import RbgController
from intact.sandbox import MemoryApi

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs/reference/cli.md").read_text()
METRICS = (ROOT / "docs/reference/metrics.md").read_text()
PDB = (ROOT / "docs/reference/pdb.md").read_text()
PUB = (ROOT / "docs/reference/pub.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def options() -> list[tuple[str, str]]:
    return list(options_of(main))


def options_of(group: click.Group, path: str = "") -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from options_of(command, f"{path}{name} ")
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield from ((path + name, option) for option in parameter.opts)


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_is_documented(command: str, option: str) -> None:
    section = CLI.partition(f"## intact {command}\n")[2].partition("\n## ")[0]
    assert f"`{option}" in section


OURS = r"^# TYPE ((?:intact|workqueue|disruption_controller)_\w+)"


async def metric_names() -> set[str]:
    client = Client(MemoryApi())
    metrics = Metrics(Election(client, "default", "intact", "me"))
    pub = PubController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    metrics.show_reflectors(lambda: pub.reflectors)
    metrics.show_pub(pub)
    metrics.show_pdb(
        PdbController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    )
    metrics.show_rbg(
        RbgController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    )
    types = re.findall(OURS, metrics.render().decode(), re.MULTILINE)
    return {name for name in types if not name.endswith("_created")}


async def test_every_metric_is_documented_and_no_other() -> None:
    named = set(re.findall(r"^\| `(\w+_\w+)` \|", METRICS, re.MULTILINE))
    assert named == await metric_names()


CONDITION_TYPES = (
    conditions.WORKING,
    conditions.GROUP_LABELS_MISSING,
    conditions.MIN_READY_UNREACHABLE,
    conditions.TOTAL_UNKNOWN,
)


@pytest.mark.parametrize("condition", CONDITION_TYPES)
def test_every_condition_is_documented(condition: str) -> None:
    assert f"| `{condition}` |" in PUB


@pytest.mark.parametrize("reason", [*Reason, *GroupReason])
def test_every_reason_of_a_decision_is_documented(reason: str) -> None:
    assert f"| `{reason}` |" in METRICS


SETTINGS = (
    SCOPE_LABEL,
    group_settings.GROUP_LABEL_KEY,
    group_settings.MIN_READY_REPLICAS,
    group_settings.EXPECTED_REPLICAS,
    group_settings.REPLICAS,
    group_settings.LEDGER,
)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_of_a_native_budget_is_documented(name: str) -> None:
    assert f"| `{name}` |" in PDB.replace("| label `", "| `")


REASONS = [
    value
    for name, value in vars(group_conditions).items()
    if name.isupper() and isinstance(value, str)
]


@pytest.mark.parametrize("reason", REASONS)
def test_every_condition_of_a_native_budget_is_documented(reason: str) -> None:
    assert f"| `{reason}` |" in PDB


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
