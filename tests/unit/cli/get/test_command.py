"""`intact get` against an API server."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.support.pictures import group, pdb, pod, pub
from tests.unit.cli.inhabited import inhabited


async def test_budgets_groups_and_pods(tmp_path: Path) -> None:
    async with inhabited(tmp_path, *group("s"), pubs=[pub()], pdbs=[pdb()], intact=True) as cluster:
        cluster.forbidden.add("leases")
        said = {
            what: [line.split()[0] for line in (await cluster.run("get", what)).stdout.splitlines()]
            for what in ("budgets", "groups", "pods")
        }
    assert said == {
        "budgets": ["NAME", "pub/llm", "pdb/llm-pods"],
        "groups": ["NAME", "s"],
        "pods": ["NAME", "s-0", "s-1"],
    }


async def test_names_selectors_and_namespaces(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a", labels={"x": "1"}), pod("b"), pdbs=[pdb()]) as cluster:
        named = await cluster.run("get", "pods", "pod/b", "-o", "name")
        selected = await cluster.run("get", "pods", "-l", "x in (1,2)", "-o", "name")
        both = await cluster.run("get", "pods", "-A", "-o", "wide")
        missing = await cluster.run("get", "budgets", "pdb/llm-pods", "nope")
        unread = await cluster.run("get", "pods", "-l", "a in", "-o", "name")
    assert named.stdout == "pod/b\n"
    assert selected.stdout == "pod/a\n"
    assert both.stdout.startswith("NAMESPACE  NAME")
    assert missing.stdout.splitlines()[1].startswith("pdb/llm-pods")
    assert missing.stderr == 'Error: there is no budget "nope" in namespace "llm"\n'
    assert missing.exit_code == 1
    assert unread.exit_code == 2


async def test_documents_of_one_and_of_many(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pod("b")) as cluster:
        one = await cluster.run("get", "pods", "a", "-o", "json")
        many = await cluster.run("get", "pods", "-o=json")
    assert json.loads(one.stdout)["name"] == "a"
    assert [item["name"] for item in json.loads(many.stdout)["items"]] == ["a", "b"]


async def test_nothing_is_said_on_standard_error(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        found = await cluster.run("get", "budgets")
        cluster.forbidden.add("poddisruptionbudgets")
        unread = await cluster.run("get", "budgets")
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == "no budgets found in namespace llm\n"
    assert "not read: poddisruptionbudgets.policy (forbidden)\n" in unread.stderr


@pytest.mark.parametrize("output", ["", "json", "yaml"])
async def test_a_watch_draws_again_after_a_change(tmp_path: Path, output: str) -> None:
    async with inhabited(tmp_path, pod("first")) as cluster:
        arguments = ["get", "pods", "-w", *(["-o", output] if output else [])]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "intact.cli", *arguments, "-n", "llm"),
            *("--kubeconfig", cluster.kubeconfig),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(30):
                await shows(process.stdout, b"first")
                await cluster.pods(pod("second"))
                await shows(process.stdout, b"second")
        finally:
            process.terminate()
            await process.wait()


async def shows(output: asyncio.StreamReader, name: bytes) -> None:
    while name not in (line := await output.readline()):
        assert line, "it has ended"
