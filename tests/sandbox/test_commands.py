"""The commands about RoleBasedGroups, on a cluster in this process in which Intact runs."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from intact.cli.rbg.restart import RESTARTED_AT
from intact.kube.client import Client, PatchType
from intact.kube.resources import RBGS, untyped
from intact.rollout.names import ROLE
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import group, role, rolling, template
from tests.support.terminal import InTerminal
from tests.unit.cli.loopback import invoked, served

GROUPS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of the machine that the tests run on are not asked."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class Running:
    """The group `llm` of two roles, in the namespace `default`."""

    def __init__(self, client: Client, kubeconfig: str) -> None:
        self.client = client
        self._options = ("--kubeconfig", kubeconfig, "-n", "default")

    async def rbg(self, command: str, *arguments: str) -> Result:
        return await invoked("rbg", command, *arguments, *self._options)

    async def in_terminal(self, terminal: InTerminal, *arguments: str) -> int:
        """The exit code of a command in a process and a terminal of its own."""
        command = (sys.executable, "-m", "intact.cli", "rbg", *arguments, *self._options)
        return await terminal.run(command, os.environ)

    async def restarts(self) -> dict[str, set[str]]:
        """By role, when its pods were restarted."""
        found: dict[str, set[str]] = {}
        for pod in (await self.client.list(PODS, "default")).items:
            meta = pod["metadata"]
            at = meta.get("annotations", {}).get(RESTARTED_AT, "")
            found.setdefault(meta["labels"][ROLE], set()).add(at)
        return found

    async def change(self, *templates: Json) -> None:
        patch = [
            {"op": "replace", "path": f"/spec/roles/{index}/template", "value": each}
            for index, each in enumerate(templates)
        ]
        await self.client.patch(GROUPS, patch, "llm", "default", type=PatchType.JSON)

    async def images(self) -> set[str]:
        pods = (await self.client.list(PODS, "default")).items
        return {pod["spec"]["containers"][0]["image"] for pod in pods}


@asynccontextmanager
async def running(directory: Path, strategy: Json, **spec: Any) -> AsyncGenerator[Running, None]:
    sandbox = Sandbox()
    body = group(
        "llm",
        role("prefill", 8),
        role("decode", 4),
        coordination=[rolling("prefill", "decode", **strategy)],
        **spec,
    )
    async with sandbox.running(), Intact(sandbox).running(), sandbox.client() as client:
        for number in range(3):
            await sandbox.add_node(f"node-{number}")
        await client.create(GROUPS, body, "default")
        async with served(sandbox.api, directory) as kubeconfig:
            this = Running(client, kubeconfig)
            result = await this.rbg("status", "llm", "-w")
            assert result.exit_code == 0, result.output
            yield this


STEADY = {"maxSkew": "25%", "maxUnavailableRatio": "25%"}
UNREADY = {"annotations": {"devcluster.intact.dev/unready": "true"}}


async def test_status_follows_a_rollout_to_its_end(tmp_path: Path) -> None:
    async with running(tmp_path, STEADY) as this:
        await this.change(template("engine:2"), template("engine:2"))
        result = await this.rbg("status", "llm", "--watch")
        assert await this.images() == {"engine:2"}
    assert result.exit_code == 0
    lines = result.output.splitlines()
    heads = [line for line in lines if line.startswith("default/llm: ")]
    assert heads[0].startswith("default/llm: in progress")
    assert heads[-1] == "default/llm: done, ready 12/12, updated 12/12"
    assert any("3/12" in head for head in heads)


async def test_a_stalled_rollout_is_shown_and_undone(tmp_path: Path) -> None:
    async with running(tmp_path, STEADY, progressDeadlineSeconds=1) as this:
        await this.change(template("engine:2"), {**template("engine:2"), "metadata": UNREADY})
        stalled = await this.rbg("status", "llm", "-w")
        undone = await this.rbg("undo", "llm")
        back = await this.rbg("status", "llm", "-w")
        assert await this.images() == {"engine:1"}
        again = await this.rbg("undo", "llm", "--to-revision", "3")
        unknown = await this.rbg("undo", "llm", "--to-revision", "9")
    assert stalled.exit_code == 4, stalled.output
    assert "Stalled: " in stalled.output
    assert undone.exit_code == 0
    assert undone.output.startswith("RoleBasedGroup default/llm goes back to revision 1 (")
    assert back.exit_code == 0, back.output
    assert again.output == "RoleBasedGroup default/llm already has the templates of revision 3\n"
    assert (unknown.exit_code, unknown.output.count("\n")) == (1, 1)


async def test_a_partition_holds_a_rollout_and_its_plan_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, {**STEADY, "partition": "50%"}) as this:
        before = await this.rbg("plan", "llm", "-o", "json")
        await this.change(template("engine:2"), template("engine:2"))
        held = await this.rbg("status", "llm", "-w")
        assert await this.images() == {"engine:1", "engine:2"}
    assert held.exit_code == 5, held.output
    assert "4 stay as they are" in held.output
    assert before.exit_code == 0, before.output
    assert json.loads(before.output)[-1]


async def test_a_group_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    async with served(Sandbox().api, tmp_path) as kubeconfig:
        for command in ("status", "undo", "plan", "history", "pause", "resume", "restart"):
            result = await invoked(
                "rbg", command, "llm", "--kubeconfig", kubeconfig, "-n", "default"
            )
            assert result.exit_code == 1
            assert result.output.startswith("Error: ")
            assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("columns", [40, 70, 94, 200])
async def test_a_terminal_of_any_width_shows_the_present_state_alone(
    tmp_path: Path, columns: int
) -> None:
    async with running(tmp_path, STEADY) as this:
        await this.change(template("engine:2"), {**template("engine:2"), "metadata": UNREADY})
        terminal = InTerminal(columns, 50)
        following = asyncio.create_task(this.in_terminal(terminal, "status", "llm", "-w"))
        await terminal.wrote("waits for: ")
        await this.change(template("engine:3"), template("engine:3"))
        code = await following
        once = InTerminal(columns, 50)
        await this.in_terminal(once, "status", "llm")
    assert code == 0, terminal.written
    assert terminal.written.count("default/llm: ") > 2, "it was drawn several times"
    assert terminal.screen.lines == once.screen.lines
    assert terminal.screen.scrolled == []


async def test_a_pause_holds_a_rollout_until_it_is_resumed(tmp_path: Path) -> None:
    async with running(tmp_path, STEADY) as this:
        paused = await this.rbg("pause", "rbg/llm")
        await this.change(template("engine:2"), template("engine:2"))
        held = await this.rbg("status", "llm", "-w")
        assert await this.images() == {"engine:1"}
        resumed = await this.rbg("resume", "llm")
        done = await this.rbg("status", "llm", "-w")
        assert await this.images() == {"engine:2"}
    assert "prefill, decode do not move to another revision" in paused.stdout
    assert paused.stderr == ""
    assert held.exit_code == 5, held.output
    assert resumed.output == "RoleBasedGroup default/llm is resumed\n"
    assert done.exit_code == 0, done.output


async def test_a_restart_rolls_the_pods_and_is_in_the_history(tmp_path: Path) -> None:
    async with running(tmp_path, STEADY) as this:
        restarted = await this.rbg("restart", "llm", "--role", "decode")
        done = await this.rbg("status", "llm", "-w")
        times = await this.restarts()
        history = await this.rbg("history", "llm", "-o", "json")
        undone = await this.rbg("undo", "llm")
        back = await this.rbg("status", "llm", "-w")
        assert (await this.restarts())["decode"] == {""}
    assert restarted.output == "RoleBasedGroup default/llm restarts decode\n"
    assert done.exit_code == 0, done.output
    assert times["prefill"] == {""}
    assert len(times["decode"]) == 1
    assert times["decode"] != {""}
    first, last = json.loads(history.output)["items"]
    assert first["changed"] == {"prefill": "engine:1", "decode": "engine:1"}
    assert (last["revision"], last["changed"]) == (2, {"decode": "restarted"})
    assert (last["current"], last["update"]) == (True, True)
    assert undone.exit_code == back.exit_code == 0
