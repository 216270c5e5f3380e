"""A cluster in memory with RoleBasedGroups, and a process that controls them. Workloads have no
controllers here: `Scene.play` does their work."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from intact.kube.client import Client, PatchType
from intact.kube.errors import AlreadyExists
from intact.kube.resources import RBGS, SCALING_ADAPTERS, Resource, untyped
from intact.kube.transport import Request
from intact.model.rbg import RbgStatus, RoleBasedGroup, ScalingAdapter
from intact.operator.rbg.controller import RbgController
from intact.rollout.replicas import POD_INDEX
from intact.sandbox import Kind, MemoryApi, Scale, wall_clock
from tests.support.objects import NAMESPACES, PODS, Json
from tests.support.rbg_objects import group, kind, role
from tests.support.rbg_waiting import (
    ADAPTERS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    REVISIONS,
    SERVICES,
    SETS,
    STATEFUL_SETS,
)
from tests.unit.operator.pub.scene import NS, Wire, reference

EVENTS = untyped("", "v1", "events", "Event")
OWNED = (STATEFUL_SETS, DEPLOYMENTS, SERVICES, CONFIG_MAPS, ADAPTERS, REVISIONS)
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_SETS = Kind(SETS.group, SETS.version, SETS.plural, SETS.kind, status=True)
_KINDS = (
    Kind(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind, status=True),
    Kind(
        SCALING_ADAPTERS.group,
        SCALING_ADAPTERS.version,
        SCALING_ADAPTERS.plural,
        SCALING_ADAPTERS.kind,
        status=True,
        scale=Scale(selector="status.selector"),
    ),
)


class Scene:
    def __init__(self) -> None:
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock)
        for each in _KINDS:
            self.api.register(each)
        self.client = Client(self.api.as_user("alice"), rng=random.Random(1))
        self.wire = Wire(self.api)
        self.leads = True
        self.controller = self._made()

    def _made(self) -> RbgController:
        return RbgController(
            Client(self.wire, rng=random.Random(2)),
            "replica",
            now=self.clock,
            leads=lambda: self.leads,
            rng=random.Random(3),
        )

    def serve_sets(self) -> None:
        """LeaderWorkerSets, whose kind is not here at first."""
        self.api.register(_SETS)

    # Groups

    async def make(self, body: Json) -> None:
        await self.client.create(GROUPS, body, NS)
        await self.settle()

    async def change(self, *operations: Json) -> None:
        await self.client.patch(GROUPS, list(operations), "llm", NS, type=PatchType.JSON)
        await self.settle()

    async def settle(self, seconds: float = 3.0) -> None:
        await asyncio.sleep(seconds)

    def group(self) -> RoleBasedGroup:
        return msgspec.convert(self.api.peek(RBGS.full_name, NS, "llm"), RoleBasedGroup)

    @property
    def status(self) -> RbgStatus:
        return self.group().status

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Status, reason and message."""
        [found] = [one for one in self.status.conditions if one.type == kind]
        return found.status, found.reason, found.message

    def adapter(self, role: str = "prefill") -> ScalingAdapter:
        found = self.api.peek(SCALING_ADAPTERS.full_name, NS, f"llm-{role}")
        return msgspec.convert(found, ScalingAdapter)

    # What is there

    def get(self, resource: Resource[Any], name: str) -> Json:
        found = self.api.peek(resource.full_name, NS, name)
        assert found is not None, f"{resource.kind} {name} is not there"
        return found

    def names(self, resource: Resource[Any]) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self._all(resource))

    def pods(self) -> list[Json]:
        return self._all(PODS)

    def versions(self) -> dict[tuple[str, str], str]:
        """Of the RoleBasedGroup and of everything that it owns."""
        return {
            (each.kind, one["metadata"]["name"]): one["metadata"]["resourceVersion"]
            for each in (*OWNED, GROUPS)
            for one in self._all(each)
        }

    async def patch(self, resource: Resource[Any], name: str, body: Json) -> None:
        """By another client."""
        await self.client.patch(resource, body, name, NS)
        await self.settle()

    async def events(self, reason: str) -> list[str]:
        listed = await self.client.list(EVENTS, NS)
        return [one["message"] for one in listed.items if one["reason"] == reason]

    async def count(self, reason: str) -> int:
        """How often it was told, by the counts of its events."""
        listed = await self.client.list(EVENTS, NS)
        return sum(one["count"] for one in listed.items if one["reason"] == reason)

    # What the workloads' controllers and the kubelets do

    async def play(self, resource: Resource[Any] = STATEFUL_SETS, *, ready: bool = True) -> None:
        """Give every workload of a kind the pods that it wants, and let it say what it has seen,
        until the controller changes it no more."""
        wanted: list[int] = []
        while wanted != (now := [one["metadata"]["generation"] for one in self._all(resource)]):
            wanted = now
            for each in self._all(resource):
                meta, spec = each["metadata"], each["spec"]
                for number in range(spec["replicas"]):
                    await self._pod(f"{meta['name']}-{number}", each, ready=ready)
                body = {"status": {"observedGeneration": meta["generation"]}}
                await self.client.patch(resource, body, meta["name"], NS, subresource="status")
            await self.settle()

    async def play_pod(self, name: str, stateful_set: str) -> None:
        """Make one pod, ready, with the present template."""
        await self._pod(name, self.get(STATEFUL_SETS, stateful_set), ready=True)

    def _all(self, resource: Resource[Any]) -> list[Json]:
        return list(self.api.objects(resource.full_name, NS))

    async def _pod(self, name: str, owner: Json, *, ready: bool) -> None:
        template = owner["spec"]["template"]
        meta = {
            "name": name,
            "labels": {**template["metadata"]["labels"], POD_INDEX: name.rpartition("-")[2]},
            "ownerReferences": [reference(owner)],
        }
        body = {"metadata": meta, "spec": template["spec"]}
        with suppress(AlreadyExists):
            await self.client.create(PODS, body, NS)
        condition = {"type": "Ready", "status": str(ready)}
        status = {"status": {"phase": "Running", "conditions": [condition]}}
        await self.client.patch(PODS, status, name, NS, subresource="status")

    # What is sent

    def writes(self) -> list[str]:
        """What the controller has written since it was asked last, but for events."""
        found = [f"{one.method} {one.path}" for one in self.wire.sent if _is_write(one)]
        self.wire.sent.clear()
        return found

    async def look_again(self) -> None:
        """Reconcile, as if something had changed."""
        self.controller.reconciler.mark((NS, "llm"))
        await self.settle()

    async def restart(self) -> None:
        """Another process leads from now on."""
        await self._stop()
        self.controller = self._made()
        self.start()
        await self.settle()

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self.controller.run()),
            asyncio.create_task(self.controller.lead()),
        ]

    async def _stop(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def of_groups(request: Request) -> bool:
    """Whether it is about RoleBasedGroups themselves."""
    return request.path.endswith(f"/{RBGS.plural}")


def _is_write(request: Request) -> bool:
    return request.method in _WRITES and "/events" not in request.path


@asynccontextmanager
async def grouping() -> AsyncGenerator[Scene, None]:
    """A scene whose controller runs and leads."""
    scene = Scene()
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    scene.start()
    try:
        yield scene
    finally:
        await scene._stop()


def is_owned(scene: Scene, found: Json) -> bool:
    """By the RoleBasedGroup, as the garbage collector sees it."""
    [owner] = found["metadata"]["ownerReferences"]
    return bool(
        owner["uid"] == scene.group().metadata.uid
        and owner["controller"]
        and found["metadata"]["labels"][GROUP] == "llm"
    )


def replaced(path: str, value: Any) -> Json:
    return {"op": "replace", "path": path, "value": value}


def two_roles() -> Json:
    return group("llm", role("prefill", 2), role("router", 1, **kind("Deployment")))


async def play_all(scene: Scene) -> None:
    await scene.play(STATEFUL_SETS)
    await scene.play(DEPLOYMENTS)
