"""The commands about RoleBasedGroups, as the command line knows them."""

import click
import pytest
from click.testing import CliRunner

from intact.cli.rbg.commands import rbg

NAMES = ["history", "pause", "plan", "restart", "resume", "status", "undo"]


def test_the_commands() -> None:
    assert sorted(rbg.commands) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_the_options_of_kubectl(name: str) -> None:
    given = {
        option
        for each in rbg.commands[name].params
        if isinstance(each, click.Option)
        for option in each.opts
    }
    assert {"--kubeconfig", "--context", "-n", "--namespace"} <= given


@pytest.mark.parametrize("name", ["history", "pause", "resume", "restart", "undo", "plan"])
def test_only_status_does_without_a_name(name: str) -> None:
    result = CliRunner().invoke(rbg, [name])
    assert result.exit_code == 2
    assert "Missing argument" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "-o", "table"),
        ("history", "llm", "-o", "text"),
        ("history", "llm", "--revision", "0"),
        ("undo", "llm", "--to-revision", "0"),
    ],
)
def test_an_invalid_option_is_refused_with_its_value(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(rbg, arguments)
    assert result.exit_code == 2
    assert arguments[-1] in result.output
