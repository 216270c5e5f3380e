"""`intact rbg status` of one RoleBasedGroup, and of many."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from intact.cli.rbg.status import changes
from intact.kube.client import Client
from intact.kube.errors import silent
from intact.kube.transport import Request, Response
from intact.sandbox import MemoryApi
from tests.support.objects import NAMESPACES
from tests.support.rbg_waiting import GROUPS
from tests.unit.cli.rbg.cluster import ONE, refusal, stocked
from tests.unit.cli.rbg.seen import seen

DONE = seen(name="done")
STALLED = seen(name="bad", stalled="True", ready="False")


async def test_a_list_has_a_line_for_each_and_the_code_of_the_most_urgent(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE, DONE) as cluster:
        found = await cluster.rbg("status")
        assert [line.split()[:3] for line in found.output.splitlines()] == [
            ["NAME", "STATUS", "READY"],
            ["done", "Done", "4/4"],
            ["llm", "InProgress", "4/4"],
        ]
        assert found.exit_code == 3
        await cluster.add(STALLED)
        assert (await cluster.rbg("status")).exit_code == 4


async def test_a_list_of_all_namespaces(tmp_path: Path) -> None:
    async with stocked(tmp_path, DONE) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        await cluster.add(DONE, "other")
        found = await cluster.rbg("status", "-A")
        assert [line.split()[:2] for line in found.output.splitlines()] == [
            ["NAMESPACE", "NAME"],
            ["ns", "done"],
            ["other", "done"],
        ]
        assert found.exit_code == 0


async def test_an_empty_list_is_said_on_standard_error(tmp_path: Path) -> None:
    async with stocked(tmp_path) as cluster:
        here, anywhere = await cluster.rbg("status"), await cluster.rbg("status", "-A")
        as_json = await cluster.rbg("status", "-o", "json")
    assert (here.exit_code, here.stdout) == (0, "")
    assert here.stderr == "no RoleBasedGroups found in namespace ns\n"
    assert anywhere.stderr == "no RoleBasedGroups found in any namespace\n"
    assert json.loads(as_json.stdout) == {"items": []}


async def test_a_name_in_all_namespaces_is_refused(tmp_path: Path) -> None:
    async with stocked(tmp_path, DONE) as cluster:
        found = await cluster.rbg("status", "done", "-A")
        assert found.exit_code == 2
        assert "give NAME or -A, not both" in found.output


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
async def test_documents_of_one_and_of_many(
    tmp_path: Path, output: str, read: Callable[[str], Any]
) -> None:
    async with stocked(tmp_path, ONE, DONE) as cluster:
        one = await cluster.rbg("status", "rbg/llm", "-o", output)
        many = await cluster.rbg("status", "-o", output)
    found = read(one.stdout)
    assert (one.exit_code, found["exitCode"], found["standing"]) == (3, 3, "InProgress")
    assert found["updateRevision"] == {"name": "llm-b", "number": 2}
    assert read(many.stdout) == {"items": [read(many.stdout)["items"][0], found]}


async def test_names_and_wide_tables(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE, DONE) as cluster:
        names = await cluster.rbg("status", "-o", "name")
        wide = await cluster.rbg("status", "llm", "-o", "wide")
    assert names.stdout.splitlines() == [
        "rolebasedgroup.workloads.x-k8s.io/done",
        "rolebasedgroup.workloads.x-k8s.io/llm",
    ]
    head, line = wide.stdout.splitlines()
    assert "REVISION" in head
    assert line.split()[6:] == ["2", "prefill", "4/4", "-"]


async def test_who_may_not_read_revisions_sees_the_rest(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.refused = {"controllerrevisions": refusal(403, "Forbidden", "no")}
        found = await cluster.rbg("status", "llm")
        assert found.exit_code == 3
        assert "revision llm-b, from llm-a" in found.output


async def test_reading_writes_nothing(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE, DONE) as cluster:
        for arguments in (
            ("status",),
            ("status", "llm"),
            ("status", "-A", "-o", "json"),
            ("status", "done", "-w"),
            ("history", "llm"),
            ("history", "llm", "--revision", "1"),
            ("plan", "llm"),
        ):
            await cluster.rbg(*arguments)
        assert {request.method for request in cluster.sent} == {"GET"}


class Watches:
    """Counts the watches that commands open, and answers the first ones."""

    def __init__(self, *answers: Response) -> None:
        self.opened = 0
        self.reads = 0
        """Of the RoleBasedGroup `llm` itself."""
        self._answers = list(answers)

    def __call__(self, request: Request) -> Response | None:
        self.reads += request.path.endswith("/llm")
        if "watch" not in request.query:
            return None
        self.opened += 1
        return self._answers.pop(0) if self._answers else None

    async def until(self, number: int) -> None:
        async with asyncio.timeout(30):
            while self.opened < number:
                await asyncio.sleep(0.01)


EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
TOO_OLD = Response(200, json.dumps({"type": "ERROR", "object": EXPIRED}).encode() + b"\n")
OVER = Response(200, b"")


@pytest.mark.parametrize("end", [TOO_OLD, OVER, refusal(410, "Expired", "too old")])
async def test_a_watch_that_ends_is_opened_again(tmp_path: Path, end: Response) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.answer = watches = Watches(end, end)
        following = asyncio.create_task(cluster.rbg("status", "llm", "-w"))
        await watches.until(3)
        role = {"name": "prefill", "desired": 4, "updatedReadyReplicas": 4}
        done = {"status": {"coordinationState": [], "roleStatuses": [role]}}
        await cluster.client.patch(GROUPS, done, "llm", "ns", subresource="status")
        found = await following
        assert found.exit_code == 0, found.output
        assert watches.reads == 3
        assert found.output.splitlines()[0].startswith("ns/llm: in progress")
        assert "ns/llm: done" in found.output


async def test_a_group_that_is_deleted_while_it_is_followed_is_an_error(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        cluster.answer = watches = Watches()
        following = asyncio.create_task(cluster.rbg("status", "llm", "-w"))
        await watches.until(1)
        await cluster.client.delete(GROUPS, "llm", "ns")
        found = await following
        assert found.exit_code == 1
        assert "Error: RoleBasedGroup ns/llm was deleted" in found.output


async def test_a_list_is_followed_until_none_is_in_progress(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE, DONE) as cluster:
        cluster.answer = watches = Watches()
        following = asyncio.create_task(cluster.rbg("status", "-w", "-o", "json"))
        await watches.until(1)
        await cluster.client.delete(GROUPS, "llm", "ns")
        found = await following
    assert found.exit_code == 0
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(found.output)
    last, _ = decoder.raw_decode(found.output[end:].lstrip())
    assert [one["name"] for one in first["items"]] == ["done", "llm"]
    assert [one["name"] for one in last["items"]] == ["done"]


class Quiet(Client):
    """Its first watches are silent for their time limit."""

    def __init__(self, api: MemoryApi, times: int) -> None:
        super().__init__(api)
        self.left = times

    @asynccontextmanager
    async def watch(self, *given: Any, **options: Any) -> AsyncGenerator[Any, None]:
        async with super().watch(*given, **options) as events:
            if self.left:
                self.left -= 1
                raise silent("https://server")
            yield events


async def test_a_watch_that_was_silent_is_opened_again(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        quiet = Quiet(cluster.api, 2)
        async with asyncio.timeout(30), aclosing(changes(quiet, "ns", "llm")) as found:
            for _ in range(3):
                assert list(await anext(found)) == [("ns", "llm")]
    assert quiet.left == 0
