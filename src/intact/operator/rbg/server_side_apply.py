"""Server-side apply of the objects that Intact owns, only when it is needed.

An object is applied if the wanted content has changed, or if another client may have changed the
object: its generation is not the one that the last apply left, or a part without generation
differs. At rest nothing is sent. After a restart everything is applied once, which changes nothing.

A write whose answer was lost may have been carried out, and the store may not have seen it: before
the next decisions the object is read from the API server.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, Invalid, KubeError, NotFound, ServerError
from intact.kube.resources import Resource
from intact.model.meta import ObjectMeta
from intact.model.pod_state import controller_uid
from intact.model.role_workload import ConfigMap, RoleWorkload, Service

Owned = RoleWorkload | Service | ConfigMap
T = TypeVar("T", RoleWorkload, Service, ConfigMap)
Json = dict[str, Any]

BETWEEN_REPAIRS = 1.0
"""Seconds. A client that keeps undoing Intact's writes must not make it write endlessly."""

UNHEARD = 30.0
"""Seconds after which an object that the store has never seen is read from the API server: it may
have been deleted while no watch was open."""


class NotOurs(KubeError):
    """An object of the wanted name exists, and has another owner."""


class TooSoon(KubeError):
    """The object was repaired a moment ago, and differs again."""


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
        self._unanswered: dict[tuple[str, str, str], tuple[Resource[Any], str]] = {}
        """The resource, and the UID of the owner."""

    async def catch_up(self, owner: str) -> None:
        """Read what became of the writes whose answers were lost. Raises `KubeError`."""
        for key, (resource, of) in list(self._unanswered.items()):
            if of != owner:
                continue
            _, namespace, name = key
            try:
                found = await self._client.get(resource, name, namespace)
            except NotFound:
                self._answers.pop(key, None)
            else:
                now, meta = asyncio.get_running_loop().time(), found.metadata
                self._applied[key] = _Applied("", meta.uid, meta.generation, now)
                self._answers[key] = found
            self._unanswered.pop(key, None)

    def newest(self, resource: Resource[T], live: T | None, namespace: str, name: str) -> T | None:
        """The newest known state: the answer to the last write may be ahead of the store."""
        answer = self._answers.get((resource.plural, namespace, name))
        if answer is None or not isinstance(answer, resource.type):
            return live
        # The answer itself may be given as `live`: it is kept until the store is past it.
        if live is not None and _version(live.metadata) <= _version(answer.metadata):
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
        self._unanswered.pop((resource.plural, namespace, name), None)

    async def apply(self, resource: Resource[T], body: Json, owner: str, live: T | None) -> T:
        """Apply the body, if needed. `live` is the object as the store has it. Raises `NotOurs`,
        `TooSoon` and `KubeError`."""
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
            if controller_uid(live) != owner:
                raise NotOurs(
                    f"{resource.kind} {name} already exists and does not belong to this "
                    "RoleBasedGroup"
                )
            if before is not None and _is_as_left(before, digest, body, live):
                return live
        now = asyncio.get_running_loop().time()
        if before is not None and before.digest == digest and now - before.at < BETWEEN_REPAIRS:
            raise TooSoon(
                f"another client keeps changing {resource.kind} {name}: "
                f"Intact repairs it at most once in {BETWEEN_REPAIRS:g} s"
            )
        try:
            answer = await self._send(resource, body, owner)
        except Invalid:
            if not isinstance(live, Service) or before is None or before.digest != digest:
                raise
            # It was valid before. If another client has changed a port's number, apply takes it for
            # another port and keeps it, and then two ports have the same name.
            await self._client.patch(resource, {"spec": {"ports": None}}, name, namespace)
            self.writes += 1
            answer = await self._send(resource, body, owner)
        meta = answer.metadata
        self._applied[key] = _Applied(digest, meta.uid, meta.generation, now)
        self._answers[key] = answer
        return answer

    async def _send(self, resource: Resource[T], body: Json, owner: str) -> T:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            answer = await self._client.patch(
                resource, body, name, namespace, type=PatchType.APPLY, force=True
            )
        except KubeError as error:
            if not isinstance(error, ApiError) or isinstance(error, ServerError):
                self._unanswered[resource.plural, namespace, name] = resource, owner
            raise
        self.writes += 1
        return answer


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
        # The selector is compared as a whole: one more label would leave the Service without pods.
        same = live.spec.get("selector") == body["spec"]["selector"]
        return same and _contains(live.spec, body["spec"])
    return not isinstance(live, ConfigMap) or _contains(live.data, body["data"])


def _contains(live: Any, wanted: Any) -> bool:
    """Whether it has all that is wanted; defaults and additions by other clients do not count."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            key in live and _contains(live[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and all(
            any(_contains(have, one) for have in live) for one in wanted
        )
    return bool(live == wanted)
