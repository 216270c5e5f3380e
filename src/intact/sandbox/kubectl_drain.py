"""`kubectl drain --ignore-daemonsets` as kubectl 1.36 does it, step by step.

The node is cordoned; its pods are listed once; all are asked for at once. A pod whose eviction is
refused with 429 is asked for again after five seconds, a pod that goes is looked for every second,
and any other answer ends the wait for that pod. Nothing is evicted from a node with a pod that
kubectl will not delete. Two things are easily missed:

- kubectl evicts by name. A pod that was replaced while its eviction was refused is asked for under
  the same name, wherever it runs now.
- client-go itself follows `Retry-After`, silently and up to ten times, before kubectl hears of it.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from intact.kube.client import Client
from intact.kube.errors import ApiError, Forbidden, KubeError, NotFound, TooManyRequests
from intact.kube.resources import untyped
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished, is_terminating
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.owned import controller_of

RETRY_AFTER = 5.0
LOOK_EVERY = 1.0
_RETRIES = 10
_MIRROR = "kubernetes.io/config.mirror"
_NAMESPACE_TERMINATING = "NamespaceTerminating"
_PODS = untyped("", "v1", "pods", "Pod")
_NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
_DAEMON_SETS = untyped("apps", "v1", "daemonsets", "DaemonSet")

UNMANAGED = "declares no controller (use --force to override)"
LOCAL_STORAGE = "has local storage (use --delete-emptydir-data to override)"
MANAGED_BY_DAEMON_SET = "is managed by a DaemonSet"
MIRROR = "mirrors a static pod"


class What(StrEnum):
    """What happened to a pod."""

    IGNORED = "ignored"
    """It stays: its DaemonSet, or the kubelet, would bring it back."""
    KEPT = "kept"
    """kubectl will not delete it without another option, and then evicts nothing from the node."""
    EVICTING = "evicting"
    """Its eviction is asked for, for the first time or again."""
    REFUSED = "refused"
    EVICTED = "evicted"
    """The eviction is granted: the pod terminates."""
    GONE = "gone"
    """kubectl has seen that it is gone."""
    FAILED = "failed"
    """kubectl gives it up."""


@dataclass(frozen=True, slots=True)
class Step:
    what: What
    namespace: str
    name: str
    uid: str
    why: str = ""


Report = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Options:
    """Those of kubectl."""

    force: bool = False
    delete_emptydir_data: bool = False
    timeout: float | None = None
    goes_on: bool = False
    """Not one of kubectl's: evict the others from a node with a pod that kubectl will not delete.
    A rehearsal shows what is in their way, too."""
    knows_daemon_sets: bool = True
    """Not one of kubectl's: whether a DaemonSet that is not found is gone. Else it could only not
    be read."""


DEFAULTS = Options()


async def cordon(client: Client, node: str, *, unschedulable: bool = True) -> None:
    body = {"spec": {"unschedulable": True if unschedulable else None}}
    await client.patch(_NODES, body, node)


async def drain(
    api: MemoryApi, client: Client, node: str, report: Report, options: Options = DEFAULTS
) -> bool:
    """Returns whether the node is drained, as kubectl's exit code says it."""
    await cordon(client, node)
    pods, kept = await _to_evict(client, node, report, options)
    if kept and not options.goes_on:
        return False
    watch = _Watch(api)
    try:
        deadline = math.inf
        if options.timeout is not None:
            deadline = asyncio.get_running_loop().time() + options.timeout
        evictions = [_Eviction(api, client, watch, report, deadline, pod) for pod in pods]
        drained = all(await asyncio.gather(*(each.run() for each in evictions)))
        return drained and not kept
    finally:
        watch.end()


async def _to_evict(
    client: Client, node: str, report: Report, options: Options
) -> tuple[list[Json], bool]:
    """With whether kubectl will not delete one of them."""
    found: list[Json] = []
    kept = False
    for pod in (await client.list(_PODS, fields=f"spec.nodeName={node}")).items:
        verdict, why = await _filter(client, pod, options)
        if verdict is None:
            found.append(pod)
        else:
            report(_step(verdict, pod, why))
            kept = kept or verdict is What.KEPT
    return found, kept


