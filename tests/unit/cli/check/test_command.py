"""`intact check`, as it is called."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from intact.cli.check import command
from intact.cli.check.installation.line import Line, State
from intact.cli.check.installation.survey import Survey
from intact.cli.main import main
from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.sandbox import MemoryApi
from tests.support.broken_budgets import DIRECTORY
from tests.support.examples import ROOT
from tests.unit.cli.loopback import invoked, served

ACTION = "Change the amount, or scale up: as it is, a drain of a node with its pods never ends."
WELL = Survey((Line(State.OK, "leader", ""),), installed=True)
ILL = Survey((Line(State.FAIL, "leader", ""),), installed=True)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of the machine that the tests run on are not asked."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize(
    ("file", "code"),
    [("no-unavailable", 4), ("all-may-go", 3), ("selector-of-nothing", 0), ("not-yaml", 4)],
)
def test_exit_codes(file: str, code: int) -> None:
    result = CliRunner().invoke(main, ["check", "-f", str(DIRECTORY / f"{file}.yaml")])
    assert result.exit_code == code, result.output


def test_a_file_that_is_not_there() -> None:
    result = CliRunner().invoke(main, ["check", "-f", "nowhere.yaml"])
    assert result.exit_code == 1
    assert result.output == "Error: nowhere.yaml: there is no such file\n"


def test_standard_input() -> None:
    text = (DIRECTORY / "no-unavailable.yaml").read_text()
    result = CliRunner().invoke(main, ["check", "-f", "-"], input=text)
    assert result.exit_code == 4
    assert result.output.splitlines() == [
        "-:7: error: PodDisruptionBudget web: maxUnavailable is 0: no pod can ever go",
        f"    {ACTION} [IB101 never-allows]",
        "1 budget: 1 error",
    ]


def test_the_examples() -> None:
    result = CliRunner().invoke(main, ["check", "-f", str(ROOT / "examples")])
    assert (result.exit_code, result.output) == (0, "7 budgets: nothing found\n")


def test_what_the_page_shows_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    [(arguments, shown)] = re.findall(
        r"^```console\n\$ intact (check [^\n]+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(ROOT)
    assert CliRunner().invoke(main, arguments.split()).output == shown


def test_formats() -> None:
    arguments = ["check", "-f", str(DIRECTORY / "all-may-go.yaml"), "-o"]
    found = json.loads(CliRunner().invoke(main, [*arguments, "json"]).output)
    assert [one["code"] for one in found["findings"]] == ["IB103"]
    assert json.loads(CliRunner().invoke(main, [*arguments, "sarif"]).output)["version"] == "2.1.0"


async def test_a_cluster_without_intact(tmp_path: Path) -> None:
    async with served(MemoryApi(), tmp_path) as kubeconfig:
        result = await invoked("check", "-A", "--kubeconfig", kubeconfig)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "OK    server version  v1.36.3",
        "SKIP  Intact          it is not installed: only plain PodDisruptionBudgets are held",
        "",
        "0 budgets: nothing found",
    ]


async def test_a_cluster_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    async with served(MemoryApi(), tmp_path) as kubeconfig:
        pass
    result = await invoked("check", "--kubeconfig", kubeconfig)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("looks", "wait", "found"),
    [
        ([ILL, WELL], 60.0, WELL),
        ([Unreachable("not yet"), WELL], 60.0, WELL),
        ([ILL], None, ILL),
        ([ILL], 0.0, ILL),
    ],
)
async def test_an_installation_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
    looks: list[Survey | Unreachable],
    wait: float | None,
    found: Survey,
) -> None:
    async def look(_client: Client, _namespace: str) -> Survey:
        seen = looks.pop(0)
        if isinstance(seen, Unreachable):
            raise seen
        return seen

    monkeypatch.setattr(command, "survey", look)
    monkeypatch.setattr(command, "_PAUSE", 0.0)
    assert await command.surveyed(Client(MemoryApi()), "default", wait) == found
    assert looks == []


async def test_a_server_that_never_answers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(_client: Client, _namespace: str) -> Survey:
        raise Unreachable("gone")

    monkeypatch.setattr(command, "survey", look)
    with pytest.raises(Unreachable):
        await command.surveyed(Client(MemoryApi()), "default", None)
