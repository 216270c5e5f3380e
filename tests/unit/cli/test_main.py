"""The command line: its commands, and what it costs to start it."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from intact.cli.main import main

COMMANDS = [
    "drain",
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


HEAVY = ("msgspec", "aiohttp", "asyncio", "yaml", "prometheus_client", "cryptography")


def test_help_does_not_wait_for_what_it_does_not_use() -> None:
    """Commands import their work when they run."""
    code = f"""
import sys
from click.testing import CliRunner
before = set(sys.modules)
from intact.cli.main import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
print(*sorted(set({HEAVY!r}) & (set(sys.modules) - before)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
