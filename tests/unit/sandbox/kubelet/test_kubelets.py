"""Kubelets in a cluster: pods live on nodes that have one."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.sandbox import run
from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.cluster import Sandbox
from intact.sandbox.kubelet.times import PodTimes, StartTimes, Times
from tests.support.objects import NODES, PODS, STATEFUL_SETS, spread_stateful_set
from tests.support.scheduling import a_pod

Json = dict[str, Any]
NS = "default"


def simulated(main: Coroutine[Any, Any, None]) -> None:
    run(main, seed=1, max_time=7200)


@asynccontextmanager
async def cluster(times: Times | None = None) -> AsyncGenerator[tuple[Sandbox, Client], None]:
    sandbox = Sandbox(times=times)
    async with sandbox.running():
        await sandbox.add_node("x")
        yield sandbox, sandbox.client()


async def ready(client: Client, name: str) -> bool:
    pod = await client.get(PODS, name, NS)
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def seconds_until_ready(client: Client, name: str) -> float:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not await ready(client, name):
        await asyncio.sleep(0.1)
    return loop.time() - begun


def test_a_new_node_becomes_ready_and_runs_pods() -> None:
    async def main() -> None:
        async with cluster() as (_, client):
            await client.create(PODS, a_pod("p", namespace=NS), NS)
            await client.create(PODS, a_pod("q", namespace=NS), NS)
            await asyncio.sleep(0.1)
            assert is_ready(await client.get(NODES, "x"))
            one, two = [await client.get(PODS, name, NS) for name in "pq"]
            assert one["status"]["phase"] == "Running"
            assert one["status"]["podIP"] != two["status"]["podIP"]
            assert one["status"]["hostIP"] == two["status"]["hostIP"]

    simulated(main())


def test_nothing_happens_on_a_node_without_a_kubelet() -> None:
    async def main() -> None:
        async with cluster() as (_, client):
            await client.create(NODES, {"metadata": {"name": "bare"}})
            for name in ("stays", "leaves"):
                await client.create(PODS, a_pod(name, namespace=NS, nodeName="bare"), NS)
            await client.delete(PODS, "leaves", NS)
            await asyncio.sleep(60)
            assert (await client.get(PODS, "stays", NS))["status"]["phase"] == "Pending"
            assert (await client.get(PODS, "leaves", NS))["metadata"]["deletionTimestamp"]

    simulated(main())


def test_a_deleted_pod_goes_after_its_termination_time() -> None:
    async def main() -> None:
        async with cluster(Times(termination=5)) as (_, client):
            await client.create(PODS, a_pod("p", namespace=NS), NS)
            await asyncio.sleep(1)
            await client.delete(PODS, "p", NS)
            await asyncio.sleep(4.9)
            assert (await client.get(PODS, "p", NS))["metadata"]["deletionTimestamp"]
            await asyncio.sleep(0.2)
            with pytest.raises(NotFound):
                await client.get(PODS, "p", NS)

    simulated(main())


def test_pods_of_a_workload_take_its_observed_times_in_turn() -> None:
    async def main() -> None:
        observed = StartTimes({f"StatefulSet/{NS}/web": [30.0, 50.0]})
        async with cluster(Times(ready=2, observed=observed)) as (_, client):
            body = spread_stateful_set("web", 3, "app", {})
            del body["spec"]["template"]["spec"]["topologySpreadConstraints"]
            await client.create(STATEFUL_SETS, body, NS)
            await client.create(PODS, a_pod("bare", namespace=NS), NS)
            await asyncio.sleep(0.1)
            times = await asyncio.gather(
                *(seconds_until_ready(client, name) for name in ("web-0", "web-1", "web-2", "bare"))
            )
            assert sorted(round(each) for each in times) == [2, 30, 30, 50]

    simulated(main())


def test_each_pod_may_have_times_of_its_own() -> None:
    def own(pod: Json) -> PodTimes:
        slow = pod["metadata"]["name"] == "slow"
        held = pod["metadata"]["name"] == "held"
        return PodTimes(40.0 if slow else 3.0, 7.0, is_held=held)

    async def main() -> None:
        async with cluster(Times(ready=1, by_pod=own)) as (_, client):
            for name in ("slow", "quick", "held"):
                await client.create(PODS, a_pod(name, namespace=NS), NS)
            assert round(await seconds_until_ready(client, "quick")) == 3
            assert round(await seconds_until_ready(client, "slow")) == 37
            assert not await ready(client, "held")
            await client.delete(PODS, "slow", NS)
            await asyncio.sleep(6.9)
            assert (await client.get(PODS, "slow", NS))["metadata"]["deletionTimestamp"]
            await asyncio.sleep(0.2)
            with pytest.raises(NotFound):
                await client.get(PODS, "slow", NS)

    simulated(main())


def test_a_stopped_kubelet_does_nothing_until_it_starts_again() -> None:
    async def main() -> None:
        async with cluster() as (sandbox, client):
            await client.create(PODS, a_pod("p", namespace=NS), NS)
            await asyncio.sleep(1)
            sandbox.kubelets.stop("x")
            await client.delete(PODS, "p", NS)
            await asyncio.sleep(60)
            assert sandbox.kubelets.silence("x") == pytest.approx(60)
            assert (await client.get(PODS, "p", NS))["metadata"]["deletionTimestamp"]
            sandbox.kubelets.start("x")
            await asyncio.sleep(0.1)
            with pytest.raises(NotFound):
                await client.get(PODS, "p", NS)

    simulated(main())
