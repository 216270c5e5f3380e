"""Carries out what a rollout decides about pods: evict them, hold them, let them go, relabel them.

A rollout takes down every pod by eviction, within its budgets. After a refusal the role waits: none
of its other pods moves. Evicted pods of a Deployment are remembered until the Deployment is lowered
by them, and those of a StatefulSet until the store has seen them going; a new leader evicts again.

A pod that does not serve goes at no cost. It may be ready by now, unseen by a store that is behind:
so it goes only if it is as it was seen, and else waits for the next look. An eviction that is asked
for again is not bound to that: the first one, whose answer was lost, has changed the pod.
"""

from collections.abc import Container, Iterable, Mapping

from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, Conflict, Invalid, NotFound, TooManyRequests
from intact.kube.resources import PODS
from intact.model.pod import Pod
from intact.model.pod_state import is_ready
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.refusals import gather_refusals
from intact.rollout.names import HELD, REVISION
from intact.rollout.orders import Eviction
from intact.rollout.statefulset import is_held


class RbgEvictions:
    def __init__(self, client: Client, evicted: EvictedPods) -> None:
        self.writes = 0
        self._client = client
        self._evicted = evicted

    async def let_go(self, pods: Iterable[Pod]) -> list[ApiError]:
        """Hold none of these pods any longer. Returns the refusals."""
        return await gather_refusals(self._let_go(pod) for pod in pods if is_held(pod))

    async def relabel(self, namespace: str, revisions: Mapping[str, str]) -> list[ApiError]:
        """Write the revision that routers read on pods, by pod name. Returns the refusals."""
        return await gather_refusals(
            self._relabel(namespace, name, revision) for name, revision in revisions.items()
        )

    async def _relabel(self, namespace: str, name: str, revision: str) -> None:
        body = {"metadata": {"labels": {REVISION: revision}}}
        await self._client.patch(PODS, body, name, namespace)
        self.writes += 1

    async def evict(self, evictions: Iterable[Eviction], roles: Container[str]) -> dict[str, str]:
        """Evict pods of roles whose orders have been applied. Returns what refused it, by role."""
        refusals: dict[str, str] = {}
        for eviction in evictions:
            if eviction.role in refusals or eviction.role not in roles:
                continue
            name = eviction.pod.metadata.name
            try:
                await self._evict(eviction)
            except (NotFound, Conflict):
                continue  # it is gone, another pod has its name, or it has changed
            except TooManyRequests as error:
                refusals[eviction.role] = f"a budget of pod {name}: {error.status.message}"
            except ApiError as error:  # such as two PodDisruptionBudgets, or another webhook
                refusals[eviction.role] = f"the eviction of pod {name}: {error}"
        return refusals

    async def _evict(self, eviction: Eviction) -> None:
        if eviction.deployment:
            await self._evict_remembered(eviction.pod, eviction.deployment)
        else:
            await self._evict_held(eviction)
        self.writes += 1

    async def _evict_held(self, eviction: Eviction) -> None:
        pod, meta = eviction.pod, eviction.pod.metadata
        version = "" if self._evicted.is_held(meta.uid) else _version(pod)
        if not is_held(pod):
            # A dry run first: a pod that stays must not be written again and again.
            await self._client.evict(
                PODS,
                meta.name,
                meta.namespace,
                uid=meta.uid,
                resource_version=version,
                dry_run=True,
            )
            seen = {"resourceVersion": version} if version else {}
            answer = await _patch(self._client, pod, {"finalizers": [HELD], **seen})
            version = answer.metadata.resource_version if version else ""
            self.writes += 1
        self._evicted.hold(eviction)  # before the request: its answer may be lost
        try:
            await self._client.evict(
                PODS, meta.name, meta.namespace, uid=meta.uid, resource_version=version
            )
        except ApiError:
            self._evicted.release(meta.uid)
            await self._let_go(pod)
            raise
        self._evicted.answered(meta.uid)

    async def _evict_remembered(self, pod: Pod, deployment: str) -> None:
        meta = pod.metadata
        new = self._evicted.add(deployment, meta.uid)  # before the request: its answer may be lost
        version = _version(pod) if new else ""
        try:
            await self._client.evict(
                PODS, meta.name, meta.namespace, uid=meta.uid, resource_version=version
            )
        except NotFound:
            raise
        except ApiError as error:
            if new and (version or not isinstance(error, Conflict)):
                self._evicted.discard(deployment, meta.uid)
            raise

    async def _let_go(self, pod: Pod) -> None:
        if await let_go(self._client, pod):
            self.writes += 1


async def let_go(client: Client, pod: Pod) -> bool:
    """Hold a pod no longer. False if it does not exist any more."""
    try:
        await _patch(client, pod, {"$deleteFromPrimitiveList/finalizers": [HELD]})
    except (NotFound, Conflict):
        return False
    return True


def _version(pod: Pod) -> str:
    """That it has to have still in order to go; empty if any will do."""
    return "" if is_ready(pod) else pod.metadata.resource_version


async def _patch(client: Client, pod: Pod, metadata: dict[str, object]) -> Pod:
    """Change this very pod. Raises `Conflict` if another one has its name by now: the API server
    calls that an attempt to change the UID."""
    meta = pod.metadata
    body = {"metadata": {"uid": meta.uid, **metadata}}
    try:
        return await client.patch(PODS, body, meta.name, meta.namespace, type=PatchType.STRATEGIC)
    except Invalid as error:
        if any(cause.field == "metadata.uid" for cause in error.causes):
            raise Conflict(error.status) from error
        raise
