"""The kubelets of all nodes: they follow pods and nodes, and write what happens to them."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from ipaddress import IPv4Address

from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound
from intact.kube.queue import Queue, work
from intact.kube.retry import Backoff
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_ready, is_terminating
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.controllers.resources import NODES, PODS
from intact.sandbox.kubelet.nodes import is_managed, ready_status
from intact.sandbox.kubelet.pod_life import PodLife, next_step
from intact.sandbox.kubelet.resizes import lack_of_room
from intact.sandbox.kubelet.times import Times, workload_of
from intact.sandbox.scheduler.accounts import Accounts

Key = tuple[str, str]
"""Namespace and name of a pod; of a node, no namespace."""


_WORKERS = 8
_FIRST_HOST = int(IPv4Address("10.64.0.1"))
_FIRST_POD = int(IPv4Address("10.128.0.1"))


class Kubelets:
    """Nodes with the annotation of `MANAGED_NODE` have a kubelet. On others nothing happens."""

    def __init__(self, shared: Shared, accounts: Accounts, times: Times | None = None) -> None:
        self.times = times or Times()
        """How long things take from now on."""
        self._api = shared.api
        self._clock = shared.clock
        self._pods = shared.pods_by_node
        self._accounts = accounts
        rng = random.Random(0)
        self._queue: Queue[Key] = Queue("kubelets", backoff=Backoff(0.01, 10.0), rng=rng)
        self._lives: dict[str, PodLife] = {}
        """By UID."""
        self._hosts: dict[str, str] = {}
        """The addresses of the nodes."""
        self._clients: dict[str, Client] = {}
        self._turns: dict[str, int] = {}
        """How many start times of a workload were taken."""
        self._addresses = 0
        self._stopped: dict[str, datetime] = {}
        """Nodes whose kubelet does nothing, since when."""
        self._told: list[Callable[[str], None]] = []

    async def run(self) -> None:
        """Until cancelled."""
        ends = [
            self._api.follow("nodes", self._node_changed),
            self._api.follow("pods", self._pod_changed),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(_WORKERS):
                    group.create_task(work(self._queue, self._sync), name=f"kubelet {number}")
        finally:
            for end in ends:
                end()

    def life_of(self, pod: Json) -> PodLife:
        """What is known of a pod that has a node."""
        uid = pod["metadata"]["uid"]
        life = self._lives.get(uid)
        if life is None:
            life = self._lives[uid] = self._new_life(pod)
        return life

    def look_at(self, pod: Json) -> None:
        """Something about the pod has changed that its object does not say."""
        self._queue.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def stop(self, node: str) -> None:
        """The kubelet of the node does nothing any more."""
        self._stopped[node] = self._clock()
        for tell in self._told:
            tell(node)

    def start(self, node: str) -> None:
        self._stopped.pop(node, None)
        self._queue.add(("", node))
        for pod in self._pods.of(node):
            self.look_at(pod)

    def silence(self, node: str) -> float | None:
        """Seconds since its kubelet stopped; None if it works."""
        since = self._stopped.get(node)
        return (self._clock() - since).total_seconds() if since is not None else None

    def on_stop(self, tell: Callable[[str], None]) -> Callable[[], None]:
        """Tell of each kubelet that stops. Returns what ends it."""
        self._told.append(tell)
        return lambda: self._told.remove(tell)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self._hosts.pop(old["metadata"]["name"], None)
            return
        name = new["metadata"]["name"]
        if not is_managed(new):
            self._hosts.pop(name, None)
            return
        if name not in self._hosts:
            self._hosts[name] = str(IPv4Address(_FIRST_HOST + len(self._hosts)))
            for pod in self._pods.of(name):
                self.look_at(pod)
        if not is_ready(new):
            self._queue.add(("", name))

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None
        meta, node = obj["metadata"], obj["spec"].get("nodeName")
        if not node:
            return
        key = meta["namespace"], meta["name"]
        if new is None:
            self._lives.pop(meta["uid"], None)
            self._look_at_resizes(node)
        else:
            self._queue.add(key)

    def _look_at_resizes(self, node: str) -> None:
        """There is more room on the node."""
        for pod in self._pods.of(node):
            life = self._lives.get(pod["metadata"]["uid"])
            if life is not None and life.resize_pending is not None:
                self.look_at(pod)

    async def _sync(self, key: Key) -> None:
        if key[0]:
            await self._sync_pod(key)
        else:
            await self._sync_node(key[1])

    async def _sync_node(self, name: str) -> None:
        node = self._api.peek("nodes", "", name)
        if node is None or name not in self._hosts or name in self._stopped or is_ready(node):
            return
        status = ready_status(node, self._hosts[name], self._clock())
        body = {"metadata": {"uid": node["metadata"]["uid"]}, "status": status}
        await self._client(name).patch(NODES, body, name, subresource="status")

    async def _sync_pod(self, key: Key) -> None:
        pod = self._api.peek("pods", *key)
        node = pod["spec"].get("nodeName", "") if pod is not None else ""
        if pod is None or node not in self._hosts or node in self._stopped:
            return
        life, now = self.life_of(pod), self._clock()
        if is_terminating(pod) and life.terminating_since is None:
            life.terminating_since = now
        life.resize_pending = lack_of_room(pod, self._accounts)
        step = next_step(pod, life, now)
        if step is None:
            return
        if step.at > now:
            self._queue.add_after(key, (step.at - now).total_seconds())
            return
        uid = pod["metadata"]["uid"]
        client = self._client(node)
        try:
            if step.status is None:
                await client.delete(PODS, key[1], key[0], grace_period_seconds=0, uid=uid)
                return
            body = {**pod, "status": step.status}
            await client.update(PODS, body, key[1], key[0], subresource="status")
        except (Conflict, NotFound):
            self._queue.add(key)  # the pod has changed meanwhile
            return
        life.must_crash = False
        if step.restarts:
            life.since = now
            if self.times.by_pod is None:
                life.ready_after = self._draw(pod)

    def _new_life(self, pod: Json) -> PodLife:
        self._addresses += 1
        owner = controller_of(pod)
        life = PodLife(
            self._clock(),
            self.times,
            is_job=owner is not None and owner["kind"] == "Job",
            host_ip=self._hosts.get(pod["spec"]["nodeName"], ""),
            pod_ip=str(IPv4Address(_FIRST_POD + self._addresses)),
        )
        if self.times.by_pod is None:
            life.ready_after = self._draw(pod)
        else:
            own = self.times.by_pod(pod)
            life.times = replace(self.times, termination=own.termination)
            life.ready_after, life.is_held = own.ready, own.is_held
        return life

    def _draw(self, pod: Json) -> float | None:
        """The next start time that was observed of the pod's workload."""
        if not self.times.observed.by_workload:
            return None
        workload = workload_of(pod, self._api.peek)
        seconds = self.times.observed.by_workload.get(workload)
        if not seconds:
            return None
        turn = self._turns.get(workload, 0)
        self._turns[workload] = turn + 1
        return seconds[turn % len(seconds)]

    def _client(self, node: str) -> Client:
        found = self._clients.get(node)
        if found is None:
            transport = self._api.as_user(
                f"system:node:{node}", ("system:nodes", "system:authenticated")
            )
            rng = random.Random(0)
            found = Client(transport, rng=rng, on_warning=lambda _text: None)
            self._clients[node] = found
        return found
