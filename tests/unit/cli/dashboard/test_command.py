"""`intact dashboard`."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from intact.sandbox.snapshot.document import write
from tests.support.pictures import pod
from tests.unit.cli.inhabited import inhabited
from tests.unit.cli.loopback import invoked
from tests.unit.sandbox.rehearsal.filmed import groups


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


READER = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=20) as page:
    print("read", page.status, flush=True)
"""


@asynccontextmanager
async def begun(
    *arguments: str, **env: str
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.subprocess.Process]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "intact.cli", "dashboard", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **env},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            yield process.stdout, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_browser_that_ends_before_the_command_goes_on_and_ctrl_c(tmp_path: Path) -> None:
    """As those in a terminal do."""
    snapshot, reader = tmp_path / "cluster.json", tmp_path / "reader.py"
    write(groups().snapshot(), snapshot)
    reader.write_text(READER)
    browser = f"{sys.executable} {reader} %s"
    async with begun("--from", str(snapshot), "--open", BROWSER=browser) as (said, process):
        assert (await said.readline()).startswith(b"open http://127.0.0.1:")
        assert await said.readline() == b"read 200\n"
        process.send_signal(signal.SIGINT)
        assert await said.read() == b"stopped\n"
        assert await process.wait() == 0


async def test_sigint_ends_it_where_the_shell_has_set_it_to_be_ignored(tmp_path: Path) -> None:
    """As of commands that a script starts in the background."""
    snapshot = tmp_path / "cluster.json"
    write(groups().snapshot(), snapshot)
    command = f'"{sys.executable}" -m intact.cli dashboard --from "{snapshot}" & echo $!; wait $!'
    shell = await asyncio.create_subprocess_exec(
        *("sh", "-c", command), stdout=asyncio.subprocess.PIPE
    )
    assert shell.stdout is not None
    process = int(await shell.stdout.readline())
    try:
        async with asyncio.timeout(120):
            assert (await shell.stdout.readline()).startswith(b"open http://127.0.0.1:")
            os.kill(process, signal.SIGINT)
            assert await shell.stdout.read() == b"stopped\n"
            assert await shell.wait() == 0
    finally:
        if shell.returncode is None:
            os.kill(process, signal.SIGKILL)
            await shell.wait()


async def test_the_title_is_the_context_of_the_cluster(tmp_path: Path) -> None:
    async with (
        inhabited(tmp_path, pod("a")) as cluster,
        begun("--kubeconfig", cluster.kubeconfig, "-n", "llm") as (said, _process),
        ClientSession() as http,
    ):
        address = (await said.readline()).decode().removeprefix("open ").strip()
        async with http.get(address) as answer:
            assert "<strong>main: llm</strong>" in await answer.text()
