"""What `intact run` makes of its options. The process itself: tests/cluster/test_run.py."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from intact.cli.main import main
from intact.cli.options import parse_controllers
from intact.cli.run import parse_bind, parse_service

BINDS = {
    "127.0.0.1:8080": ("127.0.0.1", 8080),
    "localhost:0": ("localhost", 0),
    "[::1]:443": ("::1", 443),
    ":8080": ("", 8080),
}


@pytest.mark.parametrize("text", BINDS)
def test_addresses(text: str) -> None:
    assert parse_bind(text, "--http-bind") == BINDS[text]


@pytest.mark.parametrize("text", ["", "8080", "host", "host:", "host:x", "host:65536", "::1:80"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match=f"--http-bind '{text}' is not HOST:PORT"):
        parse_bind(text, "--http-bind")


def test_a_service() -> None:
    assert parse_service("ns/name") == ("ns", "name")


@pytest.mark.parametrize("text", ["name", "/name", "ns/", "a/b/c"])
def test_what_is_not_a_service_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not NAMESPACE/NAME"):
        parse_service(text)


@pytest.mark.parametrize(
    ("text", "controllers"),
    [
        ("pub,pdb,rbg", ("pub", "pdb", "rbg")),
        (" disruption , pub,pub,", ("disruption", "pub")),
    ],
)
def test_controllers(text: str, controllers: tuple[str, ...]) -> None:
    assert parse_controllers(text) == controllers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pub,hpa", "hpa is not one of pub, pdb, rbg, disruption"),
        (",", "nothing is not one of pub, pdb, rbg, disruption"),
    ],
)
def test_controllers_that_there_are_not(text: str, message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        parse_controllers(text)


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


def test_a_wrong_option_ends_it_with_code_2() -> None:
    result = invoked("--http-bind", "nowhere")
    assert result.exit_code == 2
    assert "--http-bind 'nowhere' is not HOST:PORT" in result.output


def test_a_selector_that_cannot_be_read_is_named() -> None:
    result = invoked("--namespace-selector", "env=prod,a b")
    assert result.exit_code == 2
    assert "--namespace-selector: 'a b' is not a requirement like env=prod" in result.output


def test_a_kubeconfig_that_is_not_there_ends_it_with_one_line(tmp_path: Path) -> None:
    result = invoked("--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot read kubeconfig")
    assert len(result.output.splitlines()) == 1
