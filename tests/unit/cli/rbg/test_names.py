"""Names of RoleBasedGroups on the command line."""

import click
import pytest
from click.testing import CliRunner

from intact.cli.main import main
from intact.cli.rbg.names import GroupName, group_name


@pytest.mark.parametrize(
    "text",
    [
        "llm",
        "rbg/llm",
        "rolebasedgroup/llm",
        "rolebasedgroups/llm",
        "RoleBasedGroup/llm",
        "rolebasedgroup.workloads.x-k8s.io/llm",
        "rolebasedgroups.v1alpha1.workloads.x-k8s.io/llm",
    ],
)
def test_a_name_may_have_its_kind_before_it(text: str) -> None:
    assert group_name(text) == "llm"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is empty"),
        ("rbg/", "'rbg/' is empty"),
        ("pod/llm", "'pod/llm' is of the kind 'pod'"),
        ("ns/llm", "'ns/llm' is of the kind 'ns'"),
        ("..", "'..' is not the name"),
        ("LLM", "'LLM' is not the name"),
        ("a b", "'a b' is not the name"),
    ],
)
def test_what_cannot_be_a_name_is_refused_with_its_value(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace(".", r"\.")):
        group_name(text)
    with pytest.raises(click.BadParameter):
        GroupName().convert(text, None, None)


@pytest.mark.parametrize(
    "command", ["status", "undo", "plan", "history", "pause", "resume", "restart"]
)
def test_every_command_refuses_an_empty_name(command: str) -> None:
    result = CliRunner().invoke(main, ["rbg", command, "", "--kubeconfig", "nowhere"])
    assert result.exit_code == 2
    assert "'' is empty: it must be the name of a RoleBasedGroup" in result.output
