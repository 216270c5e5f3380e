"""The reflector against a real server that is killed, compacted and cut off under load.

In each case the store ends equal to a fresh list, and the handlers saw every deletion once.
"""

import asyncio
import logging
import random
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import ApiError, NotFound, Unreachable
from intact.kube.http import HttpTransport, ssl_context
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS, PODS, untyped
from intact.kube.retry import Backoff
from intact.kube.store import Store, key_of
from intact.model.pod import Pod
from tests.support import objects
from tests.support.proxy import Proxy, proxy_to

PODS_AT_ONCE = 2000
NAMESPACE = "default"
SILENCE = 5.0


@pytest.fixture(scope="module")
def lone_server() -> Iterator[Cluster]:
    """A cluster for this module alone, since its API server is killed. No kubelet runs the pods.

    Without a watch cache, watches of pods come straight from etcd, and a compaction ends them.
    """
    flags = {"kube-apiserver": ["--watch-cache-sizes=pods#0"]}
    with Cluster(nodes=0, flags=flags, without=("kube-scheduler", "kwok")) as cluster:
        yield cluster


class Witness:
    """Counts the events that handlers see, by UID."""

    def __init__(self, store: Store[Pod]) -> None:
        self.added: Counter[str] = Counter()
        self.deleted: Counter[str] = Counter()
        self.out_of_order = 0
        store.subscribe(self._saw)

    def _saw(self, old: Pod | None, new: Pod | None) -> None:
        if old is None and new is not None:
            self.added[new.metadata.uid] += 1
        elif new is None and old is not None:
            self.deleted[old.metadata.uid] += 1
        elif old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            self.out_of_order += 1


