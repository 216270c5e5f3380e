"""The options that commands share."""

import click
import pytest
from click.testing import CliRunner

from intact.cli.options import (
    Cluster,
    cluster_options,
    group_options,
    operator_namespace,
    output_option,
)


def parsed(command: click.Command, *arguments: str) -> str:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@click.command()
@cluster_options
@operator_namespace
def of_cluster(cluster: Cluster, namespace: str) -> None:
    click.echo(f"{cluster!r} {namespace}")


@click.command()
@group_options
def of_group(cluster: Cluster) -> None:
    click.echo(repr(cluster))


def test_what_is_not_given_is_left_to_kubectl() -> None:
    assert parsed(of_cluster) == f"{Cluster()!r} intact-system\n"
    assert parsed(of_group) == f"{Cluster()!r}\n"


def test_a_command_takes_its_cluster_as_one_value() -> None:
    given = ("--kubeconfig", "file", "--context", "dev", "--namespace", "ns")
    assert parsed(of_cluster, *given) == f"{Cluster('file', 'dev')!r} ns\n"
    assert parsed(of_group, *given) == f"{Cluster('file', 'dev', 'ns')!r}\n"
    assert parsed(of_group, "-n=ns") == f"{Cluster(namespace='ns')!r}\n"
    assert parsed(of_group, "-n", "ns") == f"{Cluster(namespace='ns')!r}\n"


@click.command()
@output_option
def with_output(output: str) -> None:
    click.echo(output)


@pytest.mark.parametrize("given", [("-o", "json"), ("-ojson",), ("-o=json",), ("--output=json",)])
def test_the_format_is_given_as_kubectl_takes_it(given: tuple[str, ...]) -> None:
    assert parsed(with_output, *given) == "json\n"
    assert parsed(with_output) == "\n"


@pytest.mark.parametrize("command", [of_cluster, of_group, with_output])
def test_every_option_has_a_help_text(command: click.Command) -> None:
    assert all(one.help for one in command.params if isinstance(one, click.Option))
