"""`intact snapshot` writes a file, and says what it could not read."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from intact.kube.client import Client
from intact.kube.transport import Request, Response
from intact.sandbox import MemoryApi
from intact.sandbox.snapshot.document import read
from tests.support.objects import NODES, PODS, pod
from tests.unit.cli.loopback import invoked, served

Send = Callable[[MemoryApi, Request], Awaitable[Response]]


async def shop() -> MemoryApi:
    api = MemoryApi()
    client = Client(api)
    await client.create(NODES, {"metadata": {"name": "node-0"}})
    body = pod("checkout-0", node="node-0")
    body["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    await client.create(PODS, body, "default")
    return api


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.json.gz"])
async def test_a_file_is_written(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    async with served(await shop(), tmp_path) as kubeconfig:
        result = await invoked("snapshot", "--kubeconfig", kubeconfig, "-o", str(file))
    assert result.exit_code == 0
    assert result.stderr == f"{file}: 1 nodes, 1 pods\n"
    [found] = read(file).of("pods")
    assert found["metadata"]["name"] == "checkout-0"
    assert "hunter2" not in json.dumps(found)


async def test_without_a_file_it_goes_to_standard_output(tmp_path: Path) -> None:
    async with served(await shop(), tmp_path) as kubeconfig:
        result = await invoked("snapshot", "--kubeconfig", kubeconfig, "--anonymize")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["format"], found["version"], found["anonymized"]) == ("intact-snapshot", 1, True)
    assert "checkout" not in result.stdout


async def test_what_is_forbidden_is_said_and_the_rest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send: Send = MemoryApi.send

    async def refuse(api: MemoryApi, request: Request) -> Response:
        if request.path == "/apis/batch/v1/jobs":
            return Response(403, b'{"kind": "Status", "code": 403}')
        return await send(api, request)

    monkeypatch.setattr(MemoryApi, "send", refuse)
    async with served(await shop(), tmp_path) as kubeconfig:
        result = await invoked("snapshot", "--kubeconfig", kubeconfig)
    assert result.exit_code == 0
    assert result.stderr == "cannot read jobs.batch: forbidden\n"
    found = json.loads(result.stdout)
    assert found["unreadable"] == [{"resource": "jobs.batch", "why": "forbidden"}]
    assert len(found["objects"]["pods"]) == 1


async def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    async with served(await shop(), tmp_path) as kubeconfig:
        file = str(tmp_path / "away" / "snapshot.json")
        result = await invoked("snapshot", "--kubeconfig", kubeconfig, "-o", file)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {file}: No such file or directory\n"
