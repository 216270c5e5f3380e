"""One kubelet for all pods: it starts them, ends them, and lets them fail."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from intact.kube.errors import ApiError
from intact.model.times import timestamp
from tests.simulation.rbg.course import KUBELET, NAMESPACE
from tests.simulation.rbg.world import World
from tests.support.objects import PODS, Json


def is_terminating(obj: Json) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def is_ready(pod: Json | None) -> bool:
    if pod is None or is_terminating(pod):
        return False
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def image_of(pod: Json) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def is_bad(image: str) -> bool:
    """Pods of such an image are never ready."""
    return image.endswith("-bad")


class Kubelet:
    def __init__(self, world: World) -> None:
        self._world = world
        self._client = world.client(KUBELET)
        self._rng = world.rng("kubelet")
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Until cancelled."""
        end = self._world.api.follow("pods", self._changed)
        try:
            await asyncio.Event().wait()
        finally:
            end()

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            return
        meta = new["metadata"]
        if old is None:
            self._begin(self._start(meta["name"], meta["uid"]), f"start {meta['name']}")
        if is_terminating(new) and (old is None or not is_terminating(old)):
            self._begin(self._finish(meta["name"], meta["uid"]), f"end {meta['name']}")

    def _begin(self, what: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(asyncio.create_task(what, name=name))

    async def _start(self, name: str, uid: str) -> None:
        await asyncio.sleep(self._rng.uniform(0, 0.05))
        target = {"apiVersion": "v1", "kind": "Node", "name": "node"}
        with suppress(ApiError):  # it is gone already
            body = {"metadata": {"name": name, "uid": uid}, "target": target}
            await self._client.create_subresource(PODS, name, NAMESPACE, "binding", body)
        most = self._world.course.slowest_start
        await asyncio.sleep(self._rng.uniform(0.1 * most, most))
        found = self._find(name, uid)
        if found is not None and not is_bad(image_of(found)):
            await self.set_ready(name, uid, ready=True)

    async def _finish(self, name: str, uid: str) -> None:
        await asyncio.sleep(self._rng.uniform(0.05, 1.5))
        with suppress(ApiError):  # it is gone already
            await self._client.delete(PODS, name, NAMESPACE, grace_period_seconds=0, uid=uid)

    def _find(self, name: str, uid: str) -> Json | None:
        found = self._world.api.peek("pods", NAMESPACE, name)
        return found if found is not None and found["metadata"]["uid"] == uid else None

    async def set_ready(self, name: str, uid: str, *, ready: bool) -> None:
        condition = {
            "type": "Ready",
            "status": str(ready),
            "lastTransitionTime": timestamp(self._world.clock()),
        }
        status = {"phase": "Running", "conditions": [condition]}
        with suppress(ApiError):
            body = {"metadata": {"uid": uid}, "status": status}
            await self._client.patch(PODS, body, name, NAMESPACE, subresource="status")

    def fail(self, name: str, uid: str) -> None:
        """Not ready for a while."""
        self._begin(self._fail(name, uid), f"fail {name}")

    async def _fail(self, name: str, uid: str) -> None:
        await self.set_ready(name, uid, ready=False)
        await asyncio.sleep(self._rng.uniform(0.2, 6))
        if self._find(name, uid) is not None:
            await self.set_ready(name, uid, ready=True)
