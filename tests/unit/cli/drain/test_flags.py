"""The options on the command line."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from intact.cli.drain.flags import drain_options
from intact.cli.drain.options import Options


def parsed(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    @click.command()
    @drain_options
    def command(**given: Any) -> None:
        found.update(given)

    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return found


def test_what_is_not_given_is_the_default() -> None:
    assert parsed() == {"options": Options(), "dry_run": "none", "output": "text"}


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("--force", Options(force=True)),
        ("--grace-period=0", Options(grace_period=0)),
        ("--timeout=5m", Options(timeout=300)),
        ("--skip-wait-for-delete-timeout=20", Options(skip_wait_for_delete_timeout=20)),
        ("--pod-selector=app=a", Options(pod_selector="app=a")),
        ("--pause-between=10m", Options(pause_between=600)),
        ("--parallel=2", Options(parallel=2)),
        ("--chunk-size=100", Options()),
    ],
)
def test_options_as_kubectl_writes_them(argument: str, options: Options) -> None:
    assert parsed(argument)["options"] == options
