"""Gangs get nodes together or not at all. What kube-scheduler does alike is in
tests/contract/test_pod_groups.py."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from intact.sandbox.cluster import Sandbox
from tests.support.objects import PODS
from tests.support.pdb_groups import POD_GROUPS
from tests.support.scheduling import a_pod
from tests.unit.kube.simulated import simulated

NS = "default"


@asynccontextmanager
async def cluster(cpu: str = "3", *, gangs: bool = True) -> AsyncGenerator[Sandbox, None]:
    sandbox = Sandbox(gangs=gangs)
    async with sandbox.running():
        await sandbox.add_node("x", allocatable={"cpu": cpu})
        yield sandbox


async def pod_group(sandbox: Sandbox, need: int, name: str = "red") -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": need}}}
    await sandbox.client().create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, NS)


async def members(sandbox: Sandbox, *names: str, group: str = "red") -> None:
    for name in names:
        body = a_pod(name, namespace=NS, requests={"cpu": "1"})
        body["spec"]["schedulingGroup"] = {"podGroupName": group}
        await sandbox.client().create(PODS, body, NS)
    await asyncio.sleep(1)


def placed(sandbox: Sandbox) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in sandbox.api.objects("pods")
        if one["spec"].get("nodeName")
    ]


@simulated
async def test_without_gangs_a_pod_group_does_not_matter() -> None:
    async with cluster(gangs=False) as sandbox:
        await members(sandbox, "a")
        assert placed(sandbox) == ["a"]


@simulated
async def test_a_gang_that_was_there_before_the_scheduler_is_known() -> None:
    sandbox = Sandbox()
    await pod_group(sandbox, 2)
    await members(sandbox, "a")
    async with sandbox.running():
        await sandbox.add_node("x")
        await asyncio.sleep(5)
        assert placed(sandbox) == []
        await members(sandbox, "b")
        assert placed(sandbox) == ["a", "b"]


@simulated
async def test_a_gang_that_lost_a_pod_waits_for_its_successor() -> None:
    async with cluster(cpu="1") as sandbox:
        await pod_group(sandbox, 2)
        await members(sandbox, "a", "b")
        await sandbox.client().delete(PODS, "b", NS)
        await sandbox.add_node("y", allocatable={"cpu": "4"})
        await asyncio.sleep(5)
        assert placed(sandbox) == []
        await members(sandbox, "c")
        assert placed(sandbox) == ["a", "c"]


@simulated
async def test_two_gangs_do_not_hold_each_other_up() -> None:
    async with cluster(cpu="3") as sandbox:
        for name in ("red", "blue"):
            await pod_group(sandbox, 2, name)
        await members(sandbox, "r1", "r2")
        await members(sandbox, "b1", "b2", group="blue")
        assert placed(sandbox) == ["r1", "r2"]
        await sandbox.client().delete(PODS, "r1", NS)
        await asyncio.sleep(5)
        assert placed(sandbox) == ["b1", "b2", "r2"]
