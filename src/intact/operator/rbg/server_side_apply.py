"""Server-side apply of what we own, and only where it is needed.

An object is applied when what we want of it has changed, or when somebody else may have changed it:
its generation is not the one that our last apply left, or what has no generation differs. At rest
nothing is sent. After a restart everything is applied once, which changes nothing.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from intact.kube.client import Client, PatchType
from intact.kube.errors import Invalid, KubeError, NotFound
from intact.kube.resources import Resource
from intact.model.meta import ObjectMeta
from intact.model.pod import PodMeta
from intact.model.role_workload import ConfigMap, RoleWorkload, Service

Owned = RoleWorkload | Service | ConfigMap
T = TypeVar("T", RoleWorkload, Service, ConfigMap)
Json = dict[str, Any]

BETWEEN_REPAIRS = 1.0
"""Seconds. Whoever keeps undoing what we write must not get us to write without end."""


UNHEARD = 30.0
"""Seconds after which an object that the store has never heard of has to be asked for: it may have
been deleted while no watch stood."""


class NotOurs(KubeError):
    """An object of the wanted name is there, and belongs to somebody else."""


class TooSoon(KubeError):
    """The object was put right a moment ago, and is wrong again."""


@dataclass(frozen=True, slots=True)
class _Applied:
    digest: str
    uid: str
    generation: int
    at: float


class Applier:
    def __init__(self, client: Client) -> None:
        self.writes = 0
        self._client = client
        self._applied: dict[tuple[str, str, str], _Applied] = {}
        self._answers: dict[tuple[str, str, str], Owned] = {}

    def newest(self, resource: Resource[T], live: T | None, namespace: str, name: str) -> T | None:
        """The object as it is known: our own last write may be ahead of the store."""
        answer = self._answers.get((resource.plural, namespace, name))
        if answer is None or not isinstance(answer, resource.type):
            return live
        if live is not None and _version(live.metadata) < _version(answer.metadata):
            return answer
        now = asyncio.get_running_loop().time()
        if live is None and now - self._applied[resource.plural, namespace, name].at < UNHEARD:
            return answer
        del self._answers[resource.plural, namespace, name]
        return live

    def gone(self, resource: Resource[Any], namespace: str, name: str) -> None:
        """The store has seen it deleted."""
        self._answers.pop((resource.plural, namespace, name), None)
        self._applied.pop((resource.plural, namespace, name), None)

    async def apply(self, resource: Resource[T], body: Json, owner: str, live: T | None) -> T:
        """Make it so. `live` is the object as the store knows it. Raises `NotOurs`, `TooSoon` and
        `KubeError`."""
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        key = (resource.plural, namespace, name)
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        before = self._applied.get(key)
        live = self.newest(resource, live, namespace, name)
        if live is None:
            try:
                live = await self._client.get(resource, name, namespace)
            except NotFound:
                before = None
        if live is not None:
            if not is_owned_by(live.metadata, owner):
                raise NotOurs(f"{resource.kind} {name} is there already and is not this group's")
            if before is not None and _is_as_left(before, digest, body, live):
                return live
        now = asyncio.get_running_loop().time()
        if before is not None and before.digest == digest and now - before.at < BETWEEN_REPAIRS:
            raise TooSoon(f"{resource.kind} {name} is changed again and again by somebody else")
        try:
            answer = await self._send(resource, body)
        except Invalid:
            if not isinstance(live, Service) or before is None or before.digest != digest:
                raise
            # It was valid before. A port that somebody has given another number is another port,
            # which apply leaves in place, and of whose name there may be one only.
            await self._client.patch(resource, {"spec": {"ports": None}}, name, namespace)
            self.writes += 1
            answer = await self._send(resource, body)
        meta = answer.metadata
        self._applied[key] = _Applied(digest, meta.uid, meta.generation, now)
        self._answers[key] = answer
        return answer

    async def _send(self, resource: Resource[T], body: Json) -> T:
        meta = body["metadata"]
        answer = await self._client.patch(
            resource, body, meta["name"], meta["namespace"], type=PatchType.APPLY, force=True
        )
        self.writes += 1
        return answer


def is_owned_by(meta: ObjectMeta | PodMeta, uid: str) -> bool:
    return any(one.controller and one.uid == uid for one in meta.owner_references)


def _version(meta: ObjectMeta) -> int:
    return int(meta.resource_version)


def _is_as_left(before: _Applied, digest: str, body: Json, live: Owned) -> bool:
    meta, wanted = live.metadata, body["metadata"]
    if (before.digest, before.uid, before.generation) != (digest, meta.uid, meta.generation):
        return False
    if not wanted["labels"].items() <= meta.labels.items():
        return False
    if not wanted.get("annotations", {}).items() <= meta.annotations.items():
        return False
    if isinstance(live, Service):
        # The selector is one value: a label more would leave the Service without pods.
        same = live.spec.get("selector") == body["spec"]["selector"]
        return same and _contains(live.spec, body["spec"])
    return not isinstance(live, ConfigMap) or _contains(live.data, body["data"])


def _contains(live: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; defaults and others' additions do not count."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            key in live and _contains(live[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and all(
            any(_contains(have, one) for have in live) for one in wanted
        )
    return bool(live == wanted)
