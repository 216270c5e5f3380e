"""Scales of workloads: asked for once a generation."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import Resource
from intact.model.workload import Workload
from intact.operator.watch.scales import Scales
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import SHARD, Wire
from tests.unit.operator.watch.scene import HOME, api_with_sets, make

SHARDS = Resource(Workload, SHARD.group, SHARD.version, SHARD.plural, SHARD.kind)


class Cluster:
    def __init__(self) -> None:
        self.wire = Wire(api_with_sets())
        self.client = Client(self.wire)
        self.scales = Scales(self.client)

    async def replicas(self) -> int:
        shard = await self.client.get(SHARDS, "s", HOME)
        return await self.scales.replicas(SHARDS, shard)

    @property
    def asked(self) -> int:
        return self.wire.count("GET", "/scale")


@simulated
async def test_a_scale_is_read_once_for_each_generation() -> None:
    cluster = Cluster()
    await make(cluster.client, SHARD, "s", {"size": 3})
    assert [await cluster.replicas(), await cluster.replicas()] == [3, 3]
    assert cluster.asked == 1
    await cluster.client.patch(SHARD, {"spec": {"size": 5}}, "s", HOME)
    assert [await cluster.replicas(), await cluster.replicas()] == [5, 5]
    assert cluster.asked == 2


@simulated
async def test_a_scale_that_is_forgotten_is_read_again() -> None:
    cluster = Cluster()
    made = await make(cluster.client, SHARD, "s", {"size": 3})
    await cluster.replicas()
    cluster.scales.forget(made["metadata"]["uid"])
    cluster.scales.forget("unknown")
    await cluster.replicas()
    assert cluster.asked == 2


@simulated
async def test_a_scale_without_a_number_is_zero() -> None:
    cluster = Cluster()
    await make(cluster.client, SHARD, "s")
    assert await cluster.replicas() == 0


@simulated
async def test_a_workload_that_is_gone_has_no_scale() -> None:
    cluster = Cluster()
    made = await make(cluster.client, SHARD, "s", {"size": 3})
    assert await cluster.scales.ask(SHARDS, HOME, "s") == (made["metadata"]["uid"], 3)
    shard = await cluster.client.get(SHARDS, "s", HOME)
    await cluster.client.delete(SHARD, "s", HOME)
    assert await cluster.scales.ask(SHARDS, HOME, "s") is None
    with pytest.raises(NotFound):
        await cluster.scales.replicas(SHARDS, shard)
