"""The command, on a server in memory: output and exit codes."""

import asyncio
import json
from pathlib import Path

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from tests.support.objects import DAEMON_SETS, NAMESPACES, NODES, PODS, Json, daemon_set, pod
from tests.unit.cli.loopback import invoked, served

OWNER = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "name": "s",
    "uid": "1",
    "controller": True,
}
DAEMON = {**OWNER, "kind": "DaemonSet", "name": "d"}


async def cluster() -> tuple[MemoryApi, Client]:
    api = MemoryApi()
    client = Client(api)
    for node in ("n", "m"):
        await client.create(NODES, {"metadata": {"name": node, "labels": {"pool": "old"}}})
    await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    return api, client


async def add(client: Client, name: str, owner: Json | None = OWNER, node: str = "n") -> None:
    owners: Json = {"ownerReferences": [owner]} if owner else {}
    await client.create(PODS, pod(name, node=node, **owners), "ns")


async def kubelet(api: MemoryApi, client: Client) -> None:
    while True:
        for one in (await client.list(PODS, "ns")).items:
            if "deletionTimestamp" in one["metadata"]:
                await api.finish_pod("ns", one["metadata"]["name"])
        await asyncio.sleep(0.02)


async def drained(api: MemoryApi, directory: Path, *arguments: str) -> tuple[int, list[str]]:
    async with served(api, directory) as kubeconfig:
        task = asyncio.create_task(kubelet(api, Client(api)))
        result = await invoked("drain", *arguments, "--kubeconfig", kubeconfig)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return result.exit_code, result.output.splitlines()


async def test_nodes_are_cordoned_and_emptied(tmp_path: Path) -> None:
    api, client = await cluster()
    await add(client, "a")
    code, lines = await drained(api, tmp_path, "-l", "pool=old")
    assert (code, lines) == (
        0,
        [
            "node/m cordoned",
            "node/n cordoned",
            "node/m drained",
            "evicting pod ns/a",
            "pod/a evicted",
            "node/n drained",
        ],
    )
    assert (await client.get(NODES, "n"))["spec"]["unschedulable"] is True


async def test_a_pod_that_blocks_keeps_all_and_gives_back_only_what_it_took(tmp_path: Path) -> None:
    api, client = await cluster()
    await client.patch(NODES, {"spec": {"unschedulable": True}}, "m")
    await client.create(DAEMON_SETS, daemon_set("d"), "ns")
    await add(client, "a")
    await add(client, "agent", DAEMON)
    await add(client, "bare", None)
    code, lines = await drained(api, tmp_path, "n", "m", "--uncordon-on-failure")
    assert code == 1
    assert lines == [
        "node/n cordoned",
        "node/m already cordoned",
        "node/n uncordoned",
        "Error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): ns/agent",
        "cannot delete Pods that declare no controller (use --force to override): ns/bare",
    ]
    assert len((await client.list(PODS, "ns")).items) == 3
    assert not (await client.get(NODES, "n"))["spec"]
    assert (await client.get(NODES, "m"))["spec"]["unschedulable"] is True


async def test_events_as_json(tmp_path: Path) -> None:
    api, client = await cluster()
    await add(client, "a")
    code, lines = await drained(api, tmp_path, "n", "-o", "json")
    events = [json.loads(line) for line in lines]
    assert code == 0
    assert [each["event"] for each in events] == [
        "cordoned",
        "begun",
        "evicting",
        "evicted",
        "drained",
        "ended",
    ]
    assert (events[1]["pods"], events[2]["pod"], events[-1]["result"]) == (1, "a", "drained")


async def test_only_selected_pods_go(tmp_path: Path) -> None:
    api, client = await cluster()
    await add(client, "a")
    await client.create(PODS, pod("b", node="n", labels={"x": "y"}, ownerReferences=[OWNER]), "ns")
    code, _lines = await drained(api, tmp_path, "n", "--pod-selector", "x=y")
    assert code == 0
    assert [one["metadata"]["name"] for one in (await client.list(PODS, "ns")).items] == ["a"]


async def test_a_client_dry_run_changes_nothing(tmp_path: Path) -> None:
    api, client = await cluster()
    await add(client, "a")
    code, lines = await drained(api, tmp_path, "n", "--dry-run=client")
    assert (code, lines) == (0, ["node/n cordoned (dry run)", "evicting pod ns/a (dry run)"])
    assert not (await client.get(NODES, "n")).get("spec")


async def test_usage_and_unknown_nodes(tmp_path: Path) -> None:
    api, _client = await cluster()
    assert (await drained(api, tmp_path))[0] == 2
    assert (await drained(api, tmp_path, "n", "-l", "a=b"))[0] == 2
    code, lines = await drained(api, tmp_path, "x")
    assert (code, lines) == (1, ['Error: nodes "x" not found'])
    code, lines = await drained(api, tmp_path, "-l", "a=b")
    assert (code, lines) == (1, ["Error: no node has the labels 'a=b'"])