async def _filter(client: Client, pod: Json, options: Options) -> tuple[What | None, str]:
    """Whether something keeps the pod from being evicted."""
    owner = controller_of(pod)
    finished = is_finished(pod)
    if owner is not None and owner["kind"] == "DaemonSet" and not finished:
        try:
            await client.get(_DAEMON_SETS, owner["name"], pod["metadata"]["namespace"])
        except NotFound as error:
            if not options.knows_daemon_sets:
                return What.IGNORED, MANAGED_BY_DAEMON_SET
            if not options.force:
                return What.KEPT, str(error)
        else:
            return What.IGNORED, MANAGED_BY_DAEMON_SET
    if _MIRROR in (pod["metadata"].get("annotations") or ()):
        return What.IGNORED, MIRROR
    if finished:
        return None, ""
    volumes = pod["spec"].get("volumes") or ()
    if any("emptyDir" in volume for volume in volumes) and not options.delete_emptydir_data:
        return What.KEPT, LOCAL_STORAGE
    if owner is None and not options.force:
        return What.KEPT, UNMANAGED
    return None, ""


class _Watch:
    """Tells when pods are gone."""

    def __init__(self, api: MemoryApi) -> None:
        self._awaited: dict[str, asyncio.Event] = {}
        self._api = api
        self.end = api.follow("pods", self._changed)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if old is not None and new is None:
            event = self._awaited.pop(old["metadata"]["uid"], None)
            if event is not None:
                event.set()

    async def gone(self, namespace: str, name: str, uid: str) -> None:
        """Until the pod is gone. Others may wait for it as well."""
        found = self._api.peek("pods", namespace, name)
        if found is not None and found["metadata"]["uid"] == uid:
            await self._awaited.setdefault(uid, asyncio.Event()).wait()


class _Eviction:
    """Of one pod, as one goroutine of kubectl's."""

    def __init__(
        self,
        api: MemoryApi,
        client: Client,
        watch: _Watch,
        report: Report,
        deadline: float,
        pod: Json,
    ) -> None:
        self._api = api
        self._client = client
        self._watch = watch
        self._report = report
        self._deadline = deadline
        self._pod = pod
        self._namespace: str = pod["metadata"]["namespace"]
        self._name: str = pod["metadata"]["name"]

    async def run(self) -> bool:
        try:
            async with asyncio.timeout_at(None if math.isinf(self._deadline) else self._deadline):
                if await self._ask():
                    await self._wait()
        except TimeoutError:
            return self._failed("global timeout reached")
        except KubeError as error:
            return self._failed(str(error))
        self._tell(What.GONE)
        return True

    async def _ask(self) -> bool:
        """Until the eviction is granted; False if the pod is gone already."""
        while True:
            self._tell(What.EVICTING)
            try:
                await self._evict()
            except NotFound:
                return False
            except TooManyRequests as error:
                self._tell(What.REFUSED, str(error))
            except Forbidden as error:
                if not error.has_cause(_NAMESPACE_TERMINATING):
                    raise
                if is_terminating(self._pod):
                    return True
                self._tell(What.REFUSED, str(error))
            else:
                self._tell(What.EVICTED)
                return True
            await asyncio.sleep(RETRY_AFTER)
            self._pod = self._api.peek("pods", self._namespace, self._name) or self._pod

    async def _evict(self) -> None:
        for _ in range(_RETRIES):
            try:
                return await self._client.evict(_PODS, self._name, self._namespace)
            except ApiError as error:
                if not error.retry_after:
                    raise
                await asyncio.sleep(error.retry_after)
        return await self._client.evict(_PODS, self._name, self._namespace)

    async def _wait(self) -> None:
        """Until kubectl sees that the pod is gone: it looks at once, and then every second."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await self._watch.gone(self._namespace, self._name, self._pod["metadata"]["uid"])
        looks = math.ceil((loop.time() - begun) / LOOK_EVERY)
        await asyncio.sleep(max(0.0, begun + looks * LOOK_EVERY - loop.time()))

    def _tell(self, what: What, why: str = "") -> None:
        self._report(_step(what, self._pod, why))

    def _failed(self, why: str) -> bool:
        self._tell(What.FAILED, why)
        return False


def _step(what: What, pod: Json, why: str = "") -> Step:
    metadata = pod["metadata"]
    return Step(what, metadata["namespace"], metadata["name"], metadata["uid"], why)
