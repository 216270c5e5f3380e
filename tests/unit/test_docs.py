"""The documentation names everything that users can set or see."""

import re
from pathlib import Path

import click
import pytest

from intact.cli.main import main
from intact.kube.client import Client
from intact.kube.lease import Election
from intact.kube.memory import MemoryApi
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS
from intact.kube.store import Store
from intact.operator.metrics import Metrics

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs/reference/cli.md").read_text()
METRICS = (ROOT / "docs/reference/metrics.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def options() -> list[tuple[str, str]]:
    found = []
    for name, command in main.commands.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                found += [(name, option) for option in parameter.opts]
    return found


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_is_documented(command: str, option: str) -> None:
    section = CLI.partition(f"## intact {command}\n")[2].partition("\n## ")[0]
    assert f"`{option}" in section


async def metric_names() -> set[str]:
    client = Client(MemoryApi())
    reflector = Reflector(client, PODS, Store())
    text = Metrics([reflector], Election(client, "default", "intact", "me")).render().decode()
    samples = re.findall(r"^(intact_\w+)", text, re.MULTILINE)
    return set(samples)


async def test_every_metric_is_documented_and_no_other() -> None:
    assert set(re.findall(r"`(intact_\w+)`", METRICS)) == await metric_names()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
