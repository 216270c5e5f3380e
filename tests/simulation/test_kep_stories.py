"""KEP-5682's stories word for word, on the sandbox's server with its fields: the server decides,
and Intact counts. On a stock server: tests/cluster/pdb/test_kep_stories.py."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest
import yaml

from intact.kube.errors import KubeError, TooManyRequests
from intact.kube.resources import PDBS as TYPED
from intact.kube.resources import untyped
from intact.model.pdb import PodDisruptionBudget
from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.disruption import DisruptionController
from intact.sandbox.intact import Intact
from intact.sandbox.kubectl_drain import Options, drain
from tests.support.kep_stories import (
    LABELS,
    NAME,
    NODES,
    POD_GROUP,
    STORIES,
    WORKLOAD,
    Counts,
    Pods,
    Says,
    Story,
    group_of,
    play,
)
from tests.support.objects import NAMESPACES, PDBS, PODS, Json, pod
from tests.support.objects import NODES as NODE_OBJECTS
from tests.unit.kube.simulated import simulated

NS = "ns"
MANAGER = "kube-controller-manager"
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
TEMPLATES = untyped("scheduling.k8s.io", "v1alpha2", "workloads", "Workload")
POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")


class KepServer:
    """`shape` says how pods name their groups: as the KEP writes it, or as Kubernetes 1.36 does."""

    def __init__(self, sandbox: Sandbox, tasks: asyncio.TaskGroup, shape: str) -> None:
        self.sandbox = sandbox
        self.client = sandbox.client()
        self._tasks = tasks
        self._shape = shape
        self._story: Story | None = None
        self._owner: Json = {}
        self._drain: asyncio.Task[bool] | None = None

    async def set_up(self, story: Story) -> None:
        self._story = story
        await self.client.create(NAMESPACES, {"metadata": {"name": NS}})
        for node in NODES:
            await self.client.create(NODE_OBJECTS, {"metadata": {"name": node}})
        await self._define(story)
        if story.owned:
            template = {"spec": {"containers": [{"name": "main", "image": "i"}]}}
            spec = {"replicas": len(story.names()), "template": template}
            made = await self.client.create(
                REPLICA_SETS, {"metadata": {"name": "owner"}, "spec": spec}, NS
            )
            self._owner = made["metadata"]
        for name, node in story.names().items():
            await self._pod(name, node)
        await self.client.create(PDBS, yaml.safe_load(story.budget), NS)

    async def _define(self, story: Story) -> None:
        gang = {"gang": {"minCount": story.need}}
        if self._shape == "KEP":
            part = {"name": POD_GROUP, "replicas": len(story.groups), "policy": gang}
            body = {"metadata": {"name": WORKLOAD}, "spec": {"podGroups": [part]}}
            await self.client.create(WORKLOADS, body, NS)
            return
        template: Json = {"name": POD_GROUP, "schedulingPolicy": gang}
        body = {"metadata": {"name": WORKLOAD}, "spec": {"podGroupTemplates": [template]}}
        await self.client.create(TEMPLATES, body, NS)
        template = {"workloadName": WORKLOAD, "podGroupTemplateName": POD_GROUP}
        for name in story.groups:
            spec = {"schedulingPolicy": gang, "podGroupTemplateRef": {"workload": template}}
            await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, NS)

    async def _pod(self, name: str, node: str) -> None:
        body = pod(name, node=node, labels=LABELS)
        group = group_of(name)
        if group != "lost":
            workload = {"name": WORKLOAD, "podGroup": POD_GROUP, "podGroupReplicaKey": group}
            kep = {"workload": workload}
            body["spec"] |= (
                kep if self._shape == "KEP" else {"schedulingGroup": {"podGroupName": group}}
            )
        if self._owner:
            reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
            reference |= {key: self._owner[key] for key in ("name", "uid")}
            body["metadata"]["ownerReferences"] = [reference]
        await self.client.create(PODS, body, NS)
        ready = [{"type": "Ready", "status": "True"}]
        status = {"status": {"phase": "Running", "conditions": ready}}
        await self.client.patch(PODS, status, name, NS, subresource="status")

    async def end_pods(self) -> None:
        """As kubelets do: a pod that was evicted is gone a moment later."""
        while True:
            for each in list(self.sandbox.api.objects("pods", NS)):
                if "deletionTimestamp" in each["metadata"]:
                    await self.sandbox.api.finish_pod(NS, each["metadata"]["name"])
            await asyncio.sleep(1)

    def budget(self) -> PodDisruptionBudget:
        return msgspec.convert(
            self.sandbox.api.peek(TYPED.full_name, NS, NAME), PodDisruptionBudget
        )

    async def evict(self, pod: str) -> bool:
        try:
            await self.client.evict(PODS, pod, NS)
        except TooManyRequests as denied:
            return denied.causes[0].reason != "DisruptionBudget"
        return True

    async def _until(self, read: Callable[[PodDisruptionBudget], object], wanted: object) -> None:
        found: object = None
        for _ in range(100):
            budget = self.budget()
            found = read(budget)
            if found == wanted and budget.status.observed_generation == budget.metadata.generation:
                return
            await asyncio.sleep(0.1)
        assert found == wanted

    async def until_counts(self, counts: Counts) -> None:
        def read(budget: PodDisruptionBudget) -> Counts:
            status = budget.status
            return Counts(
                status.disruptions_allowed_replicas or 0,
                status.current_healthy_replicas or 0,
                status.desired_healthy_replicas or 0,
                status.expected_replicas or 0,
            )

        await self._until(read, counts)
        assert self.budget().metadata.annotations == {}

    async def until_says(self, said: Says) -> None:
        def read(budget: PodDisruptionBudget) -> object:
            return [
                (each.status, each.reason)
                for each in budget.status.conditions
                if each.type == said.type
            ]

        await self._until(read, [(said.status, said.reason)])
        if said.message:
            [found] = [each for each in self.budget().status.conditions if each.type == said.type]
            assert found.message == f"{said.message}."

    async def until_pods(self, pods: Pods) -> None:
        await self._until(lambda budget: getattr(budget.status, pods.field), pods.number)

    async def recover(self) -> None:
        assert self._story is not None
        for name in self._story.names():
            if self.sandbox.api.peek("pods", NS, name) is None:
                await self._pod(name, "node-2")

    async def edit(self, spec: Mapping[str, Any]) -> None:
        await self.client.patch(PDBS, {"spec": dict(spec)}, NAME, NS)

    async def start_drain(self, node: str) -> None:
        self._drain = self._tasks.create_task(
            drain(self.sandbox.api, self.client, node, lambda _: None, Options(force=True))
        )

    async def until_paused(self, node: str, pods: int) -> None:
        await asyncio.sleep(30)
        assert len(self._on(node)) == pods

    async def until_drained(self, node: str) -> None:
        assert self._drain is not None
        assert await self._drain
        assert self._on(node) == []

    def _on(self, node: str) -> list[str]:
        pods = self.sandbox.api.objects("pods", NS)
        return [each["metadata"]["name"] for each in pods if each["spec"]["nodeName"] == node]


@asynccontextmanager
async def serving(shape: str, counts: str) -> AsyncGenerator[KepServer, None]:
    """`counts` are the controllers of Intact, or the controller manager of the sandbox."""
    sandbox = Sandbox(budget_scope=True)
    async with AsyncExitStack() as stack:
        if counts != MANAGER:
            await stack.enter_async_context(Intact(sandbox, tuple(counts.split(","))).running())
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        server = KepServer(sandbox, tasks, shape)
        beside = [tasks.create_task(server.end_pods())]
        if counts == MANAGER:
            manager = DisruptionController(sandbox.api, sandbox.clock)
            beside.append(tasks.create_task(manager.run()))
        yield server
        for each in beside:
            each.cancel()


@pytest.mark.parametrize("counts", ["pub,pdb,disruption", "disruption", MANAGER])
@pytest.mark.parametrize("shape", ["KEP", "1.36"])
@pytest.mark.parametrize("story", STORIES)
@simulated
async def test_a_story_of_the_kep(story: str, shape: str, counts: str) -> None:
    async with serving(shape, counts) as server:
        await play(STORIES[story], server)


class _Races:
    """Groups whose pods come back, evictors that all want them, and the most groups that were down
    at once."""

    def __init__(self, server: KepServer, seed: int) -> None:
        self.server = server
        self.rng = random.Random(seed)
        self.allowed = self.denied = 0
        self.most_down = 0
        self._ready: Counter[str] = Counter()
        server.sandbox.api.follow("pods", self._changed)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        for each, sign in ((old, -1), (new, 1)):
            if each is not None and _is_available(each):
                self._ready[group_of(each["metadata"]["name"])] += sign
        self.most_down = max(
            self.most_down, sum(self._ready[group] < RACED.need for group in RACED.groups)
        )

    async def evict_all(self) -> None:
        """As drains do: many at once, again and again."""
        names = list(RACED.names())
        while True:
            await asyncio.sleep(self.rng.uniform(0, 1))
            chosen = self.rng.sample(names, 6)
            for goes in await asyncio.gather(*map(self._evict, chosen)):
                self.allowed += goes
                self.denied += not goes

    async def _evict(self, name: str) -> bool:
        try:
            await self.server.client.evict(PODS, name, NS)
        except KubeError:
            return False
        return True

    async def bring_back(self) -> None:
        while True:
            await asyncio.sleep(self.rng.uniform(0, 3))
            await self.server.recover()


def _is_available(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


RACED = Story(
    STORIES["setup example, with the KEP"].budget,
    {f"g{number}": ("node-0", "node-1", "node-2") for number in range(4)},
    2,
    (),
)


@pytest.mark.parametrize("seed", range(4))
@simulated
async def test_evictors_at_once_never_take_a_second_group_down(seed: int) -> None:
    async with serving("1.36", "disruption" if seed % 2 else "pub,pdb,disruption") as server:
        await server.set_up(RACED)
        await asyncio.sleep(2)
        races = _Races(server, seed)
        races.most_down = 0
        server.sandbox.api.faults.delay_watches(0, races.rng.choice((0.02, 5.0)))
        async with asyncio.TaskGroup() as tasks:
            wild = [tasks.create_task(races.evict_all()) for _ in range(2)]
            wild.append(tasks.create_task(races.bring_back()))
            await asyncio.sleep(40)
            for each in wild:
                each.cancel()
        assert races.most_down == 1
        assert races.allowed > 10
        assert races.denied > 10
