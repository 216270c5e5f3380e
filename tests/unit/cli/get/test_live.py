"""Objects that are kept up to date."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from intact.cli.get.live import Live
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport
from intact.kube.resources import LEASES
from intact.model.times import micro_timestamp
from intact.operator.names import LEASE
from tests.support.objects import PODS
from tests.support.pictures import pdb, pod, pub
from tests.unit.cli.inhabited import inhabited


async def test_a_change_brings_new_objects(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster:
        live = Live(cluster.client, "llm")
        async with live.running(), aclosing(live.objects()) as states, asyncio.timeout(20):
            first = await anext(states)
            assert [one.metadata.name for one in first.pods] == ["a"]
            assert [one.metadata.name for one in first.pdbs] == ["llm-pods"]
            assert first.pubs == []
            assert first.unreadable == {}
            await cluster.pods(pod("b"), pod("c"))
            found = await anext(states)
            while len(found.pods) < 3:
                found = await anext(states)
            await cluster.client.delete(PODS, "a", "llm", grace_period_seconds=0)
            while len(found.pods) == 3:
                found = await anext(states)
            assert sorted(one.metadata.name for one in found.pods) == ["b", "c"]


async def test_what_is_not_watched_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Lease changes without anything that is watched."""
    monkeypatch.setattr("intact.cli.get.live._AGAIN", 0.05)
    async with inhabited(tmp_path, pod("a"), pubs=[pub()], intact=True) as cluster:
        live = Live(cluster.client, "llm")
        async with live.running(), aclosing(live.objects()) as states, asyncio.timeout(20):
            assert (await anext(states)).leading is False
            lease = {
                "metadata": {"name": LEASE},
                "spec": {"holderIdentity": "one", "renewTime": micro_timestamp(datetime.now(UTC))},
            }
            await cluster.client.create(LEASES, lease, "llm")
            while (await anext(states)).leading is not True:
                pass


async def test_a_namespace_whose_pods_may_not_be_read(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        cluster.forbidden.add("pods")
        async with Client(HttpTransport(config.load(cluster.kubeconfig))) as client:
            with pytest.raises(KubeError, match="no"):
                async with Live(client, "llm").running():
                    pass


async def test_what_was_known_stays_while_the_server_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intact.cli.get.live._AGAIN", 0.05)
    monkeypatch.setattr("intact.cli.get.live._SOON", 0.05)
    async with (
        inhabited(tmp_path, pod("a"), pubs=[pub()], intact=True) as cluster,
        Client(HttpTransport(config.load(cluster.kubeconfig))) as client,
    ):
        live = Live(client, "llm")
        async with live.running(), aclosing(live.objects()) as states, asyncio.timeout(20):
            first = await anext(states)
            assert (first.intact, live.problem, first.unreadable) == (True, "", {})
            found = first
            cluster.broken = "etcd is gone"
            while not live.problem:
                found = await anext(states)
            assert live.problem == "etcd is gone"
            assert (found.intact, found.leading) == (True, False)
            assert set(found.unreadable.values()) == {"etcd is gone"}
            cluster.broken = ""
            while live.problem:
                found = await anext(states)
            assert found.unreadable == {}
