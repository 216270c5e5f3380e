"""A cluster in memory with budgets, and the controllers that hold them, as of several processes."""

import asyncio
import itertools
import random
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.errors import ApiError, Forbidden
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.resources import PUBS, Resource, untyped
from intact.kube.transport import Request, Response, Stream
from intact.model.meta import LabelSelector
from intact.model.pub import PodUnavailableBudget, PubStatus
from intact.model.status import Status
from intact.operator.pub.controller import PubController
from intact.operator.watch.selection import EVERYWHERE
from intact.operator.webhook.configuration import GATED_LABEL
from intact.sandbox import Hook, Kind, MemoryApi, Rule, Scale, wall_clock
from tests.support.objects import NAMESPACES, PODS, Json, pod

NS = "ns"
RULES = (
    Rule(("pods",), ("DELETE", "UPDATE")),
    Rule(("pods/eviction",), ("CREATE",)),
    Rule(("pods/resize",), ("UPDATE",)),
)
LWS_GROUP, SETS_GROUP = "leaderworkerset.x-k8s.io", "sets.example.com"
KINDS = (
    Kind(
        PUBS.group,
        PUBS.version,
        PUBS.plural,
        PUBS.kind,
        more_versions=("v1beta1",),
        status=True,
    ),
    Kind(LWS_GROUP, "v1", "leaderworkersets", "LeaderWorkerSet", status=True, scale=Scale()),
    Kind(SETS_GROUP, "v1", "rollouts", "Rollout", status=True, scale=Scale()),
    Kind(SETS_GROUP, "v1", "shards", "Shard", status=True, scale=Scale("spec.size")),
    Kind(SETS_GROUP, "v1", "plans", "Plan"),
    Kind(SETS_GROUP, "v1", "fleets", "Fleet", namespaced=False, status=True, scale=Scale()),
)
DEPLOYMENT = untyped("apps", "v1", "deployments", "Deployment")
REPLICA_SET = untyped("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SET = untyped("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SET = untyped("apps", "v1", "daemonsets", "DaemonSet")
JOB = untyped("batch", "v1", "jobs", "Job")
REPLICATION_CONTROLLER = untyped("", "v1", "replicationcontrollers", "ReplicationController")
LWS = untyped(LWS_GROUP, "v1", "leaderworkersets", "LeaderWorkerSet")
ROLLOUT = untyped(SETS_GROUP, "v1", "rollouts", "Rollout")
SHARD = untyped(SETS_GROUP, "v1", "shards", "Shard")
"""Keeps its replicas where only its scale knows."""
PLAN = untyped(SETS_GROUP, "v1", "plans", "Plan")
"""Has no scale."""
FLEET = untyped(SETS_GROUP, "v1", "fleets", "Fleet", namespaced=False)
EVENTS = untyped("", "v1", "events", "Event")
BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)
Anything = Resource[dict[str, Any]]


class Wire:
    """Between a client and the API: notes what is sent, and may hold it up."""

    def __init__(self, api: MemoryApi) -> None:
        self._api = api
        self.sent: list[Request] = []
        self.delay: Callable[[Request], float] = lambda _request: 0.0
        self.late: Callable[[Request], float] = lambda _request: 0.0
        """Seconds by which an answer is late."""

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        if delay := self.delay(request):
            await asyncio.sleep(delay)
        answer = await self._api.send(request)
        if late := self.late(request):
            await asyncio.sleep(late)
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._api.stream(request)

    async def close(self) -> None:
        """Nothing to close."""

    def count(self, method: str, part: str) -> int:
        return sum(one.method == method and part in one.path for one in self.sent)

    def forbid(self, part: str) -> None:
        """As if this process had no right to these paths."""

        def check(request: Request) -> float:
            if part in request.path:
                raise Forbidden(Status(code=403, reason="Forbidden", message=f"no {part}"))
            return 0.0

        self.delay = check


