"""What controllers share that remove pods because of their node, at once or after a while."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import ClassVar

from intact.kube.client import PatchType
from intact.kube.errors import Conflict, NotFound
from intact.model.times import timestamp
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.resources import PODS


class LeavingPods(Controller):
    """By DELETE, so that no PodDisruptionBudget is asked."""

    kind = "pods"
    user: ClassVar[str]
    reason: ClassVar[str]
    message: ClassVar[str]

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._client = shared.client_of(self.user)
        self._since: dict[str, datetime] = {}
        """When the time of a pod on its node began to run out, by UID."""

    def may_stay(self, pod: Json) -> float | None:
        """Seconds, from the first time that this is asked of a pod; None: for ever."""
        raise NotImplementedError

    def concerns_pods(self, old: Json | None, new: Json | None) -> bool:
        """Whether the pods of a node may have to leave, or may stay again, after its change."""
        raise NotImplementedError

    async def remove(self, pod: Json) -> None:
        """Raises NotFound or Conflict if it is gone."""
        raise NotImplementedError

    def follow(self) -> list[Callable[[], None]]:
        return [self.shared.api.follow("nodes", self._node_changed)]

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self._since.pop(old["metadata"]["uid"], None)
        elif new["metadata"]["uid"] in self._since or self.may_stay(new) is not None:
            super()._changed(old, new)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        node = new or old
        assert node is not None
        if self.concerns_pods(old, new):
            for pod in self.shared.pods_by_node.of(node["metadata"]["name"]):
                super()._changed(None, pod)

    async def reconcile(self, obj: Json) -> None:
        meta = obj["metadata"]
        seconds = self.may_stay(obj)
        if seconds is None:
            self._since.pop(meta["uid"], None)
            return
        since = self._since.setdefault(meta["uid"], self.now())
        left = seconds - (self.now() - since).total_seconds()
        if left > 0:
            self.again_after(obj, left)
            return
        with suppress(NotFound, Conflict):
            await self.remove(obj)

    async def mark(self, pod: Json, **status: str) -> None:
        """Say in the pod's status why it goes."""
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": timestamp(self.now()),
        }
        meta = pod["metadata"]
        await self._client.patch(
            PODS,
            {"metadata": {"uid": meta["uid"]}, "status": {**status, "conditions": [condition]}},
            meta["name"],
            meta["namespace"],
            type=PatchType.STRATEGIC,
            subresource="status",
        )

    async def delete(self, pod: Json, grace_period_seconds: int | None = None) -> None:
        meta = pod["metadata"]
        await self._client.delete(
            PODS,
            meta["name"],
            meta["namespace"],
            uid=meta["uid"],
            grace_period_seconds=grace_period_seconds,
        )
