"""`intact dashboard`."""

from pathlib import Path

from tests.unit.cli.loopback import invoked


async def test_a_missing_file(tmp_path: Path) -> None:
    result = await invoked("dashboard", "--from", str(tmp_path / "missing"))
    assert result.exit_code == 1
    assert "No such file" in result.output


async def test_a_port_that_is_none() -> None:
    result = await invoked("dashboard", "--port", "70000")
    assert result.exit_code == 2
