"""The client: one method for each kind of request."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Any, Self, TypeVar

import msgspec

from intact.kube.decoding import Decoders, Page, WatchEvent, decoders
from intact.kube.errors import KubeError, NotFound, error_of_response
from intact.kube.history import History
from intact.kube.resources import Resource
from intact.kube.retry import Backoff, may_retry
from intact.kube.transport import DEFAULT_TIMEOUT, Request, Response, Transport
from intact.model.status import Status

T = TypeVar("T")
log = logging.getLogger(__name__)

PAGE = 500
WATCH_SILENCE = 90.0
"""Seconds after which a silent watch is looked into. Servers send bookmarks about every minute, but
need not: a resource in which nothing was ever written stays silent for two minutes (seen)."""
_PRESENT_WITHIN = 10.0
"""Seconds in which a server says what its present version is."""
_RETRIES = 4


class PatchType(StrEnum):
    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Client:
    """Objects are given as anything msgspec can encode (dicts, views) and read as the resource's
    type. Failures are raised as `ApiError`, `Unreachable` or `Undecodable`; what may safely be
    repeated has been repeated before that."""

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "intact",
        rng: random.Random | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self.history = History()
        self._transport = transport
        self._field_manager = field_manager
        self._rng = rng or random.Random()
        self._backoff = Backoff()
        self._on_warning = on_warning or (lambda text: log.warning("API server: %s", text))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    async def get(
        self,
        resource: Resource[T],
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> T:
        if not name:  # which others may have sent: the path would be that of all objects
            message = f"no {resource.full_name} have an empty name"
            raise NotFound(Status(code=404, reason="NotFound", message=message))
        path = resource.path(namespace, name, subresource)
        return await self._object(resource, Request("GET", path, timeout=timeout))

    async def list(
        self, resource: Resource[T], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Page[T]:
        """All objects, as of one moment, in one `Page`."""
        items: list[T] = []
        version = ""
        async for page in self.pages(resource, namespace, labels=labels, fields=fields):
            items += page.items
            version = page.resource_version
        return Page(items, version, "")

    async def pages(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = PAGE,
    ) -> AsyncIterator[Page[T]]:
        """A list in pages, all as of one moment. Raises `Gone` if that moment is too long past."""
        query = _selectors(labels, fields) | {"limit": str(limit)}
        decode = decoders(resource).page
        while True:
            response = await self._send(Request("GET", resource.path(namespace), query))
            page = decode(response.body)
            yield page
            if not page.continue_token:
                return
            query = query | {"continue": page.continue_token}

    async def present_version(
        self, resource: Resource[Any], namespace: str = "", *, fields: str = ""
    ) -> str:
        """The version that the server has reached. It reads at most one object for this, and
        answers from its database, not from what it remembers. It is asked once."""
        query = _selectors("", fields) | {"limit": "1"}
        anything: Resource[dict[str, Any]] = replace(resource, type=dict[str, Any])
        path = resource.path(namespace)
        response = await self._once(Request("GET", path, query, timeout=_PRESENT_WITHIN))
        return decoders(anything).page(response.body).resource_version

    async def get_at(
        self,
        version: str,
        resource: Resource[T],
        name: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
    ) -> T | None:
        """The object as it was at this version; None if there was none, or none that is selected.
        It is asked for once. Raises `Gone` if that is too long past."""
        named = f"metadata.name={name}"
        query = _selectors(labels, f"{fields},{named}" if fields else named)
        query |= {"resourceVersion": version, "resourceVersionMatch": "Exact"}
        path = resource.path(namespace)
        response = await self._once(Request("GET", path, query, timeout=_PRESENT_WITHIN))
        items = decoders(resource).page(response.body).items
        return items[0] if items else None

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        timeout: int = 0,
        silence: float = WATCH_SILENCE,
    ) -> AsyncGenerator[AsyncGenerator[WatchEvent[T], None], None]:
        """Events after a resource version, until the server ends the watch.

        Entered once the server has accepted the watch. It asks for bookmarks. `timeout` (seconds)
        is the server's; after `silence` seconds without a byte `Silent` is raised.
        """
        query = _selectors(labels, fields) | {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version:
            query["resourceVersion"] = resource_version
        if timeout:
            query["timeoutSeconds"] = str(timeout)
        request = Request("GET", resource.path(namespace), query, timeout=silence)
        async with self._transport.stream(request) as stream:
            if stream.status >= 400:
                body = b"".join([chunk async for chunk in stream.chunks])
                raise error_of_response(stream.status, body, stream.retry_after)
            async with aclosing(_events(stream.chunks, decoders(resource))) as events:
                yield events

    async def create(
        self,
        resource: Resource[T],
        body: object,
        namespace: str = "",
        *,
        dry_run: bool = False,
        field_manager: str = "",
    ) -> T:
        query = self._write_query(dry_run, field_manager)
        request = Request("POST", resource.path(namespace), query, encode(body))
        return await self._object(resource, request)

    async def create_subresource(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str,
        subresource: str,
        body: object,
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """POST to a subresource (`token`, `eviction`, `binding`), whose answer is a dict."""
        path = resource.path(namespace, name, subresource)
        request = Request("POST", path, self._write_query(dry_run, ""), encode(body))
        response = await self._send(request)
        answers: Resource[dict[str, Any]] = replace(resource, type=dict[str, Any])
        return decoders(answers).one(response.body)

    async def update(
        self,
        resource: Resource[T],
        body: object,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> T:
        """PUT. With a resourceVersion in the body it is a compare-and-swap."""
        path = resource.path(namespace, name, subresource)
        request = Request("PUT", path, self._write_query(dry_run, field_manager), encode(body))
        return await self._object(resource, request)

    async def patch(
        self,
        resource: Resource[T],
        body: object,
        name: str,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 - the API's own word
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: str = "",
    ) -> T:
        """`force` takes over fields that another manager has applied; it is for APPLY only.
        `field_validation` says what becomes of unknown fields: Ignore, Warn or Strict."""
        query = self._write_query(dry_run, field_manager)
        if field_validation:
            query["fieldValidation"] = field_validation
        if force:
            query["force"] = "true"
        path = resource.path(namespace, name, subresource)
        request = Request("PATCH", path, query, encode(body), content_type=type)
        return await self._object(resource, request)

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str = "",
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> None:
        """`uid` and `resource_version` are preconditions: the object must still have them."""
        options = _delete_options(
            grace_period_seconds, propagation_policy, uid, resource_version, dry_run=dry_run
        )
        await self._send(Request("DELETE", resource.path(namespace, name), body=encode(options)))

    async def delete_collection(
        self,
        resource: Resource[Any],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete all that the selectors select."""
        options = _delete_options(grace_period_seconds, "", "", "", dry_run=False)
        query = _selectors(labels, fields)
        await self._send(
            Request("DELETE", resource.path(namespace), query, encode(options), timeout=120)
        )

    async def evict(
        self,
        pods: Resource[Any],
        name: str,
        namespace: str,
        *,
        grace_period_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> None:
        """Ask for a pod to go, within its budgets. Raises `TooManyRequests` when they deny it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(
                grace_period_seconds, "", uid, resource_version, dry_run=dry_run
            ),
        }
        path = pods.path(namespace, name, "eviction")
        query = self._write_query(dry_run, "")
        # Not repeated on Retry-After: the budget's answer belongs to the caller.
        await self._once(Request("POST", path, query, encode(eviction)))

    async def raw(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """GET of any path: discovery, `/version`, `/readyz`."""
        return (await self._send(Request("GET", path, query or {}))).body

    def _write_query(self, dry_run: bool, field_manager: str) -> dict[str, str]:
        query = {"fieldManager": field_manager or self._field_manager}
        if dry_run:
            query["dryRun"] = "All"
        return query

    async def _object(self, resource: Resource[T], request: Request) -> T:
        response = await self._send(request)
        return decoders(resource).one(response.body)

    async def _send(self, request: Request) -> Response:
        failures = 0
        while True:
            try:
                return await self._once(request)
            except KubeError as error:
                failures += 1
                if failures > _RETRIES or not may_retry(request.method, error):
                    raise
                delay = self._backoff.delay(failures, self._rng)
                retry_after = getattr(error, "retry_after", None)
                log.debug("%s %s failed, retrying: %s", request.method, request.path, error)
                await asyncio.sleep(max(delay, retry_after or 0.0))

    async def _once(self, request: Request) -> Response:
        response = await self._transport.send(request)
        for warning in response.warnings:
            self._on_warning(warning)
        if response.status >= 400:
            raise error_of_response(response.status, response.body, response.retry_after)
        return response


def encode(body: object) -> bytes:
    return msgspec.json.encode(body)


async def _events(
    chunks: AsyncIterator[bytes], resource: Decoders[T]
) -> AsyncGenerator[WatchEvent[T], None]:
    """One event a line. A last line that was cut off is dropped: the server sends its event again
    when the watch is resumed from the version before it."""
    rest: list[bytes] = []
    async for chunk in chunks:
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            rest.append(chunk)
            continue
        for line in (b"".join(rest) + head).split(b"\n"):
            yield resource.event(line)
        rest = [tail] if tail else []


def _selectors(labels: str, fields: str) -> dict[str, str]:
    query = {}
    if labels:
        query["labelSelector"] = labels
    if fields:
        query["fieldSelector"] = fields
    return query


def _delete_options(
    grace_period_seconds: int | None,
    propagation_policy: str,
    uid: str,
    resource_version: str,
    *,
    dry_run: bool,
) -> dict[str, object]:
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if propagation_policy:
        options["propagationPolicy"] = propagation_policy
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    preconditions = {key: value for key, value in preconditions.items() if value}
    if preconditions:
        options["preconditions"] = preconditions
    if dry_run:
        options["dryRun"] = ["All"]
    return options
