"""Users who disrupt pods by drains, deletions, in-place updates and labels; and failures."""

import asyncio
import random
from contextlib import suppress

from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX
from intact.kube.client import PatchType
from intact.kube.errors import KubeError
from tests.simulation.cluster import FIRST_IMAGE, Cluster
from tests.simulation.truth import NAMESPACE, image_of, is_ready, is_terminating
from tests.simulation.world import World
from tests.support.objects import PODS, Json

_MARK = f"{UNAVAILABLE_LABEL_PREFIX}test"


class People:
    def __init__(self, world: World, cluster: Cluster) -> None:
        self.draining: dict[str, None] = {}
        """Nodes that are being drained."""
        self._world = world
        self._cluster = cluster

    async def drain(self, node: str, after: float) -> None:
        """As kubectl does: evict every pod that is on the node now, repeatedly until it is gone."""
        rng = self._world.rng(f"drain {node}")
        await asyncio.sleep(after)
        self.draining[node] = None
        self._cluster.cordoned[node] = None
        self._world.trace.note(f"drain of {node} begins")
        async with asyncio.TaskGroup() as group:
            for pod in self._world.pods():
                if pod["spec"]["nodeName"] == node:
                    group.create_task(self._evict(pod["metadata"], rng))
        self._world.trace.note(f"drain of {node} ends")
        self._world.trace.count("drains")
        del self.draining[node]
        del self._cluster.cordoned[node]

    async def _evict(self, meta: Json, rng: random.Random) -> None:
        name, uid = meta["name"], meta["uid"]
        await asyncio.sleep(rng.uniform(0, 1))
        while self._world.pod(name, uid):
            precondition = rng.choice(("", "", "", "", uid, "another"))
            with suppress(KubeError):
                await self._world.user.evict(PODS, name, NAMESPACE, uid=precondition)
            await asyncio.sleep(rng.uniform(1, 4))

    async def delete(self, name: str, uid: str) -> None:
        """Again and again until it is admitted."""
        while self._world.pod(name, uid) and not is_terminating(self._world.pod(name, uid) or {}):
            with suppress(KubeError):
                await self._world.user.delete(PODS, name, NAMESPACE, uid=uid)
            await asyncio.sleep(0.5)

    async def delete_pods(self, pause: float) -> None:
        rng = self._world.rng("deleter")
        while True:
            await asyncio.sleep(rng.expovariate(1 / pause))
            pod = _some(rng, self._world.pods())
            if pod is None:
                continue
            meta = pod["metadata"]
            grace = rng.choice((None, None, None, 0, 1))
            uid = rng.choice(("", "", "", meta["uid"], "another"))
            version = rng.choice(("", "", "", meta["resourceVersion"]))
            dry_run = rng.random() < 0.1
            self._world.trace.note(f"a user deletes {meta['name']}")
            with suppress(KubeError):
                await self._world.user.delete(
                    PODS,
                    meta["name"],
                    NAMESPACE,
                    grace_period_seconds=grace,
                    uid=uid,
                    resource_version=version,
                    dry_run=dry_run,
                )

    async def update_pods(self, pause: float) -> None:
        """In place: a new image, sometimes a second one, sometimes the one that ran before."""
        rng = self._world.rng("updater")
        number = 1
        name, image, back = "", FIRST_IMAGE, FIRST_IMAGE
        while True:
            await asyncio.sleep(rng.expovariate(1 / pause))
            pod = _some(rng, self._world.pods())
            if pod is None:
                continue
            if not name or self._world.pod(name) is None or rng.random() < 0.6:
                name, number = pod["metadata"]["name"], number + 1
                before, image = image_of(pod), f"{FIRST_IMAGE[:-1]}{number}"
                back = before
            else:
                image = rng.choice((back, f"{FIRST_IMAGE[:-1]}{number}-again"))
            change = [{"op": "replace", "path": "/spec/containers/0/image", "value": image}]
            self._world.trace.note(f"a user updates {name} to {image}")
            with suppress(KubeError):
                await self._world.user.patch(PODS, change, name, NAMESPACE, type=PatchType.JSON)
                self._world.trace.count("updates")

    async def mark_pods(self, pause: float) -> None:
        """Take a pod out of service by a label, and put it back."""
        rng = self._world.rng("marker")
        while True:
            await asyncio.sleep(rng.expovariate(1 / pause))
            pod = _some(rng, self._world.pods())
            if pod is None:
                continue
            name = pod["metadata"]["name"]
            self._world.trace.note(f"a user marks {name}")
            try:
                await self._mark(name, "")
            except KubeError:
                continue
            self._world.trace.count("marks")
            await asyncio.sleep(rng.uniform(0.1, 8))
            await self.unmark(name)

    async def _mark(self, name: str, value: str | None) -> None:
        change = {"metadata": {"labels": {_MARK: value}}}
        await self._world.user.patch(PODS, change, name, NAMESPACE)

    async def unmark(self, name: str) -> None:
        pod = self._world.pod(name)
        while pod is not None and _MARK in pod["metadata"]["labels"]:
            with suppress(KubeError):
                await self._mark(name, None)
            pod = self._world.pod(name)

    async def fail_pods(self, pause: float) -> None:
        rng = self._world.rng("failures")
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(rng.expovariate(1 / pause))
                pods = [pod for pod in self._world.pods() if is_ready(pod)]
                pod = _some(rng, pods)
                if pod is None:
                    continue
                hit = [pod]
                if rng.random() < 0.2:  # the whole node, at once
                    node = pod["spec"]["nodeName"]
                    hit = [each for each in pods if each["spec"]["nodeName"] == node]
                for each in hit:
                    group.create_task(self._fail(each["metadata"], rng))

    async def _fail(self, meta: Json, rng: random.Random) -> None:
        name, uid = meta["name"], meta["uid"]
        if rng.random() < 0.3:
            await self._cluster.fail(name, uid)
            return
        await self._cluster.set_ready(name, uid, ready=False)
        await asyncio.sleep(rng.uniform(0.2, 10))
        await self.recover(meta, crash=rng.random() < 0.5)

    async def recover(self, meta: Json, *, crash: bool = False) -> None:
        """Make a pod ready again, with the same container or a new one of the same image."""
        name, uid = meta["name"], meta["uid"]
        pod = self._world.pod(name, uid)
        if pod is None or is_terminating(pod) or uid in self._world.truth.restarting:
            return
        if pod["status"].get("phase") != "Running" or is_ready(pod):
            return
        container = pod["status"]["containerStatuses"][0]
        if crash:
            image = container["imageID"].partition(":")[2]
            number = self._world.api.revision + 1000
            await self._cluster.set_running(name, uid, image, number)
        else:
            await self._cluster.set_ready(name, uid, ready=True)


def _some(rng: random.Random, pods: list[Json]) -> Json | None:
    return rng.choice(pods) if pods else None
