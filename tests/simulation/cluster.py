"""The rest of the cluster: workload controllers that create pods, and kubelets that run them."""

import asyncio
from contextlib import suppress
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound, Unreachable
from intact.kube.resources import PUBS, untyped
from tests.simulation.scenario import GROUP_KEY, NO_OWNER, WorkloadPlan
from tests.simulation.truth import NAMESPACE, image_id, image_of, is_terminating
from tests.simulation.world import World
from tests.support.objects import NAMESPACES, PODS, Json, pod

FIRST_IMAGE = "registry.example/main:1"
NODES = ("node-a", "node-b", "node-c")


class Cluster:
    def __init__(self, world: World) -> None:
        self.cordoned: dict[str, None] = {}
        self._world = world
        self._client = Client(world.api.as_user("system"), rng=world.rng("cluster"))
        self._rng = world.rng("cluster times")
        self._owners: dict[str, str] = {}
        self._kubelets: dict[str, asyncio.Event] = {}
        self._pods: dict[str, asyncio.Task[None]] = {}
        self._controllers = {plan.name: asyncio.Event() for plan in world.scenario.workloads}
        self._tasks: list[asyncio.Task[None]] = []
        world.truth.on_pod = self._pod_changed

    async def set_up(self) -> None:
        """Create the workloads, wait until all pods are ready, then create the budgets."""
        world = self._world
        await self._client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for plan in world.scenario.workloads:
            await self._create_workload(plan)
            self._tasks.append(asyncio.create_task(self._control(plan), name=f"set {plan.name}"))
        wanted = sum(len(plan.groups) for plan in world.scenario.workloads)
        while sum(each.available for each in world.truth.pods.values()) < wanted:
            await asyncio.sleep(0.5)
        for budget in world.scenario.budgets:
            body: dict[str, Any] = {
                "apiVersion": PUBS.api_version,
                "kind": PUBS.kind,
                "metadata": {"name": budget.name},
                "spec": budget.spec(),
            }
            await self._client.create(PUBS, body, NAMESPACE)

    async def _create_workload(self, plan: WorkloadPlan) -> None:
        if plan.kind == NO_OWNER:
            return
        labels, size = {"app": plan.app}, len(plan.groups)
        group, _, version = plan.api_version.partition("/")
        resource = untyped(group, version, f"{plan.kind.lower()}s", plan.kind)
        spec: Json = {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
        }
        if plan.kind in ("StatefulSet", "ReplicaSet"):
            spec["replicas"] = size
        elif plan.kind == "Job":
            spec["parallelism"] = size
        body = {
            "apiVersion": plan.api_version,
            "kind": plan.kind,
            "metadata": {"name": plan.name},
            "spec": spec,
        }
        created = await self._client.create(resource, body, NAMESPACE)
        self._owners[plan.name] = created["metadata"]["uid"]
        if plan.kind == "DaemonSet":
            status = {"desiredNumberScheduled": size, "observedGeneration": 1}
            await self._client.patch(
                resource, {"status": status}, plan.name, NAMESPACE, subresource="status"
            )

    def _pod_changed(self, uid: str) -> None:
        if uid in self._kubelets:
            self._kubelets[uid].set()
        for event in self._controllers.values():
            event.set()

    async def _control(self, plan: WorkloadPlan) -> None:
        event = self._controllers[plan.name]
        while True:
            event.clear()
            await self._remove_failed(plan)
            if not self._missing(plan):
                await event.wait()
                continue
            await asyncio.sleep(self._rng.uniform(0.05, 0.8))
            while missing := self._missing(plan):
                with suppress(Conflict, Unreachable):  # the API has just been restored
                    await self._create_pod(plan, *missing[0])

    def _missing(self, plan: WorkloadPlan) -> list[tuple[str, str | None]]:
        if plan.keeps_names:
            names = [f"{plan.name}-{index}" for index in range(len(plan.groups))]
            return [
                (name, group)
                for name, group in zip(names, plan.groups, strict=True)
                if self._world.pod(name) is None
            ]
        here = [pod for pod in self._of(plan) if not plan.replaces_early or not is_terminating(pod)]
        wanted = list(plan.groups)
        for found in here:
            group = found["metadata"]["labels"].get(GROUP_KEY)
            if group in wanted:
                wanted.remove(group)
        return [("", group) for group in wanted]

    def _of(self, plan: WorkloadPlan) -> list[Json]:
        pods = self._world.api.objects("pods", NAMESPACE)
        if plan.kind == NO_OWNER:
            names = {f"{plan.name}-{index}" for index in range(len(plan.groups))}
            return [pod for pod in pods if pod["metadata"]["name"] in names]
        uid = self._owners[plan.name]
        return [pod for pod in pods if pod["metadata"]["ownerReferences"][0]["uid"] == uid]

    async def _remove_failed(self, plan: WorkloadPlan) -> None:
        for found in self._of(plan):
            if found["status"].get("phase") == "Failed" and not is_terminating(found):
                meta = found["metadata"]
                try:
                    await self._client.delete(
                        PODS, meta["name"], NAMESPACE, grace_period_seconds=0, uid=meta["uid"]
                    )
                except KubeError:
                    await asyncio.sleep(0.2)  # another webhook refused: try again
                    self._controllers[plan.name].set()

    async def _create_pod(self, plan: WorkloadPlan, name: str, group: str | None) -> None:
        labels = {"app": plan.app} | ({GROUP_KEY: group} if group else {})
        owners = []
        if plan.kind != NO_OWNER:
            owner = {
                "apiVersion": plan.api_version,
                "kind": plan.kind,
                "name": plan.name,
                "uid": self._owners[plan.name],
                "controller": True,
            }
            owners.append(owner)
        nodes = [node for node in NODES if node not in self.cordoned] or list(NODES)
        body = pod(
            name,
            node=self._rng.choice(nodes),
            images={"main": FIRST_IMAGE},
            labels=labels,
            ownerReferences=owners,
        )
        if not name:
            del body["metadata"]["name"]
            body["metadata"]["generateName"] = f"{plan.name}-"
        created = await self._client.create(PODS, body, NAMESPACE)
        self._start(created)

    def _start(self, pod: Json) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self._kubelets[uid] = asyncio.Event()
        self._pods[uid] = asyncio.create_task(self._run_pod(name, uid), name=f"pod {name}")

    def restored(self) -> None:
        """The API has gone back to a backup, and the nodes run what it says."""
        for task in self._pods.values():
            task.cancel()
        self._kubelets.clear()
        self._pods.clear()
        for found in self._world.api.objects("pods", NAMESPACE):
            self._start(found)
        for event in self._controllers.values():
            event.set()

    async def _run_pod(self, name: str, uid: str) -> None:
        event = self._kubelets[uid]
        runs, containers = self._running(name, uid)
        while found := self._world.pod(name, uid):
            event.clear()
            if is_terminating(found):
                await asyncio.sleep(self._rng.uniform(0.2, 2.5))
                if self._world.pod(name, uid):
                    await self._world.api.finish_pod(NAMESPACE, name)
                break
            if found["status"].get("phase") == "Failed" or image_of(found) == runs:
                await event.wait()
                continue
            await asyncio.sleep(self._rng.uniform(0.05, 1.5))
            found = self._world.pod(name, uid)
            if not found or is_terminating(found) or image_of(found) == runs:
                continue
            image = image_of(found)
            self._world.truth.restarting[uid] = None
            if runs:
                await self.set_ready(name, uid, ready=False)
            most = self._world.scenario.slowest_start
            await asyncio.sleep(self._rng.uniform(0.3 * most, most))
            runs, containers = image, containers + 1
            self._world.truth.restarting.pop(uid, None)
            await self.set_running(name, uid, image, containers)
        self._world.truth.restarting.pop(uid, None)
        del self._kubelets[uid], self._pods[uid]

    def _running(self, name: str, uid: str) -> tuple[str, int]:
        """The image of the container that runs, if one does, and how many there have been."""
        found = self._world.pod(name, uid) or {}
        for container in found.get("status", {}).get("containerStatuses", ()):
            return container["imageID"].partition(":")[2], container["restartCount"] + 1
        return "", 0

    async def set_running(self, name: str, uid: str, image: str, number: int) -> None:
        """Some container runtimes show images by name, some by ID."""
        shown = self._rng.choice((image, image, image_id(image)))
        container = {
            "name": "main",
            "image": shown,
            "imageID": image_id(image),
            "containerID": f"containerd://{uid}-{number}",
            "restartCount": number - 1,
            "ready": True,
        }
        await self._write(name, uid, {"containerStatuses": [container], **_running(ready=True)})

    async def set_ready(self, name: str, uid: str, *, ready: bool) -> None:
        await self._write(name, uid, _running(ready=ready))

    async def fail(self, name: str, uid: str) -> None:
        await self._write(name, uid, {"phase": "Failed", "conditions": _ready(ready=False)})

    async def _write(self, name: str, uid: str, status: Json) -> None:
        if self._world.pod(name, uid):
            body = {"metadata": {"uid": uid}, "status": status}
            # The pod is gone, another pod has its name, or the API has just been restored.
            with suppress(NotFound, Conflict, Unreachable):
                await self._client.patch(PODS, body, name, NAMESPACE, subresource="status")


def _running(*, ready: bool) -> Json:
    return {"phase": "Running", "conditions": _ready(ready=ready)}


def _ready(*, ready: bool) -> list[Json]:
    return [{"type": "Ready", "status": "True" if ready else "False"}]