class Load:
    """Creates, changes and deletes pods all the time, also while the server is down."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._rng = random.Random(seed)
        self._names: list[str] = []
        self._number = 0
        self.deletions = 0
        self.changes = 0

    async def fill(self, count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(self._fill_to(count))

    async def _fill_to(self, count: int) -> None:
        while self._number < count:
            await self._create()

    @asynccontextmanager
    async def going_on(self) -> AsyncGenerator[None, None]:
        workers = [asyncio.create_task(self._work()) for _ in range(6)]
        try:
            yield
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def made(self, changes: int) -> None:
        """Return once so many more changes have been answered."""
        wanted = self.changes + changes
        async with asyncio.timeout(120):
            while self.changes < wanted:
                await asyncio.sleep(0.01)

    async def _work(self) -> None:
        while True:
            try:
                await self._step()
                self.changes += 1
            except (Unreachable, ApiError):
                await asyncio.sleep(0.05)  # the server is down, as the test wants it

    async def _step(self) -> None:
        choice = self._rng.random()
        if choice < 0.25:
            await self._create()
        elif choice < 0.5:
            name = self._names.pop(self._rng.randrange(len(self._names)))
            with suppress(NotFound):
                await self._client.delete(PODS, name, NAMESPACE, grace_period_seconds=0)
            self.deletions += 1
            if self._rng.random() < 0.5:  # another pod under the old name
                await self._create(name)
        else:
            name = self._rng.choice(self._names)
            label = {"metadata": {"labels": {"step": str(self._rng.randrange(10**6))}}}
            await self._client.patch(PODS, label, name, NAMESPACE)

    async def _create(self, name: str = "") -> None:
        if not name:
            name = f"pod-{self._number}"
            self._number += 1
        await self._client.create(PODS, objects.pod(name), NAMESPACE)
        self._names.append(name)


class Scene:
    def __init__(self, cluster: Cluster, client: Client, proxy: Proxy, reflected: Client) -> None:
        self.cluster = cluster
        self.client = client
        self.proxy = proxy
        self.store: Store[Pod] = Store(
            {"step": lambda pod: [pod.metadata.labels["step"]] if pod.metadata.labels else []}
        )
        self.witness = Witness(self.store)
        self.reflector = Reflector(
            reflected, PODS, self.store, silence=SILENCE, backoff=Backoff(first=0.05, most=0.5)
        )
        self.load = Load(client, seed=7)

    async def settled(self) -> None:
        """Wait until the store equals a fresh list, and check what handlers saw."""
        async with asyncio.timeout(120):
            while True:  # the server may still carry out a request that the load gave up
                listed = {key_of(pod): pod for pod in (await self.client.list(PODS)).items}
                if {key_of(pod): pod for pod in self.store} == listed:
                    break
        witness = self.witness
        held = {pod.metadata.uid for pod in self.store}
        assert witness.out_of_order == 0
        assert set(witness.added.values()) == {1}
        assert set(witness.deleted.values()) <= {1}
        assert witness.deleted.keys() == witness.added.keys() - held
        for value in list(self.store.index_values("step")):
            expected = [pod for pod in listed.values() if pod.metadata.labels.get("step") == value]
            found = self.store.by_index("step", value)
            assert sorted(found, key=key_of) == sorted(expected, key=key_of)


@asynccontextmanager
async def scene(cluster: Cluster) -> AsyncGenerator[Scene, None]:
    direct = config.load(str(cluster.kubeconfig))
    address = urlsplit(direct.server)
    assert address.hostname is not None
    assert address.port is not None
    context = ssl_context(direct, (direct.user.client_certificate, direct.user.client_key))
    async with (
        Client(HttpTransport(direct)) as client,
        proxy_to(address.hostname, address.port, context) as proxy,
        Client(HttpTransport(replace(direct, server=f"http://127.0.0.1:{proxy.port}"))) as far,
    ):
        current = Scene(cluster, client, proxy, far)
        await current.load.fill(PODS_AT_ONCE)
        reflecting = asyncio.create_task(current.reflector.run())
        try:
            await asyncio.wait_for(current.reflector.wait_synced(), 120)
            assert len(current.store) >= PODS_AT_ONCE
            yield current
        finally:
            reflecting.cancel()
            await asyncio.gather(reflecting, return_exceptions=True)
            await client.delete_collection(PODS, NAMESPACE, grace_period_seconds=0)


async def test_the_store_recovers_from_a_killed_and_restarted_server(lone_server: Cluster) -> None:
    async with scene(lone_server) as now:
        for _ in range(2):
            async with now.load.going_on():
                await now.load.made(300)
                lone_server.stop("kube-apiserver", signal.SIGKILL)
                lone_server.start("kube-apiserver")
                await asyncio.to_thread(lone_server.wait_ready)
                await now.load.made(300)
            await now.settled()
        assert now.load.deletions > 100
        assert now.reflector.stats.restarts >= 2


async def test_the_store_recovers_from_a_watch_that_expired_by_compaction(
    lone_server: Cluster,
) -> None:
    async with scene(lone_server) as now:
        async with now.load.going_on():
            await now.load.made(100)
            now.proxy.accepting = False
            now.proxy.cut_all()
            await now.load.made(500)
            lone_server.compact()
            now.proxy.accepting = True
            await now.load.made(100)
        await now.settled()
        assert now.reflector.stats.lists == 2
        assert sum(now.witness.deleted.values()) > 100


async def test_the_store_recovers_from_connections_cut_in_the_middle_of_an_event(
    lone_server: Cluster,
) -> None:
    cuts = 25
    async with scene(lone_server) as now:
        rng = random.Random(3)
        async with now.load.going_on(), asyncio.timeout(120):
            for cut in range(1, cuts + 1):
                now.proxy.cut_after(rng.randrange(200, 20_000))
                while now.proxy.cuts < cut:
                    await asyncio.sleep(0.01)
        await now.settled()
        assert now.reflector.stats.restarts >= cuts
        assert now.reflector.stats.lists == 1, "a cut is no reason to list again"


async def test_a_silent_watch_is_restarted(lone_server: Cluster) -> None:
    async with scene(lone_server) as now:
        async with now.load.going_on():
            await now.load.made(50)
            now.proxy.flowing.clear()
            async with asyncio.timeout(SILENCE * 20):
                while not now.reflector.stats.restarts:
                    await asyncio.sleep(0.05)
            now.proxy.flowing.set()
            await now.load.made(50)
        await now.settled()


async def test_quiet_resources_of_a_healthy_server_are_neither_listed_again_nor_warned_about(
    lone_server: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is ever written to them, so the server has nothing to send for two minutes."""
    watches: Counter[str] = Counter()

    class Counting(Client):
        def watch(self, resource: Any, *arguments: Any, **options: Any) -> Any:
            watches[resource.plural] += 1
            return super().watch(resource, *arguments, **options)

    quiet = (PODS, PDBS, untyped("apps", "v1", "statefulsets", "StatefulSet"))
    async with Counting(HttpTransport(config.load(str(lone_server.kubeconfig)))) as client:
        reflectors: list[Reflector[Any]] = [
            Reflector(client, each, Store(), namespace=NAMESPACE, silence=0.5) for each in quiet
        ]
        running = [asyncio.create_task(each.run()) for each in reflectors]
        try:
            async with asyncio.timeout(60):
                while any(watches[each.plural] < 4 for each in quiet):
                    await asyncio.sleep(0.05)
                budget = {"metadata": {"name": "new"}, "spec": {"maxUnavailable": 1}}
                await client.create(PDBS, budget, NAMESPACE)
                while not len(reflectors[1].store):
                    await asyncio.sleep(0.05)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        await client.delete(PDBS, "new", NAMESPACE)
    assert [(each.stats.lists, each.stats.restarts) for each in reflectors] == [(1, 0)] * 3
    assert [each.error for each in reflectors] == [None] * 3
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_a_store_is_not_synced_before_the_whole_list_has_come(lone_server: Cluster) -> None:
    async with scene(lone_server) as now:
        now.proxy.cut_after(500_000)  # in the middle of a page
        store: Store[Pod] = Store()
        synced_early: list[int] = []
        store.subscribe(lambda _old, _new: synced_early.append(1) if store.synced else None)
        far = config.load(str(lone_server.kubeconfig))
        far = replace(far, server=f"http://127.0.0.1:{now.proxy.port}")
        async with Client(HttpTransport(far)) as client:
            reflector = Reflector(client, PODS, store)
            reflecting = asyncio.create_task(reflector.run())
            await asyncio.wait_for(reflector.wait_synced(), 120)
            reflecting.cancel()
            await asyncio.gather(reflecting, return_exceptions=True)
        assert now.proxy.cuts == 1
        assert len(store) == len(now.store)
        assert not synced_early
