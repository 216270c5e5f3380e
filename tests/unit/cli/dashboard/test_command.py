"""`intact dashboard`."""

import socket
from pathlib import Path

import pytest

from tests.unit.cli.loopback import invoked


async def test_a_missing_file(tmp_path: Path) -> None:
    result = await invoked("dashboard", "--from", str(tmp_path / "missing"))
    assert result.exit_code == 1
    assert "No such file" in result.output


async def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = await invoked("dashboard", "--sandbox", "--port", port)
    assert result.exit_code == 1
    assert f"port {port}: Address already in use" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--sandbox", "--from", "x"], "--sandbox goes with neither --from nor --namespace"),
        (["--sandbox", "-n", "x"], "--sandbox goes with neither --from nor --namespace"),
        (["--from", "x", "-n", "x"], "--from goes without --namespace"),
    ],
)
async def test_options_that_do_not_go_together(given: list[str], said: str) -> None:
    result = await invoked("dashboard", *given)
    assert result.exit_code == 2
    assert said in result.output


async def test_a_port_that_is_none() -> None:
    result = await invoked("dashboard", "--port", "70000")
    assert result.exit_code == 2
