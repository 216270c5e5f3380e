"""The command line: its commands, and what it costs to start it."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from intact.cli.main import main, plugin
from tests.support.examples import ROOT

COMMANDS = [
    "check",
    "dashboard",
    "drain",
    "get",
    "manifests",
    "rbg history",
    "rbg pause",
    "rbg plan",
    "rbg restart",
    "rbg resume",
    "rbg status",
    "rbg undo",
    "rehearse drain",
    "rehearse rollout",
    "rehearse upgrade",
    "run",
    "snapshot",
    "translate",
    "uninstall",
    "version",
    "why",
]


def commands(group: click.Group = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield path + name, command


def test_the_commands() -> None:
    assert sorted(name for name, _ in commands()) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_options_have_help_texts(name: str) -> None:
    command = dict(commands())[name]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("-h", "Keeps multi-pod replicas whole on Kubernetes."),
        ("--help", "Keeps multi-pod replicas whole on Kubernetes."),
        ("--version", f"intact, version {version('intact')}"),
    ],
)
def test_intact_says_what_it_is(option: str, said: str) -> None:
    result = CliRunner().invoke(main, [option], prog_name="intact")
    assert result.exit_code == 0
    assert said in result.output


def test_as_a_plugin_of_kubectl_the_usage_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-intact", "check", "--help"])
    with pytest.raises(SystemExit) as ended:
        plugin()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl intact check [OPTIONS]")


def test_both_commands_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {
        "intact": "intact.cli.main:main",
        "kubectl-intact": "intact.cli.main:plugin",
    }


KUBECTL = {
    "-n": "--namespace",
    "-A": "--all-namespaces",
    "-l": "--selector",
    "-o": "--output",
    "-f": "--filename",
    "-w": "--watch",
}
"""What kubectl's short options stand for."""


@pytest.mark.parametrize("name", COMMANDS)
def test_short_options_mean_what_they_mean_to_kubectl(name: str) -> None:
    for parameter in dict(commands())[name].params:
        if isinstance(parameter, click.Option):
            for short in KUBECTL.keys() & set(parameter.opts):
                assert KUBECTL[short] in parameter.opts
            if "--all-namespaces" in parameter.opts:
                assert "-A" in parameter.opts


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["version"])
    assert result.output == f"intact {version('intact')}\n"


HEAVY = (
    "msgspec",
    "aiohttp",
    "asyncio",
    "yaml",
    "prometheus_client",
    "cryptography",
    "importlib.metadata",
)


@pytest.mark.parametrize("command", ["--help", "version"])
def test_help_does_not_wait_for_what_it_does_not_use(command: str) -> None:
    """Commands import their work when they run."""
    code = f"""
import sys
from click.testing import CliRunner
before = set(sys.modules)
from intact.cli.main import main
assert CliRunner().invoke(main, [{command!r}]).exit_code == 0
print(*sorted(set({HEAVY!r}) & (set(sys.modules) - before)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
