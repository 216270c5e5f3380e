"""Carrying out what a coordinated rollout decides about pods: evictions, labels, the way back.

Every pod that a rollout takes down is evicted, so that its budgets have their say. A refusal is
waited for: nothing else of the role moves before it. What was evicted of a Deployment is remembered
until the Deployment is lowered by it; whoever takes over evicts again.
"""

import logging
from collections.abc import Container, Iterable
from typing import Any

from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, Conflict, NotFound, TooManyRequests
from intact.kube.resources import PODS, RBGS, untyped
from intact.model.pod import Pod
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.resources import REVISIONS
from intact.rollout.names import HELD, REVISION
from intact.rollout.orders import Eviction, RolloutStep
from intact.rollout.places import is_held
from intact.rollout.revisions import restored

log = logging.getLogger(__name__)


class RbgEvictions:
    def __init__(self, client: Client) -> None:
        self.writes = 0
        self._client = client
        self._evicted: dict[str, set[str]] = {}

    def evicted(self, deployment: str) -> frozenset[str]:
        """UIDs of pods by which the Deployment of this UID has to be lowered."""
        return frozenset(self._evicted.get(deployment, ()))

    def settle(self, driven: Iterable[RolloutStep]) -> None:
        for each in driven:
            for uid in each.settled:
                self.forget(uid)

    def forget(self, deployment: str) -> None:
        self._evicted.pop(deployment, None)

    def forget_all(self) -> None:
        self._evicted.clear()

    async def let_go(self, pods: Iterable[Pod]) -> None:
        """Let pods go on that we hold."""
        for pod in pods:
            if is_held(pod):
                await self._let_go(pod)

    async def relabel(self, group: RoleBasedGroup, driven: RolloutStep) -> list[ApiError]:
        """Returns what was said against it, by somebody's webhook perhaps."""
        refusals = []
        for name, revision in driven.relabel.items():
            body = {"metadata": {"labels": {REVISION: revision}}}
            try:
                await self._client.patch(PODS, body, name, group.metadata.namespace)
            except NotFound:
                continue
            except ApiError as error:
                refusals.append(error)
                continue
            self.writes += 1
        return refusals

    async def evict(self, driven: RolloutStep, roles: Container[str]) -> dict[str, str]:
        """Of roles whose orders have been applied. Returns, by role, what was said against it."""
        refusals: dict[str, str] = {}
        for eviction in driven.evict:
            if eviction.role in refusals or eviction.role not in roles:
                continue
            try:
                await self._evict(eviction)
            except (NotFound, Conflict):
                continue  # it has gone, or come back as another
            except TooManyRequests as error:
                meta = eviction.pod.metadata
                refusals[eviction.role] = f"a budget of pod {meta.name}: {error.status.message}"
            except ApiError as error:  # two PodDisruptionBudgets, somebody's webhook
                meta = eviction.pod.metadata
                refusals[eviction.role] = f"the eviction of pod {meta.name}: {error}"
        return refusals

    async def _evict(self, eviction: Eviction) -> None:
        meta = eviction.pod.metadata
        if not eviction.deployment and not is_held(eviction.pod):
            # Asked before it is held: a pod that stays must not be touched again and again.
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid, dry_run=True)
            body = {"metadata": {"uid": meta.uid, "finalizers": [HELD]}}
            await self._client.patch(
                PODS, body, meta.name, meta.namespace, type=PatchType.STRATEGIC
            )
            self.writes += 1
        known = meta.uid in self.evicted(eviction.deployment)
        if eviction.deployment:  # also if the answer gets lost
            self._evicted.setdefault(eviction.deployment, set()).add(meta.uid)
        try:
            await self._client.evict(PODS, meta.name, meta.namespace, uid=meta.uid)
        except ApiError as error:
            if not eviction.deployment:
                await self._let_go(eviction.pod)
            elif not known and not isinstance(error, NotFound | Conflict):
                self._evicted[eviction.deployment].discard(meta.uid)
            raise
        self.writes += 1

    async def _let_go(self, pod: Pod) -> None:
        if await let_go(self._client, pod):
            self.writes += 1

    async def roll_back(self, group: RoleBasedGroup, name: str) -> bool:
        meta = group.metadata
        return await roll_back(
            self._client, meta.namespace, meta.name, name, generation=meta.generation
        )


async def let_go(client: Client, pod: Pod) -> bool:
    """Hold a pod no longer. False if it is not there any more."""
    meta = pod.metadata
    body = {"metadata": {"uid": meta.uid, "$deleteFromPrimitiveList/finalizers": [HELD]}}
    try:
        await client.patch(PODS, body, meta.name, meta.namespace, type=PatchType.STRATEGIC)
    except (NotFound, Conflict):
        return False
    return True


GROUPS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)


async def roll_back(
    client: Client, namespace: str, group: str, revision: str, *, generation: int | None = None
) -> bool:
    """Give a group the templates of one of its revisions. False if it has them already, or if it is
    of another generation than the given one: it was edited since this was decided."""
    stored = await client.get(REVISIONS, revision, namespace)
    live: dict[str, Any] = await client.get(GROUPS, group, namespace)
    if generation not in (None, live["metadata"]["generation"]):
        return False
    spec = restored(live["spec"], stored.data)
    if spec == live["spec"]:
        return False
    patch = [
        {
            "op": "replace",  # not test: what has changed since is a conflict, and nothing invalid
            "path": "/metadata/resourceVersion",
            "value": live["metadata"]["resourceVersion"],
        },
        {"op": "replace", "path": "/spec/roles", "value": spec["roles"]},
    ]
    await client.patch(GROUPS, patch, group, namespace, type=PatchType.JSON)
    return True