class Scene:
    def __init__(
        self, *, controllers: int = 1, seed: int = 0, selected: LabelSelector = EVERYWHERE
    ) -> None:
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock, seed=seed)
        for kind in KINDS:
            self.api.register(kind)
        self.faults = self.api.faults
        self.warnings: list[str] = []
        self.client = Client(
            self.api.as_user("alice"), rng=random.Random(seed), on_warning=self.warnings.append
        )
        self.wires = [Wire(self.api) for _ in range(controllers)]
        self.leader = 0
        self.controllers = [
            PubController(
                Client(wire, rng=random.Random(f"{seed} {number}")),
                f"intact-{number}",
                now=self.clock,
                leads=lambda number=number: self.leader == number,  # type: ignore[misc]
                selected=selected,
                rng=random.Random(f"{seed} {number}"),
            )
            for number, wire in enumerate(self.wires)
        ]
        self._turns = itertools.cycle(self.controllers)
        self.hook: Hook | None = None
        self.audited: list[dict[str, str]] = []
        """What the gate said for the audit log, by review."""

    @property
    def controller(self) -> PubController:
        return self.controllers[0]

    def register_gate(self) -> None:
        """Requests go to the controllers in turn."""
        self.api.admit(
            "pin",
            lambda request: self.pin(request, next(self._turns)),
            [Rule(("pods/eviction",), ("CREATE",))],
            mutating=True,
            namespace_selector={"matchLabels": {GATED_LABEL: "true"}},
        )
        self.hook = self.api.admit(
            "gate",
            lambda request: self.review(request, next(self._turns)),
            RULES,
            namespace_selector={"matchLabels": {GATED_LABEL: "true"}},
        )

    async def review(self, request: Json, controller: PubController | None = None) -> Json:
        answer = await (controller or self.controller).gate.review(
            msgspec.Raw(msgspec.json.encode(request))
        )
        found: Json = msgspec.to_builtins(answer)
        self.audited.append(found.get("auditAnnotations", {}))
        return found

    async def pin(self, request: Json, controller: PubController) -> Json:
        answer = await controller.pin.review(msgspec.Raw(msgspec.json.encode(request)))
        found: Json = msgspec.to_builtins(answer)
        return found

    async def make(
        self,
        resource: Anything,
        name: str,
        *,
        owner: Json | None = None,
        spec: Json | None = None,
        **metadata: Any,
    ) -> Json:
        body: Json = {"metadata": {"name": name, **metadata}, "spec": spec or {}}
        body |= {"apiVersion": resource.api_version, "kind": resource.kind}
        if owner is not None:
            body["metadata"]["ownerReferences"] = [reference(owner)]
        return await self.client.create(resource, body, resource.place(NS))

    async def workload(
        self,
        resource: Anything,
        name: str,
        replicas: int | None = None,
        *,
        owner: Json | None = None,
        labels: dict[str, str] | None = None,
        pods: int = 0,
        **spec: Any,
    ) -> Json:
        """A workload with some of its pods, ready."""
        template = {"metadata": {"labels": labels or {}}, "spec": {"containers": []}}
        spec["template"] = template
        if replicas is not None:
            spec["size" if resource is SHARD else "replicas"] = replicas
        made = await self.make(resource, name, owner=owner, spec=spec)
        for number in range(pods):
            await self.pod(f"{name}-{number}", owner=made, labels=labels)
        return made

    async def pod(
        self,
        name: str,
        *,
        labels: dict[str, str] | None = None,
        owner: Json | None = None,
        ready: bool = True,
        **more: Any,
    ) -> Json:
        if owner is not None:
            more["ownerReferences"] = [reference(owner)]
        made = await self.client.create(PODS, pod(name, node="n1", labels=labels, **more), NS)
        if ready:
            await self.set_ready(name)
        return made

    async def pods(self, *names: str, **more: Any) -> None:
        for name in names:
            await self.pod(name, **more)

    async def set_ready(self, name: str, ready: bool = True, **more: Any) -> None:
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        status = {"phase": "Running", "conditions": [condition], **more}
        await self.client.patch(PODS, {"status": status}, name, NS, subresource="status")

    async def run_container(self, name: str, image: str, container: str) -> None:
        """The kubelet's report: this container runs, and is ready."""
        shown = {"name": "main", "image": image, "imageID": f"id of {image}", "ready": True}
        shown |= {"containerID": container, "state": {}, "restartCount": 0}
        await self.set_ready(name, containerStatuses=[shown])

    async def set_image(self, name: str, image: str) -> int:
        return await self.update(name, {"spec": {"containers": [{"name": "main", "image": image}]}})

    async def budget(
        self,
        name: str = "b",
        *,
        select: dict[str, str] | None = None,
        target: Json | None = None,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> None:
        if target is not None:
            spec["targetRef"] = {
                "apiVersion": target["apiVersion"],
                "kind": target["kind"],
                "name": target["metadata"]["name"],
            }
        else:
            spec["selector"] = {"matchLabels": select or {"app": "a"}}
        if not spec.keys() & {"maxUnavailable", "minAvailable"}:
            spec["maxUnavailable"] = 1
        await self.make(BUDGETS, name, spec=spec, annotations=annotations or {})

    async def settle(self, seconds: float = 3.0) -> None:
        await asyncio.sleep(seconds)

    def stored(self, name: str = "b") -> PodUnavailableBudget:
        found = self.api.peek(PUBS.full_name, NS, name)
        return msgspec.convert(found, PodUnavailableBudget)

    def status(self, name: str = "b") -> PubStatus:
        return self.stored(name).status

    def numbers(self, name: str = "b") -> tuple[int, int, int, int]:
        """Allowed, current, desired and total: the columns that people see."""
        status = self.status(name)
        return (
            status.unavailable_allowed,
            status.current_available,
            status.desired_available,
            status.total_replicas,
        )

    def condition(self, type_: str, name: str = "b") -> str:
        """Its status, or empty if it is not there."""
        found = [one for one in self.status(name).conditions if one.type == type_]
        return found[0].status if found else ""

    def names(self) -> set[str]:
        """Pods that are there and not on their way out."""
        return {
            found["metadata"]["name"]
            for found in self.api.objects("pods", NS)
            if "deletionTimestamp" not in found["metadata"]
        }

    async def delete(self, name: str, **more: Any) -> int:
        return await _code(self.client.delete(PODS, name, NS, **more))

    async def evict(self, name: str, **more: Any) -> int:
        return await _code(self.client.evict(POD_VIEWS, name, NS, **more))

    async def update(self, name: str, patch: Json, **more: Any) -> int:
        return await _code(self.client.patch(PODS, patch, name, NS, **more))

    async def scale(self, resource: Anything, name: str, replicas: int) -> None:
        key = "size" if resource is SHARD else "replicas"
        await self.client.patch(resource, {"spec": {key: replicas}}, name, resource.place(NS))

    async def finish(self, name: str) -> None:
        await self.api.finish_pod(NS, name)

    async def events(self, reason: str) -> list[Json]:
        listed = await self.client.list(EVENTS, NS)
        return [one for one in listed.items if one["reason"] == reason]


async def _code(request: Any) -> int:
    """200, or the code of the denial."""
    try:
        await request
    except ApiError as error:
        return error.code
    return 200


def reference(owner: Json) -> Json:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


@asynccontextmanager
async def in_background(*parts: Coroutine[Any, Any, None]) -> AsyncGenerator[None, None]:
    """Run the parts beside the block. One that has failed fails the test."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def running(
    *, controllers: int = 1, gate: bool = True, selected: LabelSelector = EVERYWHERE
) -> AsyncGenerator[Scene, None]:
    """A scene whose controllers run; the first one leads."""
    scene = Scene(controllers=controllers, selected=selected)
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    if gate:
        scene.register_gate()
    runs = [each.run() for each in scene.controllers]
    async with in_background(*runs, scene.controller.lead()):
        yield scene
